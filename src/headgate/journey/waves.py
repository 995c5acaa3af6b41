"""One query's filters on their way: which builds run next, what their domains narrow, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.catalyst.predicates import range_predicate, row_predicate
from headgate.collect import BuildRequest, BuildResult
from headgate.config import Settings
from headgate.domain import Domain, Kind, Limits, applied, coerce, describe, value_type
from headgate.domain.widen import widen
from headgate.journey.effects import Narrowing, effective, within_memory
from headgate.journey.scans import Scans
from headgate.journey.worth import Worth
from headgate.observe import FilterReport, JoinReport, LateReport, QueryReport, ScanReport
from headgate.plan import Consumer, PlannedFilter, QueryPlan
from headgate.plan.nodes import Filter, Join, Scan
from headgate.plan.taps import shuffle_keys
from headgate.prune import ScanVerdict


@dataclass(slots=True)
class _Collected:
    """A filter whose build has run."""

    planned: PlannedFilter
    build: BuildResult
    domain: Domain
    applied_to: set[int] = field(default_factory=set)
    reason: str = ""
    widened: str = ""  # why it is wider than what was found


class Journey:
    """The state of one query between planning and writing."""

    def __init__(self, plan: QueryPlan, scans: Scans, settings: Settings, broadcast_bytes: int = 0) -> None:
        self._plan, self._scans, self._settings = plan, scans, settings
        self._broadcast_bytes = broadcast_bytes
        self.build_ms = 0.0
        self._nodes = plan.nodes()
        self._collected: dict[str, _Collected] = {}
        self._builds: dict[int, BuildResult] = {}
        self._failed: dict[int, str] = {}
        self._given_up: dict[str, str] = {}
        self._worth = Worth(plan, scans, settings)
        self._verdicts: dict[int, ScanVerdict] = {}
        self._used: dict[int, list[str]] = {}
        self.late: set[str] = set()  # filters that scans are gated for, since they come when the query runs already

    # --- collecting ---------------------------------------------------------------------------------------------

    def waves(self) -> Iterator[list[BuildRequest]]:
        """Yield the builds of each wave; each wave sees what the waves before it have found."""
        alive = [planned for planned in self._plan.filters if planned.is_alive and not planned.non_blocking]
        for wave in sorted({planned.wave for planned in alive}):
            here = [planned for planned in alive if planned.wave == wave and planned.build not in self._failed]
            if here := [planned for planned in here if self._still_pays(planned)]:
                yield [self._request(build, here) for build in sorted({planned.build for planned in here})]

    def _still_pays(self, planned: PlannedFilter) -> bool:
        if why := self._worth.why_not(planned, self._found):
            self._given_up[planned.id] = why
        return not why

    def waves_beside(self) -> Iterator[list[BuildRequest]]:
        """Yield the builds that nobody waits for, the cheapest first, each when the ones before it are done."""
        beside = [planned for planned in self._plan.filters if planned.is_alive and planned.non_blocking]
        here = [planned for planned in beside if not planned.tapped and planned.build not in self._failed]
        for build in sorted({planned.build for planned in here}, key=lambda node: (self.build_bytes(node), node)):
            yield [self._request(build, here)]

    def build_bytes(self, build: int) -> int:
        """Return the bytes of the files that a build side scans."""
        return self._nodes[build].scanned_bytes()

    def fed_bytes(self) -> int:
        """Return the bytes of the scans that filters may narrow."""
        fed = {to.scan for planned in self._plan.filters if planned.is_alive for to in planned.consumers}
        return sum(self._scans.nodes[scan].bytes for scan in fed)

    def _request(self, build: int, filters: Sequence[PlannedFilter]) -> BuildRequest:
        node = self._nodes[build]
        columns = tuple(dict.fromkeys(planned.build_column for planned in filters if planned.build == build))
        positions = {column.id: i for i, column in enumerate(node.output)}
        types = {column.id: column.type for column in node.output}
        inside = {n.id for n in node.walk()}
        return BuildRequest(
            node=build,
            columns=columns,
            ordinals=tuple(positions[column] for column in columns),
            types=tuple(types[column] for column in columns),
            row_bytes=self._broadcast_bytes if self._may_replace() else 0,
            edits=self._edits(inside, exact=True),
        )

    def take_in(self, requests: Sequence[BuildRequest], results: Sequence[BuildResult]) -> None:
        """Publish the domains of the builds of one wave."""
        for request, result in zip(requests, results, strict=True):
            if request.node in self._failed:
                continue
            filters = [f for f in self._plan.filters if f.build == request.node and self._is_wanted(f)]
            if result.error:
                self._failed[request.node] = f"build side failed: {result.error.splitlines()[0][:200]}"
                continue
            if not result.has_rows and any(f.build_once_only for f in filters):
                self._failed[request.node] = (
                    f"build side may differ when run twice, and its {result.rows:,} rows are too many to keep"
                )
                continue
            self._builds[request.node] = replace(result, domains={})  # which are held by their filters, or given up
            for planned in filters:
                if not planned.tapped:
                    self._take(planned, result, result.domains[planned.build_column])

    def take_tap(self, planned: PlannedFilter, domain: Domain) -> None:
        """Publish what a tap has collected."""
        self._take(planned, BuildResult(-1, 0, False, 0, 0, "", {}), domain)

    def _take(self, planned: PlannedFilter, result: BuildResult, found: Domain) -> None:
        domain = widen(found, value_type(planned.compared))
        if domain is not None:
            # all build rows have been seen, so NULL matters to <=> only if one of them has it
            nulls = planned.op == "<=>" and domain.null_allowed
            probed = applied(planned.op, domain).with_null(nulls)
            held = sum(c.domain.nbytes for name, c in list(self._collected.items()) if name != planned.id)
            fitting = within_memory(probed, held, self._settings)
            collected = self._collected[planned.id] = _Collected(planned, result, fitting)
            if fitting is not probed:
                limit = f"spark.headgate.memoryLimit={self._settings.memory_limit}"
                collected.widened = f"there was no room for its values: {limit} bytes for all filters together"

    # --- narrowing ----------------------------------------------------------------------------------------------

    def edits(self) -> dict[str, Any]:
        """Return the edits of the whole plan; empty where there is nothing to change."""
        return self._edits(set(self._nodes), exact=False)

    def _edits(self, inside: set[int], *, exact: bool) -> dict[str, Any]:
        """Narrow the scans among some nodes and put collected rows in the place of their build sides.

        ``exact`` tests every row, so that a build side gives only the keys that can still matter.
        """
        held = {node: result for node, result in self._builds.items() if result.has_rows and node in inside}
        builds = {str(node): result.number for node, result in held.items()}
        replaced = {n.id for node in held for n in self._nodes[node].walk()}
        scans = {}
        for scan in sorted(inside & set(self._scans.nodes) - replaced):
            if (edit := self._narrow(scan, exact=exact)) is not None:
                scans[str(scan)] = edit
        return {"scans": scans, "builds": builds} if scans or builds else {}

    def _narrow(self, scan: int, *, exact: bool) -> dict[str, Any] | None:
        found = self._consuming(scan)
        columns = self._domains(found)
        if not columns:
            return None
        verdict = self._scans.prune(scan, self._found(scan))
        shuffled = {consumer.column for c, consumer in found if consumer.shuffles or not c.build.has_rows}
        by_rows = {
            to.column for c, to in found if to.by_rows and self._worth.keeps_few(c.planned, c.domain.count(), to)
        }
        predicates = self._predicates(columns, verdict, shuffled, by_rows, exact=exact)
        narrowings = [Narrowing(c.planned.id, to.column, self._stored(c, to)) for c, to in found]
        tested = {predicate["column"] for predicate in predicates}
        self._note(scan, found, verdict, effective(self._scans, scan, narrowings, verdict, tested))
        if not verdict.removes_something and not predicates:
            return None
        keep = verdict.keep if verdict.removes_something else None
        groups = {str(number): ranges for number, ranges in verdict.row_groups.items()}
        return {"keep": keep, "rowGroups": groups, "filters": predicates}

    def _consuming(self, scan: int) -> list[tuple[_Collected, Consumer]]:
        held = list(self._collected.values())  # taps report while builds beside the query are judged
        return [(c, to) for c in held for to in c.planned.consumers if to.scan == scan]

    def _found(self, scan: int) -> dict[str, Domain]:
        """Return what the filters so far say of the columns of a scan, by name."""
        names = {column.id: column.name for column in self._scans.nodes[scan].output}
        return {names[column]: domain for column, domain in self._domains(self._consuming(scan)).items()}

    def _domains(self, found: Sequence[tuple[_Collected, Consumer]]) -> dict[int, Domain]:
        """Return what some filters together say of each column of a scan."""
        columns: dict[int, Domain] = {}
        for collected, consumer in found:
            domain = self._stored(collected, consumer)
            if domain is not None and not domain.is_all:
                columns[consumer.column] = columns[consumer.column] & domain if consumer.column in columns else domain
        return columns

    def _stored(self, collected: _Collected, consumer: Consumer) -> Domain | None:
        column = self._scans.nodes[consumer.scan].find_column(consumer.column)
        assert column is not None
        return coerce(collected.domain, value_type(column.type))

    def _predicates(
        self, columns: dict[int, Domain], verdict: ScanVerdict, shuffled: set[int], by_rows: set[int], *, exact: bool
    ) -> list[dict[str, Any]]:
        if not exact and not self._settings.filter_rows:
            return []
        much = verdict.removes_something and verdict.bytes_read <= _MOSTLY * verdict.bytes_total
        found = []
        for column, domain in columns.items():
            if exact or column in by_rows or (column in shuffled and much):
                found.append(row_predicate(column, domain))
            elif much:
                found.append(range_predicate(column, domain))
        return [predicate for predicate in found if predicate is not None]

    def _may_replace(self) -> bool:
        """Spark's own pruning borrows the build side's broadcast: that must stay where no filter of ours is."""
        fed = {to.scan for planned in self._plan.filters if planned.is_alive for to in planned.consumers}
        pruned = [
            node
            for node in self._nodes.values()
            if isinstance(node, Filter) and any(conjunct.op == "dynamic pruning" for conjunct in node.conjuncts)
        ]
        return all(fed & {below.id for below in node.walk()} for node in pruned)

    # --- filters that come late ---------------------------------------------------------------------------------

    def go_beside(self) -> None:
        """From here on the query runs its build sides itself, besides the builds: give up those that may differ."""
        for planned in self.awaited():
            if planned.build_once_only:
                self._failed[planned.build] = (
                    "build side may differ when run twice, and the query did not wait for its rows"
                )

    def awaited(self) -> list[PlannedFilter]:
        """Return the filters whose builds are not done."""
        return [
            planned
            for planned in self._plan.filters
            if self._is_wanted(planned) and planned.id not in self._collected and planned.build not in self._failed
        ]

    def _is_wanted(self, planned: PlannedFilter) -> bool:
        return planned.is_alive and planned.id not in self._given_up

    def gated_type(self, consumer: Consumer) -> str:
        """Return the type of a column whose scan can be gated, or nothing."""
        scan = self._scans.nodes[consumer.scan]
        held = (self._nodes[node] for node, result in self._builds.items() if result.has_rows)
        if scan.source != "parquet" or any(consumer.scan == below.id for node in held for below in node.walk()):
            return ""  # nothing will scan it, or not through Spark's own Parquet reader
        column = scan.find_column(consumer.column)
        assert column is not None
        return column.type if self._scans.can_gate(consumer.scan) else ""

    def taps(self, limits: Limits) -> dict[str, Any]:
        """Return the taps to put on build sides, by join."""
        found: dict[str, Any] = {}
        for planned in self.awaited():
            if not planned.tapped:
                continue
            join, side = self._nodes[planned.join], self._nodes[planned.build]
            assert isinstance(join, Join)
            keys = [column.id for column in shuffle_keys(join, side)]
            held = {"maxDistinct": limits.max_distinct, "maxBytes": limits.max_bytes, "keys": keys}
            tap = found.setdefault(str(join.id), {"side": 0 if join.left.id == side.id else 1, **held, "filters": []})
            tap["filters"].append({"id": planned.id, "column": planned.build_column})
        return found

    def build_type(self, planned: PlannedFilter) -> str:
        """Return the type of a filter's build column."""
        column = self._nodes[planned.build].find_column(planned.build_column)
        assert column is not None
        return column.type

    def tests_rows(self, planned: PlannedFilter, consumer: Consumer) -> bool:
        """Whether a late filter should also test rows: only where something dear lies between scan and join."""
        moved = consumer.by_rows or consumer.shuffles > 0 or self.build_bytes(planned.build) > self._broadcast_bytes
        return moved and self._settings.filter_rows

    def domain_for(self, planned: PlannedFilter, type: str) -> Domain | None:
        """Return what a collected filter says of a column of some type, or None where it says nothing."""
        collected = self._collected.get(planned.id)
        return None if collected is None else coerce(collected.domain, value_type(type))

    def give_up_late(self, why: str) -> None:
        """Go on without the filters whose builds are not done."""
        self._given_up |= {planned.id: why for planned in self.awaited()}

    def tell_scan(self, report: ScanReport, unread: Sequence[int]) -> None:
        """Write into a scan's report what late filters left unread of what planning had left."""
        left = self._verdicts.get(report.node) or self._scans.whole(report.node, row_groups=True)
        assert left is not None
        report.tell(left, unread)

    def tell_late(self, report: FilterReport, planned: PlannedFilter, story: LateReport) -> None:
        """Write into a filter's report what became of it after the query had started."""
        report.late = story
        report.reason = self._failed.get(planned.build, "") or self._given_up.get(planned.id, "")
        if (collected := self._collected.get(planned.id)) is not None:
            report.kind, report.values = _kind(collected.domain), collected.domain.count()
            report.bytes, report.collect_ms = collected.domain.nbytes, collected.build.millis
            report.reason = report.reason or collected.widened
        removed = story.files + story.row_groups + story.rows
        report.state = "applied late" if removed else "late"
        if removed:
            tables = [self._scans.nodes[to.scan].table for to in planned.consumers]
            report.applied_to = list(dict.fromkeys(map(_short, tables)))

    # --- telling ------------------------------------------------------------------------------------------------

    def _note(
        self, scan: int, found: list[tuple[_Collected, Consumer]], verdict: ScanVerdict, narrowing: set[str]
    ) -> None:
        self._verdicts[scan] = verdict
        self._used[scan] = list(dict.fromkeys(c.planned.id for c, _ in found if c.planned.id in narrowing))
        for collected, consumer in found:
            if collected.planned.id in narrowing:
                collected.applied_to.add(scan)
            elif narrowing:
                collected.reason = "would remove nothing that the other filters of its scan leave"
            else:
                collected.reason = f"would remove nothing: {len(verdict.keep)} of {verdict.files_total} files match"
                if consumer.by_rows:
                    collected.reason += ", and its keys would keep most rows"

    def report(self) -> QueryReport:
        """Tell what was done with each filter, scan and join."""
        filters = [self._filter_report(planned) for planned in self._plan.filters]
        alive = {f.id for f in filters if f.state != "dropped"}
        joins = [self._join_report(node, alive) for node in self._nodes.values() if isinstance(node, Join)]
        scans = [self._scan_report(node) for node in self._scans.nodes.values() if node.source in _FILE_SOURCES]
        return QueryReport(filters, scans, joins, build_ms=self.build_ms)

    def _filter_report(self, planned: PlannedFilter) -> FilterReport:
        report = FilterReport(planned.id, planned.clause, self._probe_column(planned), reason=planned.reason)
        if planned.id in self.late:
            report.state = "late"
            return report
        if planned.is_alive:
            given_up = self._failed.get(planned.build) or self._given_up.get(planned.id)
            report.reason = given_up or self._why_not_built(planned)
        if (collected := self._collected.get(planned.id)) is not None:
            domain = collected.domain
            report.kind = _kind(domain)
            report.values, report.bytes = domain.count(), domain.nbytes
            report.collect_ms = collected.build.millis
            narrowed = [self._scans.nodes[scan].table for scan in sorted(collected.applied_to)]
            report.applied_to = list(dict.fromkeys(map(_short, narrowed)))
            report.state = "applied" if report.applied_to else "collected"
            why = collected.widened or collected.reason or "its scan is in a build side that ran once"
            report.reason = "" if report.applied_to else why
        return report

    def _why_not_built(self, planned: PlannedFilter) -> str:
        if self._settings.strategy == "never":
            return "only reported: spark.headgate.strategy=never"
        columns = [self._scans.nodes[to.scan].find_column(to.column) for to in planned.consumers]
        types = ", ".join(dict.fromkeys(column.type for column in columns if column is not None))
        return f"the query did not wait for it, and its scans cannot be filtered late by a column of type {types}"

    def _probe_column(self, planned: PlannedFilter) -> str:
        if planned.consumers:
            to = planned.consumers[0]
            column = self._scans.nodes[to.scan].find_column(to.column)
        else:
            inner, _ = planned.probe_expression.unwrapped()
            column = self._nodes[planned.probe].find_column(inner.column or -1)
        return column.name if column else planned.probe_expression.sql

    def _join_report(self, join: Join, alive: set[str]) -> JoinReport:
        fed = [f for f in self._plan.filters if f.join == join.id]
        report = JoinReport(join.id, join.type, " AND ".join(c.sql for c in join.conjuncts))
        report.filters = [f.id for f in fed if f.id in alive]
        if not report.filters:
            told = (self._filter_report(planned).reason for planned in fed)
            report.reason = dict(self._plan.unfiltered).get(join.id) or next(told, "no filter was planned")
        return report

    def _scan_report(self, scan: Scan) -> ScanReport:
        report = ScanReport(scan.table, scan.id, bytes_total=scan.bytes, bytes_read=scan.bytes, path=scan.path)
        if (verdict := self._verdicts.get(scan.id) or self._scans.whole(scan.id)) is not None:
            report.tell(verdict)
            report.filters = list(self._used.get(scan.id, []))
        late = [f.id for f in self._plan.filters if f.id in self.late and any(c.scan == scan.id for c in f.consumers)]
        report.filters += [name for name in late if name not in report.filters]
        if not report.filters:
            report.reason = self._why_unfiltered(scan)
        return report

    def _why_unfiltered(self, scan: Scan) -> str:
        if any(scan.id in {n.id for n in self._nodes[node].walk()} for node, b in self._builds.items() if b.has_rows):
            return "build side: it ran once, and its rows are in the plan"
        touching = [f for f in self._plan.filters if any(c.scan == scan.id for c in f.consumers)]
        for planned in touching:
            if reason := self._filter_report(planned).reason:
                return reason
        return "no join filter reaches this scan"


# where nearly everything is read, testing each row costs more than it spares
_MOSTLY = 0.9
_FILE_SOURCES = ("parquet", "files", "narrowed", "unknown files")


def _kind(domain: Domain) -> str:
    return describe(domain) if domain.kind is Kind.SINGLE else domain.kind.value


def _short(table: str) -> str:
    return table.rsplit("/", 1)[-1]
