"""A filter goes down its probe side to scan columns that it may be applied to, and stops where rows would be lost."""

from __future__ import annotations

import pytest

from headgate.plan import PlannedFilter, QueryPlan
from headgate.plan.nodes import Conjunct, Expression, Node
from tests.plan.builders import (
    TRACE,
    aggregate,
    cast,
    clause,
    column,
    computed,
    join,
    limit,
    other,
    planned,
    project,
    ref,
    repartition,
    scan,
    sort,
    targets,
    union,
    where,
    window,
)

K, V, BIG = column(1, "k"), column(2, "v"), column(3, "big", "bigint")
NEW = column(50, "new")
FACT = scan("fact", K, V, BIG)
SIDE_ID, SIDE_X = column(21, "s_id"), column(22, "s_x")
SIDE = scan("side", SIDE_ID, SIDE_X)


def trace(probe: Node, key: object = K, kind: str = "int") -> tuple[QueryPlan, PlannedFilter]:
    """Join a probe side to a table and return the filter from the table to it."""
    dim = column(99, "id", kind)
    plan = planned(join(probe, scan("dim", dim), clause(key, dim), type="RIGHT OUTER"), TRACE)  # type: ignore[arg-type]
    (found,) = [f for f in plan.filters if f.join == 0]
    return plan, found


def reached(probe: Node, key: object = K, kind: str = "int") -> list[str]:
    """Return the scan columns that the filter reaches; it must reach some."""
    plan, found = trace(probe, key, kind)
    assert found.is_alive, found.reason
    return targets(plan, found)


def stopped(probe: Node, key: object = K, kind: str = "int") -> str:
    """Return why the filter reaches nothing."""
    _, found = trace(probe, key, kind)
    assert found.consumers == ()
    return found.reason


@pytest.mark.parametrize(
    ("probe", "shuffles"),
    [
        (FACT, 0),
        (where(FACT), 0),
        (sort(FACT), 1),
        (repartition(FACT), 1),
        (project(FACT, (K, ref(K)), (V, ref(V))), 0),
        (other("SubqueryAlias", FACT), 0),
        (other("ResolvedHint", FACT), 0),
        (other("Generate", FACT, added=(NEW,)), 0),
        (repartition(sort(where(FACT))), 2),
    ],
    ids=["scan", "filter", "sort", "repartition", "project", "alias", "hint", "generate", "several"],
)
def test_nodes_that_keep_or_drop_whole_rows_are_passed(probe: Node, shuffles: int) -> None:
    """The filter reaches the scan, and the operators that move rows on the way are counted."""
    plan, found = trace(probe)

    assert targets(plan, found) == ["fact.k"]
    assert found.consumers[0].shuffles == shuffles
    assert found.consumers[0].compared == "int"


def test_through_renames() -> None:
    """A renamed column is followed by its expression id, twice."""
    again = column(51, "again")
    once = project(FACT, (NEW, ref(K)))

    assert reached(project(once, (again, ref(NEW))), again) == ["fact.k"]


def test_through_a_lossless_cast() -> None:
    """A column cast to a wider type is compared in that type; the consumer is the narrow column."""
    wide = column(50, "wide", "bigint")
    plan, found = trace(project(FACT, (wide, cast(K, "bigint"))), wide, "bigint")

    assert targets(plan, found) == ["fact.k"]
    assert found.consumers[0].compared == "bigint"
    assert reached(FACT, cast(K, "bigint"), "bigint") == ["fact.k"]


@pytest.mark.parametrize(
    ("key", "kind", "why"),
    [
        (cast(BIG, "int"), "int", "column is cast with loss: bigint to int"),
        (cast(BIG, "int", "bigint"), "bigint", "column is cast with loss: bigint to int"),
        (cast(K, "bigint", "smallint", "int"), "int", "column is cast with loss: bigint to smallint"),
        (cast(K, "string"), "string", "column is cast with loss: int to string"),
    ],
)
def test_a_lossy_cast_stops_also_behind_a_wider_one(key: Expression, kind: str, why: str) -> None:
    """Two values that a cast makes one cannot be told apart afterwards, whatever it is cast to next."""
    assert stopped(FACT, key, kind) == why
    out = column(50, "out", kind)
    assert stopped(project(FACT, (out, key)), out, kind) == why


def test_a_lossy_cast_in_a_projection_hides_behind_a_wider_one_above_it() -> None:
    """Casts of several projections are judged each on its own."""
    narrow, wide = column(50, "narrow", "int"), column(51, "wide", "bigint")
    below = project(FACT, (narrow, cast(BIG, "int")))

    assert "with loss: bigint to int" in stopped(project(below, (wide, cast(narrow, "bigint"))), wide, "bigint")


@pytest.mark.parametrize(
    ("probe", "key"),
    [(FACT, computed(K, "(k + 1)")), (project(FACT, (NEW, computed(K, "(k + 1)"))), NEW)],
    ids=["in the clause", "in a projection"],
)
def test_computed_columns_stop(probe: Node, key: object) -> None:
    """A computed column is no column of a scan, and the reason names the computation."""
    assert stopped(probe, key) == "column is computed: (k + 1)"


def test_aggregates_pass_their_keys_only() -> None:
    """A group is made of rows of one key, so a filter on the key passes; one on a result does not."""
    total = column(50, "total", "int")
    grouped = aggregate(FACT, [K], (K, ref(K)), (total, computed(V, "sum(v)")))
    plan, found = trace(grouped)

    assert targets(plan, found) == ["fact.k"]
    assert found.consumers[0].shuffles == 1
    assert stopped(grouped, total) == "column is computed: sum(v)"


def test_an_aggregate_passes_a_renamed_and_widened_key() -> None:
    """What is put out may be a rename or a lossless cast of the grouping key."""
    wide = column(50, "wide", "bigint")

    assert reached(aggregate(FACT, [K], (wide, cast(K, "bigint"))), wide, "bigint") == ["fact.k"]


def test_an_aggregate_does_not_pass_a_plain_column_that_is_no_key() -> None:
    """A column beside the keys, or one grouped by a function of it, stops the filter."""
    why = "column is an aggregate, not a grouping key"

    assert stopped(aggregate(FACT, [V], (K, ref(K)))) == why
    assert stopped(aggregate(FACT, [computed(K)], (K, ref(K)))) == why
    assert stopped(aggregate(FACT, [], (K, ref(K)))) == why


def test_windows_pass_their_partition_keys_only() -> None:
    """Dropping whole partitions leaves the others as they were; dropping rows of one does not."""
    rank = column(50, "rank")
    plan, found = trace(window(FACT, [K, V], rank))

    assert targets(plan, found) == ["fact.k"]
    assert found.consumers[0].shuffles == 1
    assert stopped(window(FACT, [V], rank)) == "column is not a partition key of the window"
    assert stopped(window(FACT, [], rank)) == "column is not a partition key of the window"
    assert stopped(window(FACT, [K], rank), rank) == "column is not a partition key of the window"


def test_every_branch_of_a_union_is_reached_by_position() -> None:
    """Each branch has columns of its own; the filter goes to the one at the same place in each."""
    a, b = column(31, "a"), column(32, "b")
    joined = union((K, V), scan("first", K, V), scan("second", a, b))

    assert reached(joined) == ["first.k", "second.a"]
    assert reached(joined, V) == ["first.v", "second.b"]


def test_a_branch_that_stops_does_not_stop_the_others() -> None:
    """One branch below a LIMIT, one that is computed: the third is filtered all the same."""
    a, b = column(31, "a"), column(32, "b")
    stops = limit(scan("first", K))
    calculated = project(scan("second", a), (b, computed(a)))
    third = column(33, "c")

    assert reached(union((K,), stops, calculated, scan("third", third))) == ["third.c"]
    assert stopped(union((K,), stops, calculated)) == "below a LIMIT: which rows it keeps must not change"


LEFT_OK = ("INNER", "CROSS", "LEFT SEMI", "LEFT OUTER", "LEFT ANTI")
RIGHT_OK = ("INNER", "CROSS", "RIGHT OUTER")
FILLED = "below the side of an outer join that is filled with NULLs"


@pytest.mark.parametrize(
    "kind", ["INNER", "CROSS", "LEFT SEMI", "LEFT OUTER", "LEFT ANTI", "RIGHT OUTER", "FULL OUTER"]
)
def test_the_left_side_of_a_join_below(kind: str) -> None:
    """A filter goes down the left side unless that side may be filled up with NULLs."""
    below = join(FACT, SIDE, clause(V, SIDE_X), type=kind)
    if kind in LEFT_OK:
        assert reached(below) == ["fact.k"]
    else:
        assert stopped(below) == FILLED


@pytest.mark.parametrize("kind", ["INNER", "CROSS", "RIGHT OUTER", "LEFT OUTER", "FULL OUTER"])
def test_the_right_side_of_a_join_below(kind: str) -> None:
    """A filter goes down the right side unless that side may be filled up with NULLs."""
    below = join(FACT, SIDE, clause(V, SIDE_X), type=kind)
    if kind in RIGHT_OK:
        assert reached(below, SIDE_ID) == ["side.s_id"]
    else:
        assert stopped(below, SIDE_ID) == FILLED


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", ["fact.k", "side.s_id"]),
        ("LEFT SEMI", ["fact.k", "side.s_id"]),
        ("LEFT OUTER", ["fact.k"]),
        ("LEFT ANTI", ["fact.k"]),
    ],
)
def test_equality_carries_a_filter_to_the_other_side(kind: str, expected: list[str]) -> None:
    """Where a join keeps matches only, a filter on one side of its equality holds on the other too."""
    plan, found = trace(join(FACT, SIDE, clause(K, SIDE_ID), type=kind))

    assert targets(plan, found) == expected
    assert {consumer.shuffles for consumer in found.consumers} == {1}


def test_equality_carries_from_right_to_left() -> None:
    """The clause may name the filtered column on either side of the equality sign and of the join."""
    assert reached(join(FACT, SIDE, clause(SIDE_ID, K)), SIDE_ID) == ["fact.k", "side.s_id"]


@pytest.mark.parametrize(
    "conjunct",
    [
        clause(K, SIDE_ID, "<=>"),
        clause(K, SIDE_ID, "<"),
        clause(K, computed(SIDE_ID)),
        clause(computed(K), SIDE_ID),
        clause(cast(K, "bigint"), cast(SIDE_ID, "bigint")),
    ],
    ids=["null-safe", "less", "computed", "computed here", "cast"],
)
def test_only_plain_equality_carries_a_filter_across(conjunct: Conjunct) -> None:
    """Other comparisons, and computed or cast columns, do not make two columns one."""
    assert reached(join(FACT, SIDE, conjunct)) == ["fact.k"]


def test_equality_of_two_types_does_not_carry_a_filter_across() -> None:
    """Plain columns of different types are left alone."""
    wide = column(21, "s_id", "bigint")

    assert reached(join(FACT, scan("side", wide), clause(K, wide))) == ["fact.k"]


def test_the_other_side_may_stop_while_this_one_does_not() -> None:
    """An equal column below a LIMIT is not filtered; the column itself is."""
    assert reached(join(FACT, limit(SIDE), clause(K, SIDE_ID))) == ["fact.k"]


def test_this_side_may_stop_while_the_other_does_not() -> None:
    """The equal column of the other side is filtered though the column itself is below a LIMIT."""
    assert reached(join(limit(FACT), SIDE, clause(K, SIDE_ID))) == ["side.s_id"]


def test_a_filter_does_not_reach_one_scan_column_twice() -> None:
    """Two ways to one scan column count once."""
    both = join(FACT, SIDE, clause(K, SIDE_ID), clause(SIDE_ID, K))

    assert reached(both) == ["fact.k", "side.s_id"]


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (limit(FACT), "below a LIMIT: which rows it keeps must not change"),
        (where(limit(FACT)), "below a LIMIT: which rows it keeps must not change"),
        (other("Sample", FACT), "below Sample"),
        (other("Expand", FACT), "below Expand"),
        (other("MapInPandas", FACT), "below MapInPandas"),
        (other("ResolvedHint", FACT, SIDE), "below ResolvedHint"),
        (project(FACT, (K, ref(K)), deterministic=False), "below something non-deterministic"),
        (aggregate(FACT, [K], (K, ref(K)), deterministic=False), "below something non-deterministic"),
        (window(FACT, [K], deterministic=False), "below something non-deterministic"),
        (sort(FACT, deterministic=False), "below something non-deterministic"),
        (
            where(FACT, Conjunct("other", "rand() < 0.5", deterministic=False), deterministic=False),
            "below something non-deterministic",
        ),
        (sort(where(project(FACT, (K, ref(K)), deterministic=False))), "below something non-deterministic"),
    ],
    ids=[
        "limit",
        "filter over limit",
        "sample",
        "expand",
        "python",
        "two children",
        "project",
        "aggregate",
        "window",
        "sort",
        "filter",
        "deep",
    ],
)
def test_the_walk_stops(probe: Node, why: str) -> None:
    """Whatever looks at rows together, draws at random or is not known stops the filter, with the reason."""
    assert stopped(probe) == why


def test_a_chain_of_everything_that_may_be_passed() -> None:
    """Sort over window over aggregate over join over a widened column: the filter reaches both sides of the join."""
    wide = column(50, "wide", "bigint")
    widened = project(join(FACT, SIDE, clause(K, SIDE_ID)), (wide, cast(K, "bigint")), (V, ref(V)))
    grouped = aggregate(widened, [wide, V], (wide, ref(wide)), (V, ref(V)))
    plan, found = trace(sort(window(grouped, [wide], column(51, "rank"))), wide, "bigint")

    assert targets(plan, found) == ["fact.k", "side.s_id"]
    assert {(consumer.compared, consumer.shuffles) for consumer in found.consumers} == {("bigint", 4)}


def test_a_generated_column_comes_from_no_scan() -> None:
    """The column that a generator adds is not one of the scan's."""
    assert stopped(other("Generate", FACT, added=(NEW,)), NEW) == "the column does not come from a scan"


def test_dropped_filters_are_left_as_they_are() -> None:
    """A filter that another rule has dropped keeps its first reason and gets no consumer."""
    build = column(99, "id", "bigint")
    root = join(FACT, scan("dim", build), clause(K, cast(build, "int")), type="RIGHT OUTER")
    (found,) = planned(root, TRACE).filters

    assert found.reason == "build column is cast with loss: bigint to int"
    assert found.consumers == ()
