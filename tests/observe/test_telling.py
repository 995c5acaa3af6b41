"""The report follows from the facts: each filter, scan and join, what was done with it, and if nothing, why."""

from __future__ import annotations

from dataclasses import replace

from headgate.catalyst.wire import Unread
from headgate.domain import Domain
from headgate.observe import FilterFacts, FilterReport, FilterState, LateFacts, LateReport, QueryFacts, ScanFacts
from headgate.observe.report import QueryReport, QueryReports, ScanReport
from headgate.observe.telling import report_of
from headgate.plan import Node, PlannedFilter, QueryPlan
from headgate.plan.kinds import Can, Source
from headgate.prune import ScanVerdict
from tests.query.chains import chain, scan_of

PLAN = chain()
TO_FACT = next(f for f in PLAN.filters if f.is_alive and f.consumers[0].scan == scan_of(PLAN, "fact").id)
FACT, REGION = scan_of(PLAN, "fact").id, scan_of(PLAN, "region").id
LEFT = ScanVerdict([1], {}, 4, 8, 2, 4000, 1000)
WHOLE = ScanVerdict([0, 1, 2, 3], {}, 4, 8, 8, 4000, 4000)


def facts(plan: QueryPlan = PLAN, **more: object) -> QueryFacts:
    given: dict[str, object] = {"filters": {}, "narrowed": {}, "whole": {}, **more}
    return QueryFacts(plan, **given)  # type: ignore[arg-type]


def told(found: QueryFacts, planned: PlannedFilter = TO_FACT) -> FilterReport:
    return next(f for f in report_of(found).filters if f.id == planned.id)


def test_a_filter_that_was_applied() -> None:
    """Its values, what it cost, and the table that it narrowed."""
    known = FilterFacts(TO_FACT, Domain.of("int", [3, 7, 9]), 12)
    found = facts(filters={TO_FACT.id: known}, narrowed={FACT: ScanFacts(LEFT, (TO_FACT.id,))})
    report = told(found)

    assert (report.state, report.column, report.kind, report.values) == (FilterState.APPLIED, "k", "set", 3)
    assert (report.collect_ms, report.applied_to, report.reason) == (12, ["fact"], "")
    scan = next(s for s in report_of(found).scans if s.node == FACT)
    assert (scan.files_read, scan.files_total, scan.bytes_read, scan.filters) == (1, 4, 1000, [TO_FACT.id])
    assert scan.reason == ""


def test_a_filter_that_was_built_and_removed_nothing() -> None:
    """The scan's reason is the filter's."""
    why = "the filter would skip nothing: 4 of 4 files may match"
    known = FilterFacts(TO_FACT, Domain.of("int", [3]), 12)
    found = facts(filters={TO_FACT.id: known}, narrowed={FACT: ScanFacts(WHOLE, (), {TO_FACT.id: why})})

    assert (told(found).state, told(found).reason) == (FilterState.COLLECTED, why)
    assert next(s for s in report_of(found).scans if s.node == FACT).reason == why


def test_a_filter_that_was_given_up_is_dropped_with_its_reason() -> None:
    """So is the join that feeds it."""
    found = facts(filters={TO_FACT.id: FilterFacts(TO_FACT, given_up="build side failed: gone")})
    join = next(j for j in report_of(found).joins if j.node == TO_FACT.join)

    assert (told(found).state, told(found).reason) == (FilterState.DROPPED, "build side failed: gone")
    assert (join.filters, join.reason) == ([], "build side failed: gone")


def test_the_other_direction_was_chosen_and_came_to_nothing() -> None:
    """Then it is no use to say that it is cheaper."""
    other = next(f for f in PLAN.filters if f.reason.endswith(f"is cheaper: {TO_FACT.id}"))
    used = facts(
        filters={TO_FACT.id: FilterFacts(TO_FACT, Domain.of("int", [3]), 12)},
        narrowed={FACT: ScanFacts(LEFT, (TO_FACT.id,))},
    )
    assert told(used, other).reason == f"the other direction of the join is cheaper: {TO_FACT.id}"
    lost = facts(filters={TO_FACT.id: FilterFacts(TO_FACT, given_up="there is no coordinator")})
    why = f"the other direction of the join, {TO_FACT.id}, was chosen and then dropped: there is no coordinator"
    assert told(lost, other).reason == why


def test_a_filter_without_room_is_wider_and_says_so() -> None:
    """Where nothing was removed, the want of room is the reason."""
    known = FilterFacts(TO_FACT, Domain.all("int"), widened="there was no room")
    assert told(facts(filters={TO_FACT.id: known})).reason == "there was no room"


def test_a_strategy_that_only_reports() -> None:
    """Nothing ran, and the report names the setting."""
    assert told(facts(only_reported=True)).reason == "reported but not applied: spark.headgate.strategy=never"


def test_a_filter_that_cannot_come_late() -> None:
    """The query did not wait, and the type of the column has no gate."""
    assert told(facts()).reason.startswith(
        "the query did not wait for the filter, and its scans cannot be filtered late by a column of type int;"
    )


def test_a_filter_that_a_table_cannot_take_late() -> None:
    """The type of the column is not the reason."""
    nodes = {node.id: node for node in PLAN.root.walk()}
    delta = replace(scan_of(PLAN, "fact"), source=Source.DELTA, format="Delta", can=frozenset({Can.RANGES}))

    def put(node: Node) -> Node:
        return delta if node.id == FACT else replace(node, children=tuple(map(put, node.children)))

    root = put(PLAN.root)
    assert len(nodes) == len(list(root.walk()))
    assert told(facts(replace(PLAN, root=root))).reason == (
        "the query did not wait for the filter, and Delta takes filters only before its scan begins; "
        "a longer spark.headgate.maxWait may help"
    )


def test_a_scan_whose_rows_are_in_the_plan() -> None:
    """A build side that ran once is not read again, so nothing filters it."""
    scan = next(s for s in report_of(facts(kept=frozenset({REGION}))).scans if s.node == REGION)
    assert scan.reason == "the scan is in a build side: it ran once, and its rows are in the plan"


def test_late_filters_add_to_what_planning_left() -> None:
    """Files that were closed while the query ran count once, and the filter has been applied late."""
    story = LateReport(asked=1.0, published=2.0, files=2, row_groups=3, rows=10)
    late = LateFacts({TO_FACT.id: story}, {FACT: Unread(2, 3, 1500, 0)})
    known = FilterFacts(TO_FACT, Domain.of("int", [3]), 12)
    found = facts(filters={TO_FACT.id: known}, whole={FACT: WHOLE}, late=late)
    scan = next(s for s in report_of(found).scans if s.node == FACT)

    assert (told(found).state, told(found).late, told(found).applied_to) == (FilterState.APPLIED_LATE, story, ["fact"])
    assert (scan.files_read, scan.row_groups_read, scan.bytes_read, scan.filters) == (2, 5, 2500, [TO_FACT.id])


def test_a_late_filter_that_has_not_come_yet() -> None:
    """It is late, and no more can be said."""
    late = LateFacts({TO_FACT.id: LateReport(asked=1.0)}, {FACT: Unread()})
    found = facts(whole={FACT: WHOLE}, late=late)

    assert (told(found).state, told(found).values, told(found).reason) == (FilterState.LATE, None, "")
    assert next(s for s in report_of(found).scans if s.node == FACT).filters == [TO_FACT.id]


def test_a_filter_that_came_in_time_has_no_late_story() -> None:
    """What was published before planning has been applied; that no task asked for it again is no news."""
    late = LateFacts({TO_FACT.id: LateReport(asked=1.0, published=1.5, opened_before=1)}, {FACT: Unread()})
    known = FilterFacts(TO_FACT, Domain.of("int", [3]), 12)
    report = told(facts(filters={TO_FACT.id: known}, narrowed={FACT: ScanFacts(LEFT, (TO_FACT.id,))}, late=late))

    assert (report.state, report.late, report.reason) == (FilterState.APPLIED, None, "")


def test_tables_leave_out_what_no_row_says() -> None:
    """Nor is there an empty table where nothing can be told; a scan that was not listed has no files to count."""
    plain = str(report_of(facts()))
    assert "Scans" in plain
    assert "row groups" not in plain
    assert QueryReport()._repr_html_().startswith("<p>The query reads nothing that a filter could narrow.")
    assert "Scans" not in str(QueryReport())
    assert (
        "0 of 0</td>"
        not in QueryReports([QueryReport(scans=[ScanReport("fact")], filters=[told(facts())])])._repr_html_()
    )


def test_a_scan_is_called_as_filters_call_it() -> None:
    assert [ScanReport(table).name for table in ("/data/fact", "fact", "shop.fact")] == ["fact", "fact", "shop.fact"]


def test_executors_that_cannot_reach_the_coordinator() -> None:
    """If the filter did nothing, this is the reason; if others had it, its story says so at the end."""
    alone = LateReport(asked=1.0, published=2.0, opened_before=5, opened_cut_off=4, coordinator="http://h:1")
    known = {TO_FACT.id: FilterFacts(TO_FACT)}
    late = told(facts(filters=known, whole={FACT: WHOLE}, late=LateFacts({TO_FACT.id: alone}, {FACT: Unread()})))
    why = "executors could not reach the coordinator at http://h:1, and opened 4 files without the filter; "

    assert (late.state, late.reason.startswith(why)) == (FilterState.LATE, True)
    both = alone.with_(LateReport(rows=3))
    partly = told(facts(filters=known, whole={FACT: WHOLE}, late=LateFacts({TO_FACT.id: both}, {FACT: Unread()})))
    assert (partly.state, partly.reason, why in str(both)) == (FilterState.APPLIED_LATE, "", True)


def test_a_filter_has_arrived_where_a_task_had_it() -> None:
    """Publishing it is not enough: executors may not reach the coordinator, and a short query ends before they know."""
    published = LateReport(asked=1.0, published=2.5)
    assert str(LateReport(asked=1.0)).startswith("did not arrive while the query ran; ")
    assert str(published).startswith("published after 1.50 s, and no task had it; ")
    assert str(published.with_(LateReport(received=3.0))).startswith("arrived after 1.50 s; ")
    assert str(published.with_(LateReport(rows=3))).startswith("arrived after 1.50 s; ")


def test_files_closed_without_a_count_hide_the_row_groups() -> None:
    """A number that is not known is not shown."""
    late = LateFacts({TO_FACT.id: LateReport()}, {FACT: Unread(1, 0, 1000, 1)})
    scan = next(s for s in report_of(facts(whole={FACT: WHOLE}, late=late)).scans if s.node == FACT)
    assert (scan.files_read, scan.row_groups_total, scan.row_groups_read) == (3, 0, 0)
