"""Filters that pay by rows alone, and builds that are taken from a part of the build side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.plan import Clustering, QueryPlan, RuleContext, Strategy
from headgate.plan.nodes import Feed, Node
from tests.plan.builders import (
    CHOOSE,
    EVERY,
    MB,
    aggregate,
    alive,
    clause,
    column,
    join,
    limit,
    planned,
    project,
    ref,
    scan,
    where,
)

SPREAD = RuleContext(clustering=lambda scan, column: Clustering(100, 1.0))
LINE_ORDER, LINE_PART = column(1, "l_order"), column(2, "l_part")
ORDER, CUSTOMER = column(11, "o_order"), column(12, "o_customer")
CUSTOMER_ID, SEGMENT = column(21, "c_id"), column(22, "c_segment")
PART_ID = column(31, "p_id")
LINES = scan("lines", LINE_ORDER, LINE_PART, bytes=2000 * MB)
ORDERS = scan("orders", ORDER, CUSTOMER, bytes=500 * MB)
CUSTOMERS = scan("customers", CUSTOMER_ID, SEGMENT, bytes=100 * MB)
PARTS = scan("parts", PART_ID, bytes=60 * MB)
MOVED = {"smaller_bytes": 50 * MB}


def two(probe: Node = LINES, build: Node | None = None, **more: int) -> Node:
    return join(probe, build or where(ORDERS), clause(LINE_ORDER, ORDER), **(MOVED | more))


def chosen(root: Node, context: RuleContext = SPREAD) -> QueryPlan:
    return planned(root, CHOOSE, context)


def by_rows(plan: QueryPlan) -> set[int]:
    return {to.column for f in plan.filters if f.is_alive for to in f.consumers if to.by_rows}


def test_rows_that_would_be_moved_are_tested() -> None:
    plan = chosen(two())
    assert alive(plan) == {"orders.o_order": ["lines.l_order"]}
    assert by_rows(plan) == {LINE_ORDER.id}


@pytest.mark.parametrize(
    ("root", "context"),
    [
        pytest.param(two(smaller_bytes=5 * MB), SPREAD, id="the build side is broadcast: nothing moves"),
        pytest.param(two(), replace(SPREAD, filter_rows=False), id="filterRows=false"),
        pytest.param(two(replace(LINES, bytes=60 * MB)), SPREAD, id="the scan is not large"),
        pytest.param(two(build=where(replace(ORDERS, bytes=2400 * MB))), SPREAD, id="the build side is dear"),
        pytest.param(two(build=ORDERS), SPREAD, id="the build side keeps every key"),
        pytest.param(
            two(
                build=where(aggregate(replace(ORDERS, bytes=1200 * MB), [ORDER], (ORDER, ref(ORDER)), repeatable=True))
            ),
            SPREAD,
            id="the build side groups a large table",
        ),
        pytest.param(two(build=limit(ORDERS)), SPREAD, id="the build side may differ when it is run again"),
        pytest.param(
            two(
                replace(LINES, output=(column(1, "l_order", "string"), LINE_PART)),
                where(replace(ORDERS, output=(column(11, "o_order", "string"), CUSTOMER))),
            ),
            SPREAD,
            id="no whole number",
        ),
    ],
)
def test_rows_are_not_tested(root: Node, context: RuleContext) -> None:
    plan = chosen(root, context)
    assert not by_rows(plan)
    assert not [f for f in plan.filters if f.is_alive and f.feed is not Feed.TAP]


def test_a_join_that_moves_rows_below_the_one_of_the_filter_counts() -> None:
    """Lines are shuffled to meet orders before they meet the few parts."""
    plan = chosen(join(two(build=ORDERS), where(replace(PARTS, bytes=MB)), clause(LINE_PART, PART_ID)))
    assert alive(plan) == {"parts.p_id": ["lines.l_part"]}
    assert by_rows(plan) == {LINE_PART.id}


def test_a_join_that_moves_rows_only_above_does_not_count() -> None:
    """Few parts are broadcast and drop the lines before anything is moved."""
    few = join(LINES, where(replace(PARTS, bytes=MB)), clause(LINE_PART, PART_ID))
    assert not by_rows(chosen(join(few, ORDERS, clause(LINE_ORDER, ORDER), **MOVED)))


def test_what_a_small_selective_join_has_left_over_is_worth_a_small_build_only() -> None:
    """Few parts are broadcast and drop most lines; to read a quarter as much for the rest does not pay."""
    few = join(LINES, where(replace(PARTS, bytes=MB)), clause(LINE_PART, PART_ID))
    plan = chosen(join(few, where(ORDERS), clause(LINE_ORDER, ORDER), **MOVED))
    assert LINE_ORDER.id not in by_rows(plan)
    plan = chosen(join(few, where(replace(ORDERS, bytes=90 * MB)), clause(LINE_ORDER, ORDER), **MOVED))
    assert LINE_ORDER.id in by_rows(plan)


def test_always_does_not_ask_for_sizes() -> None:
    small = two(replace(LINES, bytes=MB), where(replace(ORDERS, bytes=MB // 2)))
    assert not by_rows(chosen(small))
    assert by_rows(chosen(small, EVERY)) == {LINE_ORDER.id}


def test_a_filter_by_rows_makes_the_builds_that_it_feeds_selective() -> None:
    """Customers are too large to broadcast; orders have no filter of their own."""
    orders = join(ORDERS, where(CUSTOMERS), clause(CUSTOMER, CUSTOMER_ID), **MOVED)
    plan = chosen(two(build=orders))
    assert alive(plan) == {"customers.c_id": ["orders.o_customer"], "orders.o_order": ["lines.l_order"]}


# --- parts of build sides ------------------------------------------------------------------------------------------


def build_of(plan: QueryPlan, column: int) -> list[str]:
    """The tables that the filter to a column is built from."""
    found = [f for f in plan.filters if f.is_alive and any(to.column == column for to in f.consumers)]
    return [scan.table for f in found for scan in plan.node(f.build).scans()]


def test_the_part_with_the_key_is_enough_where_a_filter_brings_the_rest() -> None:
    orders = join(where(ORDERS), where(CUSTOMERS), clause(CUSTOMER, CUSTOMER_ID), **MOVED)
    assert build_of(chosen(two(build=orders)), LINE_ORDER.id) == ["orders"]


def test_the_whole_is_built_where_no_filter_brings_the_rest() -> None:
    """The two are compared by ``<>``, so that orders cannot be filtered by customers."""
    other = clause(CUSTOMER, CUSTOMER_ID, "<>")
    orders = join(where(ORDERS), where(CUSTOMERS), other, **MOVED)
    assert build_of(chosen(two(build=orders)), LINE_ORDER.id) == ["orders", "customers"]


def test_an_equal_column_of_a_smaller_part_serves_as_well() -> None:
    """The keys of lines that are joined to parts are all among the keys of parts."""
    supply = column(41, "s_part")
    supplies = scan("supplies", supply, bytes=400 * MB)
    lines = join(LINES, where(PARTS), clause(LINE_PART, PART_ID), **MOVED)
    plan = chosen(join(supplies, lines, clause(supply, LINE_PART), **MOVED))
    assert build_of(plan, supply.id) == ["parts"]


@pytest.mark.parametrize("type", ["LEFT OUTER", "FULL OUTER"])
def test_outer_joins_are_built_whole(type: str) -> None:
    orders = join(where(CUSTOMERS), ORDERS, clause(CUSTOMER_ID, CUSTOMER), type=type, **MOVED)
    assert set(build_of(chosen(two(build=orders), EVERY), LINE_ORDER.id)) == {"customers", "orders"}


def test_what_is_small_is_built_whole() -> None:
    """Its rows take its place in the query."""
    orders = join(where(replace(ORDERS, bytes=MB)), replace(CUSTOMERS, bytes=MB), clause(CUSTOMER, CUSTOMER_ID))
    assert build_of(chosen(two(build=orders), EVERY), LINE_ORDER.id) == ["orders", "customers"]


def test_a_filter_over_the_join_is_not_lost() -> None:
    orders = where(join(ORDERS, CUSTOMERS, clause(CUSTOMER, CUSTOMER_ID), **MOVED), clause(ORDER, SEGMENT, "<"))
    assert build_of(chosen(two(build=orders)), LINE_ORDER.id) == ["orders", "customers"]


def test_projections_are_seen_through() -> None:
    orders = project(join(where(ORDERS), CUSTOMERS, clause(CUSTOMER, CUSTOMER_ID), **MOVED), (ORDER, ref(ORDER)))
    assert build_of(chosen(two(build=orders)), LINE_ORDER.id) == ["orders"]


def test_both_directions_are_never_kept() -> None:
    """Also where both sides were shrunk."""
    orders = join(where(ORDERS), where(CUSTOMERS), clause(CUSTOMER, CUSTOMER_ID), **MOVED)
    lines = join(LINES, where(PARTS), clause(LINE_PART, PART_ID), **MOVED)
    for strategy in (Strategy.COST, Strategy.ALWAYS):
        plan = chosen(join(lines, orders, clause(LINE_ORDER, ORDER), **MOVED), replace(SPREAD, strategy=strategy))
        ends = [(f.join, f.probe) for f in plan.filters if f.is_alive]
        assert len({join for join, _ in ends}) == len(set(ends))
