"""One query between planning and writing: its plan, its scans and its schedule, and the edits that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from headgate.catalyst.wire import PlanEdits, ScanEdit
from headgate.collect import BuildKey, BuildRequest
from headgate.config import Settings
from headgate.domain import Limits
from headgate.filters.publications import published
from headgate.observe import LateFacts, QueryFacts, QueryReport, ScanFacts, report_of
from headgate.plan import PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed, Op
from headgate.plan.nodes import Filter, Node
from headgate.prune import ScanVerdict
from headgate.prune.strips import Strips
from headgate.query.narrow import column_domains, narrowed
from headgate.query.row_cost import RowFilterCost
from headgate.query.scans import Scans
from headgate.query.schedule import BuildSchedule, ScheduledBuild

_MUCH = 1 << 40  # as much as a scan of unknown size counts


class Registered(Protocol):
    """Late filters that the coordinator knows of."""

    def end(self) -> None:
        """Say that they are no longer wanted."""


@dataclass(slots=True)
class QueryRun:
    """The state of one query; ``schedule`` is the part of it that several threads share."""

    plan: QueryPlan
    scans: Scans
    settings: Settings
    broadcast_bytes: int
    plan_ms: float = 0.0
    build_ms: float = 0.0
    was_cancelled: bool = False
    registered: Registered | None = None
    limits: Limits = field(init=False)
    schedule: BuildSchedule = field(init=False)
    _cost: RowFilterCost = field(init=False)
    _nodes: dict[int, Node] = field(init=False)
    _following: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.settings
        self.limits = Limits(settings.max_distinct_values, settings.max_filter_bytes, ranges=settings.range_filters)
        self.schedule = BuildSchedule(self.plan, settings)
        self._cost = RowFilterCost(self.plan, self.scans, settings)
        self._nodes = self.plan.nodes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        """Let go of publishers and of the coordinator when planning fails: nothing will end the query later."""
        if failed is not None:
            self.stop_following()
            if self.registered is not None:
                self.registered.end()

    def follow_publishers(self) -> None:
        """Take in what people have published for columns of this query, and what they publish while it runs."""
        for planned in self.plan.filters:
            if planned.is_alive and planned.feed is Feed.PUBLISHED:
                if (publication := published(planned.published)) is None:
                    self.schedule.give_up(
                        [planned], "the publisher no longer exists; keep the object that headgate.publish returned"
                    )
                else:
                    self._following.append(self.schedule.follow(planned, publication))

    def stop_following(self) -> None:
        """Take in no more of what people publish."""
        for unsubscribe in self._following:
            unsubscribe()
        self._following.clear()

    def build_bytes(self, build: int) -> int:
        """Return the bytes of the files that a build side scans."""
        return self._nodes[build].scanned_bytes()

    def fed_bytes(self) -> int:
        """Return the bytes of the scans that filters may narrow."""
        return sum(min(self.scans.nodes[scan].bytes, _MUCH) for scan in self._fed_scans())

    def next_wave(self) -> list[BuildRequest]:
        """Return the builds that run next before the query, none when all are done."""
        return self._requests(self.schedule.next_wave(self._why_not))

    def next_late_wave(self) -> list[BuildRequest]:
        """Return the builds that run next while the query runs, none when all are done."""
        return self.next_wave() or self._requests(self.schedule.next_in_background())

    def _why_not(self, planned: PlannedFilter) -> str:
        return self._cost.why_not(planned, lambda scan: column_domains(scan, self.schedule.on(scan), self.scans))

    def _requests(self, wave: Sequence[ScheduledBuild]) -> list[BuildRequest]:
        """Return builds as they are asked of Spark, narrowed by the filters that have arrived."""
        row_bytes = self.broadcast_bytes if self._may_keep_rows() else 0
        requests = []
        for build in wave:
            node = self._nodes[build.node]
            positions = {column.id: (i, column.type) for i, column in enumerate(node.output)}
            keys = tuple(BuildKey(column, *positions[column]) for column in build.columns)
            edits = self._edits({below.id for below in node.walk()}, exact=True)
            fed = [f.title for f in self.plan.filters if f.is_alive and f.build == build.node]
            requests.append(BuildRequest(build.node, keys, row_bytes, edits, ", ".join(fed)))
        return requests

    def edits(self) -> PlanEdits:
        """Return what is to be changed in the whole plan."""
        return self._edits(set(self._nodes), exact=False)

    def _edits(self, inside: set[int], *, exact: bool) -> PlanEdits:
        """Narrow the scans among some nodes, and put collected rows in the place of their build sides."""
        builds = {node: number for node, number in self.schedule.kept_builds().items() if node in inside}
        replaced = {below.id for node in builds for below in self._nodes[node].walk()}
        edits: dict[int, ScanEdit] = {}
        found: dict[int, ScanFacts] = {}
        for scan in sorted(inside & set(self.scans.nodes) - replaced):
            arrived = self.schedule.on(scan)
            made = narrowed(scan, arrived, self.scans, self._cost, self.settings, exact=exact)
            if made is not None:
                found[scan] = made.facts
                if made.edit is not None:
                    edits[scan] = made.edit
        self.schedule.note_narrowed(found)
        return PlanEdits(scans=edits, builds=builds)

    def _may_keep_rows(self) -> bool:
        """Spark's own pruning borrows the build side's broadcast: that must stay where no filter of ours is."""
        fed = self._fed_scans()
        pruned = [
            node
            for node in self._nodes.values()
            if isinstance(node, Filter) and any(test.op == Op.DYNAMIC_PRUNING for test in node.conjuncts)
        ]
        return all(fed & {below.id for below in node.walk()} for node in pruned)

    def _fed_scans(self) -> set[int]:
        return {to.scan for planned in self.plan.filters if planned.is_alive for to in planned.consumers}

    def report(self, late: LateFacts | None = None) -> QueryReport:
        """Return the report of the query as it stands now."""
        filters, scans = self.schedule.facts()
        gated = set() if late is None else set(late.scans)
        whole = {
            scan: verdict
            for scan in self.scans.nodes
            if scan not in scans and (verdict := self.scans.whole(scan, row_groups=scan in gated)) is not None
        }
        return report_of(
            QueryFacts(
                self.plan,
                filters,
                scans,
                whole,
                kept=self.schedule.kept_scans(),
                only_reported=self.settings.strategy == "never",
                plan_ms=self.plan_ms,
                build_ms=self.build_ms,
                late=late,
                strips={} if late is None else self._strips(late, scans, whole),
            )
        )

    def _strips(
        self, late: LateFacts, scans: Mapping[int, ScanFacts], whole: Mapping[int, ScanVerdict]
    ) -> dict[int, Strips]:
        """Return which files and row groups late filters left of each scan that they go to."""
        left = {scan: scans[scan].verdict if scan in scans else whole.get(scan) for scan in late.scans}
        if late.places is None:
            return {scan: Strips() for scan, unread in late.scans.items() if unread.files or unread.row_groups}
        closed = late.places
        return {
            scan: self.scans.late_strips(scan, verdict, closed[scan])
            for scan, verdict in left.items()
            if verdict is not None and closed.get(scan)
        }
