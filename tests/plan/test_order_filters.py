"""A build side whose scans other filters narrow runs after them; filters that wait in a circle are opened up."""

from __future__ import annotations

from dataclasses import replace

from headgate.plan import PlannedFilter, QueryPlan
from headgate.plan.nodes import Consumer, Feed
from headgate.plan.rules.order_filters import order_filters
from tests.plan.builders import EVERY, ORDER, clause, column, join, numbered, planned, ref, scan

A, B, C, D = (column(i, name) for i, name in enumerate("abcd", 1))


def wired(sizes: dict[str, int], *edges: tuple[str, str], non_blocking: bool = False) -> dict[str, PlannedFilter]:
    """Order filters between tables given as (build, probe); the tables are the leaves of one plan."""
    held = {name: column(number, name) for number, name in enumerate(sizes)}
    root = None
    for name, size in sizes.items():
        leaf = scan(name, held[name], bytes=size)
        root = leaf if root is None else join(root, leaf)
    assert root is not None
    tree = numbered(root)
    ids = {node.table: node.id for node in tree.walk() if hasattr(node, "table")}
    filters = tuple(
        PlannedFilter(
            id=f"{build}->{probe}",
            join=0,
            op="=",
            build=ids[build],
            build_column=held[build].id,
            probe=ids[probe],
            probe_expression=ref(held[probe]),
            compared="int",
            clause="",
            consumers=(Consumer(ids[probe], held[probe].id, "int"),),
        )
        for build, probe in edges
    )
    context = replace(EVERY, non_blocking=non_blocking)
    return {f.id: f for f in order_filters(QueryPlan(tree, filters), context).filters}


def waves(found: dict[str, PlannedFilter]) -> dict[str, int]:
    """Return the waves of the filters that live."""
    return {name: f.wave for name, f in found.items() if f.is_alive}


def test_a_chain_runs_wave_by_wave() -> None:
    """region -> nation -> supplier -> lineitem: waves 0, 1, 2."""
    sizes = {"region": 1, "nation": 2, "supplier": 3, "lineitem": 4}
    found = wired(sizes, ("supplier", "lineitem"), ("nation", "supplier"), ("region", "nation"))

    assert waves(found) == {"region->nation": 0, "nation->supplier": 1, "supplier->lineitem": 2}


def test_independent_builds_share_a_wave() -> None:
    """Three dimensions of a star do not wait for each other."""
    found = wired({"a": 1, "b": 1, "c": 1, "fact": 9}, ("a", "fact"), ("b", "fact"), ("c", "fact"))

    assert waves(found) == {"a->fact": 0, "b->fact": 0, "c->fact": 0}


def test_a_build_waits_for_the_slowest_of_its_filters() -> None:
    """A build side that filters of waves 0 and 1 narrow runs in wave 2."""
    found = wired({"a": 1, "b": 1, "c": 1, "d": 1}, ("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"))

    assert waves(found) == {"a->b": 0, "a->c": 0, "b->c": 1, "c->d": 2}


def test_filters_of_one_build_are_of_one_wave() -> None:
    """A build side runs once, whatever it feeds."""
    found = wired({"a": 1, "b": 1, "c": 1}, ("a", "b"), ("a", "c"))

    assert waves(found) == {"a->b": 0, "a->c": 0}


def test_a_circle_drops_the_costliest_build() -> None:
    """a -> b -> c -> a cannot all wait; the build that reads the most is given up, and the others run in order."""
    found = wired({"a": 10, "b": 30, "c": 20}, ("a", "b"), ("b", "c"), ("c", "a"))

    assert waves(found) == {"c->a": 0, "a->b": 1}
    assert found["b->c"].reason == "waits in a circle with other filters, and its build side is the costliest"
    assert found["b->c"].wave == -1


def test_nobody_waits_for_the_costliest_build_of_a_circle() -> None:
    """C49: with filters that may come late, no filter of a circle is thrown away; one runs beside the query."""
    found = wired({"a": 10, "b": 30, "c": 20}, ("a", "b"), ("b", "c"), ("c", "a"), non_blocking=True)

    assert all(f.is_alive for f in found.values())
    assert {name for name, f in found.items() if f.feed is Feed.BACKGROUND} == {"b->c"}


def test_two_circles_are_both_opened() -> None:
    """Each circle loses one filter."""
    found = wired({"a": 1, "b": 2, "c": 3, "d": 4}, ("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"))

    assert set(waves(found)) == {"a->b", "c->d"}


def test_a_build_behind_a_circle_is_kept() -> None:
    """A build that waits for a circle without being part of it is not given up, however costly it is."""
    found = wired({"a": 1, "b": 2, "big": 100, "fact": 1000}, ("a", "b"), ("b", "a"), ("a", "big"), ("big", "fact"))

    assert waves(found) == {"a->b": 0, "a->big": 0, "big->fact": 1}


def test_equal_costs_are_decided_the_same_way_each_time() -> None:
    """Of two builds of one size the later in the plan is dropped."""
    for _ in range(3):
        assert waves(wired({"a": 5, "b": 5}, ("a", "b"), ("b", "a"))) == {"a->b": 0}


def test_dropped_filters_get_no_wave_and_nobody_waits_for_them() -> None:
    """A filter that another rule has dropped is not part of the order."""
    computed_build = join(scan("a", A), scan("b", B, source="parquet"), clause(A, B), type="FULL OUTER")
    plan = planned(join(computed_build, scan("c", C), clause(A, C), type="RIGHT OUTER"), ORDER)

    assert [(f.is_alive, f.wave) for f in plan.filters] == [(False, -1)]


def test_a_plan_without_filters() -> None:
    """Nothing to order is no error."""
    assert planned(join(scan("a", A), scan("d", D)), ORDER).filters == ()
