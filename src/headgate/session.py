"""The conductor: one query's journey through Headgate, in order, and the gate that sends each query on it.

read the plan -> plan its filters -> collect the builds, wave by wave -> prune the scans -> write the plan -> report
"""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import msgspec

from headgate.catalyst import Query, SparkBridge, read_plan
from headgate.collect import BuildRequest, RunningWave
from headgate.config import SETTINGS, Settings, checked, read_settings
from headgate.coordinator import Coordinator, QueryState
from headgate.domain import Limits
from headgate.errors import CannotListen
from headgate.journey import Journey, LateFilters, Scans, ScanSpeed, Waiting, late_filters
from headgate.observe import QueryReport
from headgate.plan import RuleContext, Strategy, plan_filters
from headgate.plan.nodes import Node
from headgate.stream import streaming_stories
from headgate.tables import LayoutCache


@dataclass(frozen=True, slots=True)
class Travelled:
    """One query after its journey: the new Catalyst plan (None: nothing changed), its nodes, its report."""

    plan: Any
    root: Node
    report: QueryReport
    query: Query
    late: LateFilters | None = None

    def told(self) -> QueryReport:
        """Return the report, with what late filters have done by now and whether the filters were used at all."""
        if self.late is not None:
            self.late.report(self.report)
        if outdated := self.query.outdated():
            self.report.note = f"It ran unfiltered: {outdated}"
        return self.report


class Traveller:
    """What the queries of one session share on their way: footers, the speed of scans, the coordinator."""

    def __init__(self, coordinator: Callable[[], Coordinator | None], is_running: Callable[[str], bool]) -> None:
        self._cache, self._speed = LayoutCache(), ScanSpeed()
        self._coordinator, self._is_running = coordinator, is_running

    def travel(self, query: Query, *, patient: bool = False) -> Travelled:
        """Take one query all the way; one that is only explained waits patiently for all that it can."""
        started = time.perf_counter()
        root, configured = read_plan(query.read())
        settings = read_settings(configured)
        broadcast, by_case = int(configured["broadcast"]), bool(configured["caseSensitive"])
        scans = Scans(query, root, self._cache, settings, case_sensitive=by_case)
        plan = plan_filters(root, _context(settings, scans, broadcast))
        journey = Journey(plan, scans, settings, broadcast_bytes=broadcast)
        late = None if settings.strategy == "never" else self._collect(query, journey, settings, patient)
        if query.was_cancelled:
            return Travelled(None, root, journey.report(), query)
        edits = journey.edits()
        edits = edits if late is None else late.filters.edits(edits)
        rewritten = query.write(msgspec.json.encode(edits).decode()) if edits else None
        report = journey.report()
        report.plan_ms = (time.perf_counter() - started) * 1000 - report.build_ms
        if late is None:
            query.release()
        else:
            late.start()
        return Travelled(rewritten, root, report, query, late.filters if late is not None else None)

    def unfiltered_report(self, query: Query) -> QueryReport:
        """Return the report of a query that never left the JVM."""
        root, configured = read_plan(query.read())
        settings = read_settings(configured)
        scans = Scans(query, root, self._cache, settings)
        plan = plan_filters(root, _context(settings, scans, 0), rules=())
        return Journey(plan, scans, settings).report()

    def _collect(self, query: Query, journey: Journey, settings: Settings, patient: bool) -> _Beside | None:
        """Run the waves of builds as long as the query waits; return what is left to come, if anything is."""
        limits, waves = _limits(settings), journey.waves()
        waiting = Waiting(math.inf) if patient else self._waiting(query, journey, settings)
        left: tuple[RunningWave | None, Sequence[BuildRequest]] = (None, ())
        for wave in waves:
            running = RunningWave(query, wave, limits)
            began = time.perf_counter()
            results = waiting.wait(running)
            journey.build_ms += (time.perf_counter() - began) * 1000
            if results is None:
                left = (running, wave)
                break
            journey.take_in(wave, results)
            if query.was_cancelled:
                return None
            for request, result in zip(wave, results, strict=True):
                self._speed.learn(journey.build_bytes(request.node), result.millis / 1000)
        journey.go_beside()
        if not (awaited := late_filters(journey)):
            if left[0] is not None:  # no scan could use what it still brings
                left[0].cancel()
            return None
        if (coordinator := self._coordinator()) is None:
            journey.give_up_late("the query did not wait for it, and there is no coordinator to bring it late")
            if left[0] is not None:
                left[0].cancel()
            return None
        filters = LateFilters(query, coordinator, journey, awaited, limits, settings, self._is_running)
        return _Beside(filters, *left, itertools.chain(waves, journey.waves_beside()))

    def _waiting(self, query: Query, journey: Journey, settings: Settings) -> Waiting:
        if not settings.non_blocking:
            return Waiting(math.inf)
        spared = self._speed.seconds(journey.fed_bytes()) * (1.0 - settings.min_selectivity)
        return Waiting.of(
            settings.max_wait, spared=spared, threshold=settings.queue_threshold, idle_share=query.idle_share
        )


@dataclass(frozen=True, slots=True)
class _Beside:
    """Filters that nobody waits for, and the builds that they are still to come from."""

    filters: LateFilters
    running: RunningWave | None
    wave: Sequence[BuildRequest]
    waves: Iterator[list[BuildRequest]]

    def start(self) -> None:
        """Go on with the builds beside the query."""
        self.filters.start(self.running, self.wave, self.waves)


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_distinct_values, settings.max_filter_bytes, ranges=settings.range_filters)


def _context(settings: Settings, scans: Scans, broadcast: int) -> RuleContext:
    return RuleContext(
        strategy=Strategy(settings.strategy),
        broadcast_bytes=max(broadcast, 0),
        min_selectivity=settings.min_selectivity,
        range_filters=settings.range_filters,
        filter_rows=settings.filter_rows,
        non_blocking=settings.non_blocking,
        never_waits=settings.max_wait == 0.0,
        clustering=scans.clustering,
        left=lambda scan: scans.left(scan.id),
    )


class Gate:
    """Headgate inside one Spark session: made by `headgate.enable`, closed by `headgate.disable` or ``close()``."""

    def __init__(self, spark: Any, *, only_marked: bool = False, **options: Any) -> None:
        texts = {name: checked(name, value) for name, value in options.items()}
        self._spark = spark
        self._coordinator: Coordinator | None = None
        self._starting = Lock()
        self._traveller = Traveller(self._coordinator_if_any, self._is_running)
        self._travelled: deque[Travelled] = deque(maxlen=100)
        self._last: QueryReport | None = None
        self._reported = 0
        self._bridge = SparkBridge(spark, self._rewrite)
        self._bridge.filter_only_marked(only_marked)
        self._bridge.declare(SETTINGS)
        self._before = self._bridge.configure(texts)
        self.is_closed = False

    def configure(self, **options: Any) -> None:
        """Change settings of the session."""
        before = self._bridge.configure({name: checked(name, value) for name, value in options.items()})
        self._before = {**before, **self._before}

    @property
    def reports(self) -> list[QueryReport]:
        """The reports of the last queries, oldest first."""
        return [travelled.told() for travelled in self._travelled]

    @property
    def url(self) -> str:
        """Where the coordinator of this session listens; it answers to who knows `token`."""
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
        self._travelled.clear()

    def _started_coordinator(self) -> Coordinator:
        """The coordinator starts with the first filter that nobody waits for; if it is lost, another takes over."""
        with self._starting:
            if self._coordinator is None or not self._coordinator.is_running:
                settings = read_settings(self._bridge.configured(SETTINGS))
                host = settings.coordinator_host
                host = self._bridge.driver_host() if host.lower() == "auto" else host
                made = Coordinator(
                    host,
                    settings,
                    port=settings.coordinator_port,
                    streams=streaming_stories,
                    refresh=self._end_queries,
                )
                self._coordinator = made.start()
            return self._coordinator

    def _coordinator_if_any(self) -> Coordinator | None:
        """A coordinator that cannot start costs the late filters, and nothing else."""
        try:
            return self._started_coordinator()
        except CannotListen as error:
            self._bridge.note_failure(error)
            return None

    def _rewrite(self, query: Query) -> Any:
        self._end_queries()
        travelled = self._traveller.travel(query)
        self._note(travelled)
        return travelled.plan

    def _is_running(self, query: str) -> bool:
        self._end_queries()
        return self._coordinator is not None and self._coordinator.registry.find(query) is not None

    def _end_queries(self) -> None:
        """Free the late filters of queries that have ended."""
        if self._coordinator is not None:
            for ended, state in self._bridge.ended_queries():
                for travelled in list(self._travelled):
                    if travelled.late is not None and travelled.late.id == ended:
                        travelled.late.conclude(travelled.report)
                self._coordinator.registry.end(ended, QueryState(state))

    def _note(self, travelled: Travelled) -> None:
        # a plan may carry megabytes of collected rows, so only what is told of it is kept
        self._travelled.append(replace(travelled, plan=None))
        self._last = None
        self._reported = self._bridge.plans_seen()

    def report(self) -> QueryReport:
        """Return the report of the last query of the session."""
        try:
            self._note_unfiltered()
            last = self._travelled[-1].told() if self._travelled else QueryReport(note="no query has run yet")
        except Exception as error:  # noqa: BLE001 - telling what happened must not fail either
            return QueryReport(failures=[*self._bridge.failures, str(error)], note="the last query could not be read")
        report = self._last or last
        report.failures = self._bridge.failures
        return report

    def _note_unfiltered(self) -> None:
        """A query without a join never leaves the JVM, so its report is made when it is asked for."""
        if self._bridge.plans_seen() != self._reported and (query := self._bridge.last_seen()) is not None:
            self._last = self._traveller.unfiltered_report(query)
            self._reported = self._bridge.plans_seen()

    def explain(self, frame: Any) -> tuple[Node, QueryReport]:
        """Take a DataFrame's query on the journey without running it; return its nodes and its report."""
        travelled = self._traveller.travel(self._bridge.query_of(frame), patient=True)
        report = travelled.told()
        if travelled.late is not None:
            travelled.late.end()
        return travelled.root, report

    def filtered(self, frame: Any) -> Any:
        """Return the DataFrame with its queries filtered, each when it runs; itself where that cannot be done."""
        try:
            return self._bridge.marked(frame)
        except Exception as error:  # noqa: BLE001 - a query must never fail because of Headgate
            self._bridge.note_failure(error)
            return frame

    def close(self) -> None:
        """Take the rule out of the session and put its settings back."""
        if not self.is_closed:
            self.is_closed = True
            self._bridge.remove()
            self._bridge.restore(self._before)
            if self._coordinator is not None:
                self._coordinator.close()
