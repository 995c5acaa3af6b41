"""Which builds run next, and what their filters hold by now: `BuildSchedule`. Its one lock guards all of that.

    next_wave()           builds that the query waits for       take(...)      the keys of a wave are published
    next_in_background()  builds that run while the query runs  take_tap(...)  so are the keys of a tap

Each filter of the query is a `ColumnFilter`: it says ALL until its values arrive, and ALL for good when it is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock

from headgate.collect import BuildRequest, BuildResult
from headgate.config import Settings
from headgate.domain import Domain, applied, value_type
from headgate.domain.widen import widen
from headgate.filters import ColumnFilter, Snapshot
from headgate.filters.column_filter import column_domain
from headgate.filters.publications import Publication
from headgate.observe import FilterFacts, ScanFacts
from headgate.plan import Consumer, PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed, Op
from headgate.plan.sizes import readable_bytes

WhyNot = Callable[[PlannedFilter], str]


@dataclass(frozen=True, slots=True)
class ScheduledBuild:
    """A build side that is to run, and the columns whose values are wanted."""

    node: int
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A filter whose values are there, on a scan column that it goes to; ``has_rows``: its build's rows are kept.

    The query itself tests the rows where the filter is ``for_reader``: only what a reader can use is worth something.
    """

    planned: PlannedFilter
    consumer: Consumer
    domain: Domain
    has_rows: bool
    for_reader: bool = False


class BuildSchedule:
    """The builds and filters of one query. Thread-safe."""

    def __init__(self, plan: QueryPlan, settings: Settings) -> None:
        self._plan, self._settings, self._nodes = plan, settings, plan.nodes()
        self._filters = {
            f.id: ColumnFilter(f.id, value_type(f.compared), blocking=f.is_awaited) for f in plan.filters if f.is_alive
        }
        self._facts: dict[str, FilterFacts] = {}
        self._builds: dict[int, BuildResult] = {}
        self._narrowed: dict[int, ScanFacts] = {}
        self._for_reader: set[str] = set()
        self._lock = RLock()

    # --- what runs next -----------------------------------------------------------------------------------------

    def next_wave(self, why_not: WhyNot) -> list[ScheduledBuild]:
        """Return the builds that run next before the query, none when all are done.

        ``why_not`` may object to a filter after what the waves before it found.
        """
        while waiting := [f for f in self._plan.filters if f.is_awaited and self._is_open(f)]:
            wave = min(planned.wave for planned in waiting)
            here = [f for f in waiting if f.wave == wave and not self._objected(f, why_not)]
            if here:
                return [self._scheduled(build, here) for build in sorted({f.build for f in here})]
        return []

    def next_in_background(self) -> list[ScheduledBuild]:
        """Return the cheapest build that is left of those which the query does not wait for, if any is."""
        left = [f for f in self._plan.filters if f.is_alive and f.feed is Feed.BACKGROUND and self._is_open(f)]
        if not left:
            return []
        cheapest = min({f.build for f in left}, key=lambda node: (self._nodes[node].scanned_bytes(), node))
        return [self._scheduled(cheapest, left)]

    def _objected(self, planned: PlannedFilter, why_not: WhyNot) -> bool:
        if reason := why_not(planned):
            self.give_up([planned], reason)
        return bool(reason)

    def _scheduled(self, build: int, filters: Sequence[PlannedFilter]) -> ScheduledBuild:
        columns = dict.fromkeys(planned.build_column for planned in filters if planned.build == build)
        return ScheduledBuild(build, tuple(columns))

    def _is_open(self, planned: PlannedFilter) -> bool:
        return not self._filters[planned.id].is_complete

    # --- what arrives -------------------------------------------------------------------------------------------

    def take(self, requests: Sequence[BuildRequest], results: Sequence[BuildResult]) -> None:
        """Publish what the builds of one wave found, or give their filters up."""
        for request, result in zip(requests, results, strict=True):
            fed = [f for f in self._plan.filters if f.is_alive and f.build == request.node and self._is_open(f)]
            if result.error:
                self.give_up(fed, f"the build side failed: {result.error.splitlines()[0][:200]}")
            elif not result.has_rows and any(planned.build_once_only for planned in fed):
                rows = f"{result.rows:,} are too many to keep"
                self.give_up(fed, f"the rows of the build side may differ next time, and {rows}")
            else:
                with self._lock:
                    self._builds[request.node] = result
                for planned in fed:
                    if planned.feed is not Feed.TAP:
                        self._publish(planned, request.found(planned.build_column), result.millis)

    def take_tap(self, planned: PlannedFilter, found: Domain) -> None:
        """Publish what a tap has collected."""
        self._publish(planned, found, 0)

    def follow(self, planned: PlannedFilter, publication: Publication) -> Callable[[], None]:
        """Take in what is published by a person, now and later; calling what is returned ends that."""
        if not publication.tests_rows:
            self._for_reader.add(planned.id)
        return publication.subscribe(lambda state: self._take_published(planned, state))

    def _take_published(self, planned: PlannedFilter, state: Snapshot) -> None:
        found = column_domain(state.domain, value_type(planned.compared))
        with self._lock:
            if not self._is_open(planned):
                return
            others = (known.domain for name, known in self._facts.items() if name != planned.id)
            used = sum(other.nbytes for other in others if other is not None)
            domain = within_memory(found, used, self._settings)
            if not domain.is_all or state.is_complete:
                self._facts[planned.id] = FilterFacts(planned, domain)
        if state.is_complete:
            self._filters[planned.id].complete_with(domain)
        else:
            self._filters[planned.id].narrow_to(domain)

    def give_up(self, filters: Sequence[PlannedFilter], why: str) -> None:
        """Go on without some filters: they let everything pass."""
        for planned in filters:
            with self._lock:
                if not self._is_open(planned):
                    continue
                self._facts[planned.id] = FilterFacts(planned, given_up=why)
            self._filters[planned.id].complete()

    def give_up_unrepeatable(self) -> None:
        """Give up the builds that may differ when they run again: from now on the query runs its build sides itself."""
        unsafe = [planned for planned in self.awaited() if planned.build_once_only]
        why = "the rows of the build side may differ next time, and the query did not wait for them"
        self.give_up(unsafe, f"{why}; a longer spark.headgate.maxWait may help")

    def _publish(self, planned: PlannedFilter, found: Domain, millis: int) -> None:
        domain = widen(found, value_type(planned.compared))
        if domain is None:
            self.give_up([planned], f"the values of the build side cannot be compared as {planned.compared}")
            return
        # all build rows have been seen, so NULL matters to <=> only if one of them has it
        nulls = planned.op == Op.EQUAL_NULL_SAFE and domain.null_allowed
        probed = applied(planned.op, domain).with_null(nulls)
        with self._lock:
            if not self._is_open(planned):
                return
            used = sum(known.domain.nbytes for known in self._facts.values() if known.domain is not None)
            fitting = within_memory(probed, used, self._settings)
            limit = f"spark.headgate.memoryLimit={readable_bytes(self._settings.memory_limit)}"
            why = f"the values do not fit: all filters of a query share {limit}; raise it to use them"
            widened = "" if fitting is probed else why
            self._facts[planned.id] = FilterFacts(planned, fitting, millis, widened=widened)
        self._filters[planned.id].complete_with(fitting)

    # --- what is known by now -----------------------------------------------------------------------------------

    def filter(self, id: str) -> ColumnFilter:
        """Return the filter of that name."""
        return self._filters[id]

    def awaited(self) -> list[PlannedFilter]:
        """Return the filters whose values have not arrived."""
        return [planned for planned in self._plan.filters if planned.is_alive and self._is_open(planned)]

    def on(self, scan: int) -> list[Arrived]:
        """Return the filters that have arrived and go to a scan."""
        with self._lock:
            known = [facts for facts in self._facts.values() if facts.domain is not None]
            kept = {node for node, result in self._builds.items() if result.has_rows}
        return [
            Arrived(facts.planned, to, facts.domain, facts.planned.build in kept, facts.planned.id in self._for_reader)
            for facts in known
            for to in facts.planned.consumers
            if to.scan == scan and facts.domain is not None
        ]

    def kept_builds(self) -> dict[int, int]:
        """Return the build sides whose rows came along: the number of the build by its node."""
        with self._lock:
            return {node: result.number for node, result in self._builds.items() if result.has_rows}

    def kept_scans(self) -> frozenset[int]:
        """Return the scans in build sides whose rows came along: nothing will scan them again."""
        return frozenset(scan.id for node in self.kept_builds() for scan in self._nodes[node].scans())

    def note_narrowed(self, scans: Mapping[int, ScanFacts]) -> None:
        """Remember what filters made of some scans."""
        with self._lock:
            self._narrowed.update(scans)

    def facts(self) -> tuple[dict[str, FilterFacts], dict[int, ScanFacts]]:
        """Return what became of the filters, and of the scans that they were tried on."""
        with self._lock:
            return dict(self._facts), dict(self._narrowed)


def within_memory(domain: Domain, used: int, settings: Settings) -> Domain:
    """Return the narrowest of a domain, its range and ALL that fits into what is left of the memory limit."""
    room = settings.memory_limit - used
    if domain.nbytes <= room:
        return domain
    ranged = domain.simplify(1)
    if settings.range_filters and ranged.nbytes <= room:
        return ranged
    return Domain.all(domain.type)
