"""The threads of queries of the soak: random queries, each compared with Spark alone, while somebody writes."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import headgate
from bench.soak_meters import Tally
from bench.soak_tables import GROUPS, LAYOUTS, ONCE_EACH, QUERIES, LiveTables, StillTables

FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
STORIES = {"still": 40, "nobody writes": 10, "plan, write, run": 30, "write meanwhile": 20}
WRITES = ("append", "append", "overwrite", "rewrite", "delete")
WAITS = ("auto", "0s", "0s", "5s")
_PATIENCE = 120.0  # seconds for one write

Answer = Counter[Any] | tuple[str, str]


class Steps:
    """The last steps of all threads, for the story of an answer that differs; also when executors were killed."""

    def __init__(self) -> None:
        self._steps: deque[str] = deque(maxlen=60)
        self._lock = Lock()
        self.last_kill = 0.0

    def note(self, who: str, what: str) -> None:
        """Note a step."""
        with self._lock:
            self._steps.append(f"{time.strftime('%X')} {who}: {what}")

    def __str__(self) -> str:
        with self._lock:
            return "\n".join(self._steps)


@dataclass(frozen=True)
class Case:
    """One query and how it is run."""

    story: str
    shape: str
    layout: str
    group: int
    write: str
    table: str
    wait: str
    strategy: str
    spark: dict[str, str]

    @classmethod
    def of(cls, random: Random) -> Case:
        """Decide everything about one case."""
        story = random.choices(list(STORIES), list(STORIES.values()))[0]
        return cls(
            story=story,
            shape=random.choice(ONCE_EACH if story == "write meanwhile" else list(QUERIES)),
            layout=random.choice(LAYOUTS),
            group=random.randrange(GROUPS),
            write=random.choice(WRITES),
            table=random.choice(("fact", "dim")),
            wait=random.choice(WAITS),
            strategy=random.choice(("always", "always", "always", "cost")),
            spark={
                "spark.sql.autoBroadcastJoinThreshold": random.choice(("-1", "10MB")),
                "spark.sql.adaptive.enabled": random.choice(("true", "false")),
                **codegen(random),
            },
        )


class QueryThread:
    """Random queries in a session with Headgate and one without; each may be disabled by others at any time."""

    def __init__(
        self,
        spark: SparkSession,
        home: Path,
        name: str,
        still: StillTables,
        writer: Executor,
        tally: Tally,
        steps: Steps,
    ) -> None:
        self.name, self._random = name, Random(name)
        self.gated, self._plain = spark.newSession(), spark.newSession()
        self._still, self._writer, self._tally, self._steps = still, writer, tally, steps
        sessions = [self.gated, self._plain]
        still.register(sessions)
        writing = spark.newSession()
        self._live = {layout: LiveTables(home, writing, sessions, name, layout) for layout in LAYOUTS}
        self._expected: dict[str, Answer] = {}  # answers over tables that stay as they are
        self.gate: headgate.Gate | None = None

    def run(self, stop: Event, enabled: bool) -> None:
        """Run queries until told to stop; not ``enabled``, Headgate is never there."""
        while not stop.is_set():
            case = Case.of(self._random)
            self._prepare(case, enabled)
            self._steps.note(self.name, str(case))
            began = time.monotonic()
            query, found, right = self._told(case)
            self._count(case, query, found, right, began)

    def warm_up(self) -> None:
        """Learn what Spark alone gives for some queries; the executors are there when it has given it."""
        for shape in ("inner", "left", "distinct"):
            query = self._still.query(shape, LAYOUTS[0], 0)
            self._expected[query] = outcome(lambda query=query: self._plain.sql(query))  # type: ignore[misc]

    def _prepare(self, case: Case, enabled: bool) -> None:
        for session in (self.gated, self._plain):
            for key, text in case.spark.items():
                session.conf.set(key, text)
        if enabled:
            gate = headgate.enable(self.gated, strategy=case.strategy, max_wait=case.wait)
            if gate is not self.gate:
                self.forget_gate()
                self.gate = gate

    def forget_gate(self) -> None:
        """Count the failures of a gate that is not used any more."""
        if self.gate is not None:
            self._tally.fail(self.gate.report().failures)
            self.gate = None

    def _told(self, case: Case) -> tuple[str, Answer, list[Answer]]:
        """Carry out a case; return its query, what Headgate gave, and what Spark alone may give."""
        if case.story == "still":
            query = self._still.query(case.shape, case.layout, case.group)
            if query not in self._expected:
                self._expected[query] = self._outcome(lambda: self._plain.sql(query))
            return query, self._outcome(lambda: self.gated.sql(query)), [self._expected[query]]
        live = self._live[case.layout]
        query = live.query(case.shape, case.group)
        if case.story == "plan, write, run":
            return query, *self._plan_write_run(case, live, query)
        if case.story == "write meanwhile":
            return query, *self._write_meanwhile(case, live, query)
        return query, self._outcome(lambda: self.gated.sql(query)), [self._outcome(lambda: self._plain.sql(query))]

    def _plan_write_run(self, case: Case, live: LiveTables, query: str) -> tuple[Answer, list[Answer]]:
        frames = [session.sql(query) for session in (self.gated, self._plain)]
        for frame in frames:
            frame._jdf.queryExecution().executedPlan()
        self._write(case, live, case.write).result(_PATIENCE)
        found, expected = (self._outcome(lambda f=frame: f) for frame in frames)  # type: ignore[misc]
        return found, [expected]

    def _write_meanwhile(self, case: Case, live: LiveTables, query: str) -> tuple[Answer, list[Answer]]:
        """A table that is overwritten is empty for a moment, and may be seen so; so files are only added here."""
        if live.is_crowded(case.table):
            self._write(case, live, "overwrite").result(_PATIENCE)
        before = self._outcome(lambda: self._plain.sql(query))
        written = self._write(case, live, "append", self._random.random() * 0.5)
        found = self._outcome(lambda: self.gated.sql(query))
        written.result(_PATIENCE)
        return found, [before, self._outcome(lambda: self._plain.sql(query))]

    def _write(self, case: Case, live: LiveTables, kind: str, delay: float = 0.0) -> Any:
        random = Random(self._random.random())

        def work() -> None:
            time.sleep(delay)
            began = time.monotonic()
            try:
                live.write(kind, case.table, random)
            except (PySparkException, Py4JError) as error:
                if self._steps.last_kill < began:
                    raise
                self._steps.note(self.name, f"could not write: {str(error)[:200]}")
                self._tally.add("writes that failed after a kill")
            self._steps.note(self.name, f"wrote: {kind} {live.layout} {case.table}")
            self._tally.add("writes")

        return self._writer.submit(work)

    def _outcome(self, make: Callable[[], DataFrame]) -> Answer:
        """Return the rows of a query, or the kind of its error; a query that dies with an executor is run once more."""
        began = time.monotonic()
        answer = outcome(make)
        if isinstance(answer, tuple) and FILE_GONE not in answer and self._steps.last_kill > began:
            self._tally.add("queries run again after a kill")
            return outcome(make)
        return answer

    def _count(self, case: Case, query: str, found: Answer, right: list[Answer], began: float) -> None:
        self._tally.add("queries run")
        seconds = time.monotonic() - began
        report = "Headgate is not enabled" if self.gate is None else self.gate.report()
        if not isinstance(report, str):
            states = [f.state for f in report.filters]
            self._tally.add("queries with an applied filter", int("applied" in states))
            self._tally.add("queries with a late filter", int(any(f.late is not None for f in report.filters)))
        if errors := [answer for answer in right if isinstance(answer, tuple)]:
            gone = all(FILE_GONE in error for error in errors)
            why = "a file that it had listed was gone" if gone else "another error"
            self._tally.add(f"queries without a reference: Spark alone failed, {why}")
            self._steps.note(self.name, f"Spark alone failed: {errors}")
        elif found not in right:
            lines = [f"{case}", query, f"after {seconds:.1f} s", *(_difference(answer, found) for answer in right)]
            self._tally.differ(
                "differing answers", "\n".join([*lines, "the steps before:", str(self._steps), str(report)])
            )


def codegen(random: Random) -> dict[str, str]:
    """Return settings: queries this small take most of their time to compile, so most of them are not."""
    generated = random.random() < 0.2
    return {
        "spark.sql.codegen.wholeStage": str(generated).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if generated else "NO_CODEGEN",
    }


def outcome(make: Callable[[], DataFrame]) -> Answer:
    """Return the rows of a query as a multiset, or the kind and the text of the error that it ends with."""
    try:
        return Counter(map(tuple, make().collect()))
    except Py4JJavaError as error:
        text = str(error.java_exception)
    except (PySparkException, Py4JError) as error:
        text = str(error)
    return "error", FILE_GONE if FILE_GONE in text else text[:1000]


def _difference(expected: Answer, found: Answer) -> str:
    if isinstance(expected, tuple) or isinstance(found, tuple):
        return f"expected {expected}, found {found}"
    lost, added = expected - found, found - expected
    return (
        f"expected {expected.total()} rows, found {found.total()}; "
        f"lost {list(lost)[:5]} ({lost.total()}), too many {list(added)[:5]} ({added.total()})"
    )
