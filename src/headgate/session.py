"""Headgate inside one Spark session: `Gate` sends each query through the pipeline, and remembers the last of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from threading import Lock
from typing import Any

from headgate.catalyst import CatalystQuery, SparkBridge
from headgate.config import SETTINGS, checked, key_of, read_settings
from headgate.coordinator import Coordinator, ForPeople, QueryState
from headgate.errors import BadInput, CannotListen
from headgate.history import EventLog, History
from headgate.observe import QueryReport, QueryReports
from headgate.observe.rendering import html_line
from headgate.plan import Clustering
from headgate.plan.nodes import Column, Node
from headgate.plan.rules.trace_to_scans import trace_column
from headgate.query import QueryPipeline
from headgate.query.pipeline import Learned
from headgate.query.planned import UnfilteredQuery
from headgate.query.remembered import RememberedQueries
from headgate.stream import streaming_stories

_GONE = "the last query has no filter, and its plan is no longer there to be told of"


class Gate:
    """Headgate inside one Spark session: made by `headgate.enable`, closed by `headgate.disable` or ``close()``."""

    def __init__(self, spark: Any, *, only_marked: bool = False, **options: Any) -> None:
        texts = {name: checked(name, value) for name, value in options.items()}
        if not only_marked:
            _refuse_bad_values(spark, texts)
        self.spark, self._only_marked = spark, only_marked
        self.is_closed = False
        self._coordinator: Coordinator | None = None
        self._starting = Lock()
        self._pipeline = QueryPipeline(self._coordinator_if_any, self._is_running)
        self._last: UnfilteredQuery | None = None
        self._reported = self._explained = 0
        self._bridge = SparkBridge(spark, self._rewrite, texts)
        self.queries = RememberedQueries(self._bridge.failures_of, self._bridge.queries.of)
        try:
            self._bridge.filter_only_marked(only_marked)
            self._bridge.declare(SETTINGS)
            self._before = self._bridge.configure(texts)
        except Exception:
            self._bridge.remove()  # the rule is in the session already
            raise
        name = f"{self._bridge.application}-{secrets.token_hex(3)}"  # an application may have several gates
        seen, log = self._bridge.queries, self._opened_log()
        self.history = History(name, seen.since, streaming_stories, log, seen.await_ends, self._log_failed)

    def _opened_log(self) -> EventLog | None:
        """A log that cannot be written costs the log, and nothing else."""
        place = read_settings(self._bridge.configured(SETTINGS)).event_log
        try:
            return EventLog.at(place, self._bridge.application) if place else None
        except BadInput as error:
            self._log_failed(error)
            return None

    def _log_failed(self, error: Exception) -> None:
        self._bridge.note_failure(error, "writes no event log")

    def configure(self, **options: Any) -> None:
        """Change settings of the session."""
        before = self._bridge.configure({name: checked(name, value) for name, value in options.items()})
        self._before = {**before, **self._before}

    def configured(self, *names: str) -> dict[str, str]:
        """Return settings, given by their keywords, as they are now."""
        texts = self._bridge.configured(SETTINGS)
        return {name: texts[key_of(name)] for name in names}

    def __repr__(self) -> str:
        """Return one line for a shell."""
        state = "closed" if self.is_closed else f"{len(self.queries)} queries remembered"
        return f"<Gate of {self._bridge.application}: {state}>"

    def _repr_html_(self) -> str:
        return html_line(repr(self)) + ("" if self.is_closed else self.reports._repr_html_())

    @property
    def reports(self) -> QueryReports:
        """The reports of the last queries, oldest first."""
        return self.queries.reports()

    @property
    def failures(self) -> list[str]:
        """What went wrong inside Headgate since the session was enabled, newest last, of no query too: the last 100."""
        return self._bridge.failures

    @property
    def url(self) -> str:
        """Where the coordinator of this session listens; it answers those who know `token`."""
        return self._started_coordinator().url

    @property
    def token(self) -> str:
        """The secret that the coordinator wants to see, as ``Authorization: Bearer <token>``."""
        return self._started_coordinator().token

    @property
    def page_url(self) -> str:
        """Where a browser on this machine finds the page of queries and streams; the address holds a secret token."""
        return self._started_coordinator().page_url

    def forget(self) -> None:
        """Forget the queries of the past."""
        self.queries.forget()

    def _started_coordinator(self) -> Coordinator:
        """The coordinator starts with the first late filter; if it is lost, another takes over."""
        with self._starting:
            if self.is_closed:
                raise CannotListen("the gate of this session is closed; call headgate.enable(spark) to open it again")
            if self._coordinator is None or not self._coordinator.is_running:
                settings = read_settings(self._bridge.configured(SETTINGS))
                host = settings.coordinator_host
                host = self._bridge.driver_host() if host.lower() == "auto" else host
                people = ForPeople(streaming_stories, self.history.since, self._end_queries, settings.page)
                made = Coordinator(host, settings, port=settings.coordinator_port, people=people)
                self._coordinator = made.start()
            return self._coordinator

    def _coordinator_if_any(self) -> Coordinator | None:
        """A coordinator that cannot start costs the late filters, and nothing else."""
        try:
            return self._started_coordinator()
        except CannotListen as error:
            self._bridge.note_failure(error, "goes on without late filters")
            return None

    def _rewrite(self, query: CatalystQuery) -> Any:
        self._end_queries()
        planned = self._pipeline.run(query)
        plan = planned.plan
        planned.drop_plan()
        self.queries.add(planned)
        self.history.planned(query.number, planned)
        self._last = None
        self._reported = self._bridge.queries.plans_seen()
        return plan

    def _is_running(self, query: str) -> bool:
        self._end_queries()
        return self._coordinator is not None and self._coordinator.registry.find(query) is not None

    def _end_queries(self) -> None:
        """Free the late filters of queries that have ended."""
        if self._coordinator is not None:
            for ended, state in self._bridge.queries.ended_late():
                self.queries.conclude(ended)
                self._coordinator.registry.end(ended, QueryState(state))

    def report(self) -> QueryReport:
        """Return the report of the last query of the session."""
        try:
            self._note_unfiltered()
            if self._last is not None:
                return self.queries.report_of(self._last)
            return self.queries.last_report() or QueryReport(note="no query has run yet")
        except Exception as error:  # noqa: BLE001 - telling what happened must not fail either
            return QueryReport(failures=[*self._bridge.failures, str(error)], note="the last report could not be made")

    def _note_unfiltered(self) -> None:
        """A query without a join never leaves the JVM, so its report is made when it is asked for."""
        seen = self._bridge.queries
        if not self._only_marked and seen.plans_seen() != self._reported:
            query, number = seen.last_seen(), seen.last_number()
            gone = UnfilteredQuery(number, None, _GONE, QueryReport())
            self._last = gone if query is None else self._pipeline.unfiltered(query, number)
            self._reported = seen.plans_seen()

    def explain(self, frame: Any) -> tuple[Node, QueryReport]:
        """Take a DataFrame's query through the pipeline without running it; return its nodes and its report."""
        self._explained -= 1  # no query of the session has such a number
        with self._bridge.working_on(self._explained):
            planned = self._pipeline.run(self._bridge.query_of(frame), patient=True)
        report = planned.report()
        report.failures = self._bridge.failures_of(self._explained)
        if planned.late is not None:
            planned.late.end()
        planned.conclude()
        return planned.root, report

    def filtered(self, frame: Any) -> Any:
        """Return the DataFrame with its queries filtered, each when it runs; itself where that cannot be done."""
        try:
            return self._bridge.marked(frame)
        except Exception as error:  # noqa: BLE001 - a query must never fail because of Headgate
            self._bridge.note_failure(error)
            return frame

    def published(self, frame: Any, position: int, id: str) -> Any:
        """Return the DataFrame with the scans marked that a column comes from; itself where it comes from none."""
        try:
            root, _ = self._bridge.query_of(frame, optimized=False).read()
            names = _names_at_scans(root, root.output[position])
            return self._bridge.published(frame, names, id) if names else frame
        except Exception as error:  # noqa: BLE001 - a query must never fail because of Headgate
            self._bridge.note_failure(error)
            return frame

    def clustering(self, frame: Any, column: str) -> Clustering:
        """Say how well the row groups that a column of a DataFrame comes from separate its values."""
        query = self._bridge.query_of(frame, optimized=False)
        root, _ = query.read()
        found = next(at for at in root.output if at.name == column)
        return self._pipeline.clustering(query, root, trace_column(root, found.id, found.type))

    def learned(self, frame: Any) -> list[Learned]:
        """Run the build sides of a DataFrame's query, and return what they found for each scan of files."""
        return self._pipeline.learned(self._bridge.query_of(frame))

    def close(self) -> None:
        """Take the rule out of the session and put its settings back."""
        with self._starting:  # no coordinator starts from here on
            was_closed, self.is_closed = self.is_closed, True
        if not was_closed:
            self.history.close()
            self._bridge.remove()
            self._bridge.restore(self._before)
            if self._coordinator is not None:
                self._coordinator.close()


def _names_at_scans(root: Node, column: Column) -> dict[int, str]:
    """Return what a column is called at each scan that it comes from."""
    scans = {node.id: node for node in root.scans()}
    consumers = trace_column(root, column.id, column.type)
    found = {to.scan: scans[to.scan].find_column(to.column) for to in consumers}
    return {scan: at.name for scan, at in found.items() if at is not None and at.type == column.type}


def _refuse_bad_values(spark: Any, texts: Mapping[str, str]) -> None:
    """Refuse a bad value that the session was started with: it would count as the default, and nobody would know."""
    for setting in SETTINGS:
        if setting.key in {key_of(name) for name in texts}:
            continue
        if (text := spark.conf.get(setting.key, None)) is not None:
            checked(setting.name, text)
