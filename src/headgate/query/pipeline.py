"""The way of one query through Headgate, in order: `QueryPipeline.run`.

read the plan -> plan its filters -> run the builds, wave by wave -> narrow the scans -> write the plan -> report
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headgate.catalyst import CatalystQuery
from headgate.catalyst.wire import PlanEdits
from headgate.collect import BuildRequest, RunningWave
from headgate.config import Settings, read_settings
from headgate.coordinator import Coordinator
from headgate.domain import Domain
from headgate.observe.progress import told_while_waiting
from headgate.plan import Clustering, Consumer, Node, RuleContext, Strategy, plan_filters
from headgate.plan.kinds import Can, Feed, Source
from headgate.plan.nodes import Scan
from headgate.query.gates import gated, late_filters, taps
from headgate.query.late import LateFilters
from headgate.query.narrow import column_domains
from headgate.query.planned import PlannedQuery, UnfilteredQuery
from headgate.query.run import QueryRun
from headgate.query.scans import Scans
from headgate.query.waiting import ScanSpeed, Waiting
from headgate.tables import LayoutCache


@dataclass(frozen=True, slots=True)
class _Background:
    """Late filters, and the builds that they are still to come from."""

    filters: LateFilters
    running: RunningWave | None
    wave: Sequence[BuildRequest]


@dataclass(frozen=True, slots=True)
class Learned:
    """What filters say of one scan of files: by column, its type and its values; ``now`` are the files left.

    A table that skips by its own statistics knows its files and rows itself: they are 0 here.
    """

    source: Source
    table: str
    path: str
    format: str
    files: int
    rows: int
    now: int
    columns: Mapping[str, tuple[str, Domain]]


class QueryPipeline:
    """What the queries of one session share on their way: footers, the speed of scans, the coordinator."""

    def __init__(self, coordinator: Callable[[], Coordinator | None], is_running: Callable[[str], bool]) -> None:
        self._cache, self._speed = LayoutCache(), ScanSpeed()
        self._coordinator, self._is_running = coordinator, is_running

    def run(self, query: CatalystQuery, *, patient: bool = False) -> PlannedQuery:
        """Take one query all the way; one that is only explained waits patiently for all that it can."""
        started = time.perf_counter()
        root, session = query.read()
        settings = read_settings(session.settings)
        scans = Scans(query, root, self._cache, settings, case_sensitive=session.case_sensitive)
        plan = plan_filters(root, _context(settings, scans, session.broadcast_bytes))
        with QueryRun(plan, scans, settings, session.broadcast_bytes) as run:
            background = None if settings.strategy == "never" else self._build(query, run, patient=patient)
            if run.was_cancelled:
                return PlannedQuery(query, run, None)
            edits = run.edits()
            if background is not None:
                edits = _with_late(edits, background.filters, run)
            written = None if edits.is_empty else query.write(edits)
            run.plan_ms = (time.perf_counter() - started) * 1000 - run.build_ms
            if background is None:
                query.release()
                return PlannedQuery(query, run, written)
            background.filters.start(plan, background.running, background.wave, run.next_late_wave)
            return PlannedQuery(query, run, written, background.filters)

    def unfiltered(self, query: CatalystQuery, number: int) -> UnfilteredQuery:
        """Read a query that never left the JVM, for its report."""
        root, session = query.read()
        settings = read_settings(session.settings)
        scans = Scans(query, root, self._cache, settings)
        plan = plan_filters(root, _context(settings, scans, 0), rules=())
        note = "" if settings.enabled else "Headgate is turned off: spark.headgate.enabled=false"
        return UnfilteredQuery(number, root, note, QueryRun(plan, scans, settings, 0).report())

    def learned(self, query: CatalystQuery) -> list[Learned]:
        """Run the builds of a query, and say what they found for each scan; nothing is written."""
        root, session = query.read()
        settings = read_settings(session.settings)
        scans = Scans(query, root, self._cache, settings, case_sensitive=session.case_sensitive)
        plan = plan_filters(root, _context(settings, scans, session.broadcast_bytes))
        with QueryRun(plan, scans, settings, session.broadcast_bytes) as run:
            self._wait_for_waves(query, run, Waiting(math.inf))
            found = [_learned(node, run) for node in scans.nodes.values() if _lies_in_files(node)]
        query.release()
        return found

    def clustering(self, query: CatalystQuery, root: Node, consumers: Sequence[Consumer]) -> Clustering:
        """Say how well the row groups of the scans that a column comes from separate its values; the worst counts."""
        scans = Scans(query, root, self._cache, Settings())
        known = [to for to in consumers if Can.STATISTICS in scans.nodes[to.scan].can]
        if not known:
            return Clustering(0, 1.0, "its rows come from no table with statistics that Headgate can use")
        return max((scans.clustering(to.scan, to.column) for to in known), key=lambda found: found.depth)

    def _build(self, query: CatalystQuery, run: QueryRun, *, patient: bool) -> _Background | None:
        """Run the waves of builds as long as the query waits; return what is still to come, if anything is."""
        run.follow_publishers()
        waiting = Waiting(math.inf) if patient else self._waiting(query, run)
        running, wave = self._wait_for_waves(query, run, waiting)
        if run.was_cancelled:
            return None
        run.schedule.give_up_unrepeatable()
        awaited = run.schedule.awaited()
        late = late_filters(awaited, run.scans, run.schedule.kept_scans())
        coordinator = self._coordinator() if late else None
        if coordinator is None:
            if late:
                built = [planned for planned in awaited if planned.feed is not Feed.PUBLISHED]
                run.schedule.give_up(
                    built, "the query did not wait for the filter, and there is no coordinator to send it later"
                )
            if running is not None:  # no scan could use what it still brings
                running.cancel()
            return None
        filters = LateFilters(query, coordinator, run.schedule, late, run.limits, self._is_running)
        return _Background(filters, running, wave)

    def _wait_for_waves(
        self, query: CatalystQuery, run: QueryRun, waiting: Waiting
    ) -> tuple[RunningWave | None, Sequence[BuildRequest]]:
        """Take in one wave after another; return the wave that the query no longer waits for, if there is one."""
        while wave := run.next_wave():
            began = time.perf_counter()  # Spark plans a build before its job starts: that is a part of the build
            running = RunningWave(query, wave, run.limits)
            with told_while_waiting([request.serves for request in wave if request.serves]):
                results = waiting.wait(running)
            run.build_ms += (time.perf_counter() - began) * 1000
            run.was_cancelled = query.was_cancelled
            if results is None:
                return running, wave
            run.schedule.take(wave, results)
            if run.was_cancelled:
                break
            for request, result in zip(wave, results, strict=True):
                self._speed.learn(run.build_bytes(request.node), result.millis / 1000)
        return None, ()

    def _waiting(self, query: CatalystQuery, run: QueryRun) -> Waiting:
        settings = run.settings
        if not settings.non_blocking:
            return Waiting(math.inf)
        spared = self._speed.seconds(run.fed_bytes()) * (1.0 - settings.min_selectivity)
        return Waiting.of(
            settings.max_wait, spared=spared, threshold=settings.queue_threshold, idle_share=query.idle_share
        )


def _lies_in_files(scan: Scan) -> bool:
    """Whether a scan reads files that can be laid out anew, in another format where theirs has no statistics."""
    has_own = scan.source in (Source.DELTA, Source.ICEBERG)
    has_none = scan.source is Source.FILES and Can.RANGES not in scan.can
    return Can.STATISTICS in scan.can or ((has_own or has_none) and not scan.is_target)


def _learned(scan: Scan, run: QueryRun) -> Learned:
    found = column_domains(scan.id, run.schedule.on(scan.id), run.scans)
    types = {column.name: column.type for column in scan.output}
    columns = {name: (types[name], domain) for name, domain in found.items()}
    if Can.STATISTICS not in scan.can:
        return Learned(scan.source, scan.table, scan.path, scan.format, 0, 0, 0, columns)
    files = len(run.scans.layout(scan.id).files)
    now = len(run.scans.prune(scan.id, dict(found)).keep) if found else files
    rows = run.scans.rows(scan.id) or 0
    return Learned(scan.source, scan.table, scan.path, scan.format, files, rows, now, columns)


def _with_late(edits: PlanEdits, filters: LateFilters, run: QueryRun) -> PlanEdits:
    """Add the gates and taps of late filters to the edits of the plan."""
    run.registered = filters
    scans = gated(edits.scans, filters.filters, run.plan, run.settings, run.broadcast_bytes)
    tapped = taps(run.schedule.awaited(), run.plan, run.limits)
    return PlanEdits(scans=scans, builds=edits.builds, taps=tapped, late=filters.register(run.settings))


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
        bytes_left=lambda scan: scans.bytes_left(scan.id),
    )
