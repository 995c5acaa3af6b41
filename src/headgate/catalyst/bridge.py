"""Put the rule into a Spark session and take it out again.

A Python function becomes a Catalyst rule: the Java `GateRule` calls it for each optimized plan with a join. The rule
joins the session's extra optimizations; others that are there already stay.
"""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import local
from typing import Any

import msgspec
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from headgate.catalyst.compiler import JavaClasses, compiled, keeps_classes, texts
from headgate.catalyst.query import CatalystQuery
from headgate.catalyst.wire import SeenQueries, SeenQuery, SeenScan, decoded
from headgate.config import Setting, is_allowed, key_of
from headgate.errors import BadInput, UnsupportedSession

log = logging.getLogger("headgate")


Rewrite = Callable[[CatalystQuery], Any]


class _Callback:
    """A ``scala.Function1`` that py4j proxies back to Python; any failure keeps the plan as it was."""

    def __init__(self, rewrite: Rewrite, classes: JavaClasses) -> None:
        self._rewrite, self._classes = rewrite, classes
        self.failures: deque[tuple[int, str]] = deque(maxlen=100)  # each with the number of its query, or 0
        self._at_work = local()

    def apply(self, context: Any) -> Any:
        try:
            query = CatalystQuery(context, self._classes)
            with self.working_on(query.number):
                try:
                    return self._rewrite(query)
                except Exception as error:  # noqa: BLE001 - the failure is of this query
                    self.note(error)
        except Exception as error:  # noqa: BLE001 - a query must never fail because of Headgate
            self.note(error)
        return None

    @contextmanager
    def working_on(self, number: int) -> Iterator[None]:
        """Count failures of this thread to a query for a while."""
        before = getattr(self._at_work, "number", 0)
        self._at_work.number = number
        try:
            yield
        finally:
            self._at_work.number = before

    def note(self, error: Exception, what: str = "left a query unfiltered") -> None:
        """Count a failure and what followed from it; the first one is logged."""
        if not self.failures:
            log.warning("Headgate %s: %s (later failures are only counted)", what, error)
            log.debug("%s", traceback.format_exc())
        self.failures.append((getattr(self._at_work, "number", 0), f"{type(error).__name__}: {error}"[:500]))

    def toString(self) -> str:  # noqa: N802 - Java's name
        return "headgate"

    class Java:
        implements = ["scala.Function1"]  # noqa: RUF012 - py4j looks for a list


class SparkBridge:
    """The rule inside one session."""

    def __init__(self, spark: SparkSession, rewrite: Rewrite, options: Mapping[str, str] | None = None) -> None:
        _check_classic(spark)
        self._spark = spark
        self._classes = compiled(spark.sparkContext, keep=keeps_classes(spark, options or {}))
        self._datasets = getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset")
        ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
        self._callback = _Callback(rewrite, self._classes)
        self._rule = self._classes.new("plan.GateRule", spark._jsparkSession, self._callback)
        self.queries = SparkQueries(self._rule, self._classes)
        self._install()

    def _install(self) -> None:
        experimental = self._spark._jsparkSession.experimental()
        present = experimental.extraOptimizations()
        rules = [present.apply(i) for i in range(present.size())]
        self._set([*rules, self._rule])
        # stays when the rule goes: a plan that was made with it may still be executed
        self._classes.call("scan.AlternativesStrategy", "install", self._spark._jsparkSession)
        try:
            self._classes.call("plan.SqlTab", "install", self._spark._jsparkSession)
        except Exception as error:  # noqa: BLE001 - nothing but the looks of Spark's SQL tab depends on it
            self.note_failure(error, "shows nothing in Spark's SQL tab")

    def remove(self) -> None:
        """Take the rule out; other people's rules stay where they were."""
        self._rule.close()
        present = self._spark._jsparkSession.experimental().extraOptimizations()
        rules = [present.apply(i) for i in range(present.size())]
        self._set([rule for rule in rules if not rule.equals(self._rule)])

    def declare(self, settings: Sequence[Setting]) -> None:
        """Register the settings with Spark, so that SQL ``SET`` refuses a bad value with the allowed ones."""
        for setting in settings:
            self._classes.call(
                "plan.SettingCheck", "declare", setting.key, setting.pattern, setting.allowed, setting.default
            )

    def configure(self, texts: dict[str, str]) -> dict[str, str | None]:
        """Set settings given by name; return what they were before."""
        conf, before = self._spark.conf, {}
        for name, text in texts.items():
            key = key_of(name)
            before[key] = self._rule.explicit(key)
            conf.set(key, text)
        return before

    def restore(self, before: dict[str, str | None]) -> None:
        """Put settings back to what they were; Spark refuses a bad value that the session was started with."""
        for key, text in before.items():
            if text is None or not is_allowed(key, text):
                self._spark.conf.unset(key)
            else:
                self._spark.conf.set(key, text)

    def _set(self, rules: list[Any]) -> None:
        setter = getattr(self._spark._jsparkSession.experimental(), "extraOptimizations_$eq")
        setter(getattr(self._spark._jvm, "org.apache.spark.api.python.PythonUtils").toSeq(self._classes.listed(rules)))

    @property
    def failures(self) -> list[str]:
        """What went wrong inside Headgate in this session, newest last."""
        return [*(text for _, text in list(self._callback.failures)), *texts(self._rule.failures())]

    def failures_of(self, number: int) -> list[str]:
        """Return what went wrong in one query."""
        if not number:
            return []
        found = [text for of, text in list(self._callback.failures) if of == number]
        return [*found, *texts(self._rule.failuresOf(number))]

    def working_on(self, number: int) -> AbstractContextManager[None]:
        """Count failures of this thread to a query for a while."""
        return self._callback.working_on(number)

    def note_failure(self, error: Exception, what: str = "left a query unfiltered") -> None:
        """Count a failure of Headgate, and what followed from it."""
        self._callback.note(error, what)

    @property
    def application(self) -> str:
        """The id that Spark gave to the application."""
        return str(self._spark.sparkContext.applicationId)

    def driver_host(self) -> str:
        """Return the address that executors know the driver by."""
        return str(self._spark.conf.get("spark.driver.host", "127.0.0.1"))

    def configured(self, settings: Sequence[Setting]) -> dict[str, str]:
        """Return the texts of settings as the session has them now."""
        found = {setting.key: self._spark.conf.get(setting.key, setting.default) for setting in settings}
        return {key: text for key, text in found.items() if text is not None}

    def query_of(self, frame: Any, *, optimized: bool = True) -> CatalystQuery:
        """Return the plan of a DataFrame, optimized by Spark alone, or as it is before that.

        A command has run when its DataFrame is there, and must not run again: its outcome stands in its place.
        """
        if not optimized:
            return CatalystQuery(self._rule.contextOf(frame._jdf.queryExecution().commandExecuted()), self._classes)
        self._rule.pause()
        try:
            fresh = self._datasets.ofRows(self._spark._jsparkSession, frame._jdf.queryExecution().commandExecuted())
            plan = fresh.queryExecution().optimizedPlan()
        finally:
            self._rule.resume()
        return CatalystQuery(self._rule.contextOf(plan), self._classes)

    def marked(self, frame: Any) -> Any:
        """Return a DataFrame of the same rows whose queries are filtered even where the session's are not."""
        execution = frame._jdf.queryExecution()
        plan = self._classes.call("plan.Marks", "marked", execution.commandExecuted(), execution.withCachedData())
        if plan.equals(execution.commandExecuted()):
            return frame
        return DataFrame(self._datasets.ofRows(self._spark._jsparkSession, plan), self._spark)

    def published(self, frame: Any, columns: dict[int, str], id: str) -> Any:
        """Return a DataFrame of the same rows with marks on some scans: the column that values are published for."""
        execution, listed = frame._jdf.queryExecution(), self._classes.listed
        scans, names = listed(columns), listed(columns.values())
        marked = (execution.commandExecuted(), execution.withCachedData(), scans, names, id)
        plan = self._classes.call("format.Published", "marked", *marked)
        return DataFrame(self._datasets.ofRows(self._spark._jsparkSession, plan), self._spark)

    def filter_only_marked(self, only: bool) -> None:
        """Filter only the queries of marked DataFrames, or those of the whole session."""
        self._rule.filterOnlyMarked(only)


class SparkQueries:
    """What the rule has seen of the queries of its session."""

    def __init__(self, rule: Any, classes: JavaClasses) -> None:
        self._rule, self._classes = rule, classes

    def since(self, version: int) -> SeenQueries:
        """Return the queries, filtered or not, that are new or have ended since a version."""
        return decoded(str(self._rule.queriesSince(version)), SeenQueries)

    def of(self, number: int) -> SeenQuery | None:
        """Return what is known of one query, its end too if it has ended; None where it is not remembered."""
        told = self._rule.queryOf(number) if number else None
        return None if told is None else decoded(str(told), SeenQuery)

    def await_ends(self) -> None:
        """Wait until the ends of all queries so far are known, for some seconds at most."""
        self._rule.awaitEnds()

    def ended_late(self) -> list[tuple[str, str]]:
        """Return the queries with late filters that have ended since this was asked last, and how they ended."""
        return [(ended.split()[0], ended.split()[1]) for ended in texts(self._rule.endedQueries())]

    def plans_seen(self) -> int:
        """Return how many optimized plans the rule has seen."""
        return int(self._rule.seen())

    def last_number(self) -> int:
        """Return the number of the query that the rule saw last, or 0."""
        return int(self._rule.seenNumber())

    def last_seen(self) -> CatalystQuery | None:
        """Return the last optimized plan that the rule saw, before it was changed."""
        plan = self._rule.lastSeen()
        return None if plan is None else CatalystQuery(self._rule.contextOf(plan), self._classes)


def _check_classic(spark: Any) -> None:
    if not type(spark).__module__.startswith("pyspark.sql.connect") and not hasattr(spark, "_jsparkSession"):
        raise BadInput(f"this needs a SparkSession, not {type(spark).__name__}")
    if not hasattr(spark, "_jsparkSession") or type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedSession(
            "this needs classic PySpark: in a session of Spark Connect, headgate.enable, report, explain and disable "
            "work; for the rest create it with SparkSession.builder.master(...) instead of .remote(...)"
        )


def is_stopped(spark: Any) -> bool:
    """Whether the Spark of a classic session was stopped."""
    _check_classic(spark)
    return spark.sparkContext._jsc is None


def session_key(spark: Any) -> str:
    """Return a key that is the same for all Python objects of one session, and different for other sessions."""
    _check_classic(spark)
    return f"{spark.sparkContext.applicationId}/{spark._jsparkSession.sessionUUID()}"


def reads_of(frame: Any) -> list[SeenScan]:
    """Return what the scans of a DataFrame that ran have read, with Headgate or without."""
    spark = frame.sparkSession
    classes = compiled(spark.sparkContext, keep=keeps_classes(spark, {}))
    told = classes.call("scan.ReadCounts", "told", frame._jdf.queryExecution())
    return msgspec.json.decode(str(told), type=list[SeenScan])


def bytes_read(spark: SparkSession) -> int:
    """Return the bytes that the driver's JVM has read so far, as its operating system counts them, or 0.

    Spark's own input metric misses vectored reads of local files.
    """
    jvm: Any = spark._jvm
    counters = Path(f"/proc/{getattr(jvm, 'java.lang.ProcessHandle').current().pid()}/io")
    try:
        words = counters.read_text().split()
        return int(words[words.index("rchar:") + 1])
    except (OSError, ValueError):
        return 0
