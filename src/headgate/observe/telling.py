"""Make the report of a query from the facts that it left behind: `report_of`, facts in and report out."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.domain import Domain, Kind, describe
from headgate.observe.facts import FilterFacts, QueryFacts
from headgate.observe.report import (
    EVERY_FILE,
    FilterReport,
    FilterState,
    JoinReport,
    LateReport,
    QueryReport,
    ScanReport,
)
from headgate.plan import PlannedFilter
from headgate.plan.kinds import Can, Source
from headgate.plan.nodes import Join, Node, Scan
from headgate.plan.rules.choose_filters import OTHER_DIRECTION


def report_of(facts: QueryFacts) -> QueryReport:
    """Return the report: each filter, each scan and each join, what was done with it, and if nothing, why."""
    return _Telling(facts).report()


class _Telling:
    """One reading of the facts."""

    def __init__(self, facts: QueryFacts) -> None:
        self._facts, self._plan = facts, facts.plan
        self._nodes = facts.plan.nodes()
        self._filters = {planned.id: self._filter(planned) for planned in facts.plan.filters}
        for report in self._filters.values():
            self._tell_other_direction(report)

    def report(self) -> QueryReport:
        """Tell it all."""
        joins = [self._join(node) for node in self._nodes.values() if isinstance(node, Join)]
        scans = [self._scan(node) for node in self._nodes.values() if isinstance(node, Scan) and node.is_reported]
        filters = list(self._filters.values())
        return QueryReport(filters, scans, joins, plan_ms=self._facts.plan_ms, build_ms=self._facts.build_ms)

    # --- filters ------------------------------------------------------------------------------------------------

    def _filter(self, planned: PlannedFilter) -> FilterReport:
        column = self._probe_column(planned)
        report = FilterReport(planned.id, planned.clause, column, reason=planned.reason, build=planned.build)
        if not planned.is_alive:
            return report
        known = self._facts.filters.get(planned.id, FilterFacts(planned))
        if known.domain is not None:
            report.kind, report.values = _kind(known.domain), known.domain.count()
            report.bytes, report.collect_ms = known.domain.nbytes, known.collect_ms
        if self._facts.late is not None and planned.id in self._facts.late.filters:
            self._tell_late(report, known, self._facts.late.filters[planned.id])
        elif known.domain is None:
            report.reason = known.given_up or self._why_not_built(planned)
        else:
            self._tell_collected(report, known)
        return report

    def _tell_other_direction(self, report: FilterReport) -> None:
        """The direction that was chosen instead may have been dropped later."""
        chosen = self._filters.get(report.reason.removeprefix(OTHER_DIRECTION))
        if chosen is not None and chosen.state is FilterState.DROPPED:
            report.reason = (
                f"the other direction of the join, {chosen.id}, was chosen and then dropped: {chosen.reason}"
            )

    def _tell_collected(self, report: FilterReport, known: FilterFacts) -> None:
        narrowed = [node for node, scan in sorted(self._facts.narrowed.items()) if known.planned.id in scan.filters]
        report.applied_to = self._names(narrowed)
        report.state = FilterState.APPLIED if narrowed else FilterState.COLLECTED
        idle = [scan.idle[report.id] for scan in self._facts.narrowed.values() if report.id in scan.idle]
        why = known.widened or (idle[-1] if idle else "the scan is in a build side whose rows are already in the plan")
        report.reason = "" if narrowed else why

    def _tell_late(self, report: FilterReport, known: FilterFacts, story: LateReport) -> None:
        if known.domain is not None:
            self._tell_collected(report, known)  # what was published by then has been used at planning, too
        if report.state is FilterState.APPLIED and not story.removed and not story.cut_off:
            return  # all that it had to say was said at planning
        report.late = story
        report.reason = known.given_up or known.widened
        if story.removed:
            report.state = FilterState.APPLIED_LATE
            report.applied_to = self._names(to.scan for to in known.planned.consumers)
        elif report.state is not FilterState.APPLIED:
            report.state = FilterState.LATE
            report.reason = report.reason or story.cut_off

    def _names(self, scans: Iterable[int]) -> list[str]:
        tables = [node.table.rsplit("/", 1)[-1] for scan in scans if isinstance(node := self._nodes[scan], Scan)]
        return list(dict.fromkeys(tables))

    def _why_not_built(self, planned: PlannedFilter) -> str:
        if self._facts.only_reported:
            return "reported but not applied: spark.headgate.strategy=never"
        scans = [node for to in planned.consumers if isinstance(node := self._nodes[to.scan], Scan)]
        if scans and all(Can.GATE not in scan.can and scan.source is not Source.PARQUET for scan in scans):
            kinds = ", ".join(dict.fromkeys(scan.format or "the source" for scan in scans))
            why = f"{kinds} takes filters only before its scan begins"
            return f"the query did not wait for the filter, and {why}; a longer spark.headgate.maxWait may help"
        columns = [self._nodes[to.scan].find_column(to.column) for to in planned.consumers]
        types = ", ".join(dict.fromkeys(column.type for column in columns if column is not None))
        why = f"its scans cannot be filtered late by a column of type {types}"
        return f"the query did not wait for the filter, and {why}; a longer spark.headgate.maxWait may help"

    def _probe_column(self, planned: PlannedFilter) -> str:
        node: Node
        if planned.consumers:
            node, wanted = self._nodes[planned.consumers[0].scan], planned.consumers[0].column
        else:
            inner, _ = planned.probe_expression.unwrapped()
            node, wanted = self._nodes[planned.probe], -1 if inner.column is None else inner.column
        column = node.find_column(wanted)
        return column.name if column else planned.probe_expression.sql

    # --- joins and scans ----------------------------------------------------------------------------------------

    def _join(self, join: Join) -> JoinReport:
        fed = [self._filters[f.id] for f in self._plan.filters if f.join == join.id]
        report = JoinReport(join.id, join.type, " AND ".join(c.sql for c in join.conjuncts))
        report.filters = [f.id for f in fed if f.state is not FilterState.DROPPED]
        if not report.filters:
            reasons = (f.reason for f in fed)
            report.reason = dict(self._plan.unfiltered).get(join.id) or next(reasons, "no filter was planned")
        return report

    def _scan(self, scan: Scan) -> ScanReport:
        size = 0 if scan.has_unknown_size else scan.bytes
        report = ScanReport(scan.table, scan.id, bytes_total=size, bytes_read=size, path=scan.path)
        late, narrowed = self._facts.late, self._facts.narrowed.get(scan.id)
        left = self._facts.whole.get(scan.id) if narrowed is None else narrowed.verdict
        if left is not None:
            report.take_in(left, None if late is None else late.scans.get(scan.id), self._facts.strips.get(scan.id))
        report.filters = list(narrowed.filters) if narrowed is not None else []
        report.filters += [name for name in self._late_on(scan) if name not in report.filters]
        if left is None and any(map(self._lets_nothing_pass, report.filters)):
            report.bytes_read = 0  # the scan is not even planned
        if not report.filters:
            report.reason = self._why_unfiltered(scan)
        elif scan.tells_its_reader and 1 < report.files_read == report.files_total:
            report.reason = EVERY_FILE
        return report

    def _lets_nothing_pass(self, filter: str) -> bool:
        known = self._facts.filters.get(filter)
        return known is not None and known.domain is not None and known.domain.kind is Kind.NONE

    def _late_on(self, scan: Scan) -> list[str]:
        if self._facts.late is None:
            return []
        late = (f for f in self._plan.filters if f.id in self._facts.late.filters)
        return [f.id for f in late if any(to.scan == scan.id for to in f.consumers)]

    def _why_unfiltered(self, scan: Scan) -> str:
        if scan.id in self._facts.kept:
            return "the scan is in a build side: it ran once, and its rows are in the plan"
        touching = [f for f in self._plan.filters if any(to.scan == scan.id for to in f.consumers)]
        reasons = (reason for planned in touching if (reason := self._filters[planned.id].reason))
        return next(reasons, "no join sends a filter to this scan")


def _kind(domain: Domain) -> str:
    return describe(domain) if domain.kind is Kind.SINGLE else domain.kind.value
