"""Each comparison between the two sides of a join gets a filter in each direction that the join allows."""

from __future__ import annotations

import pytest

from tests.plan.builders import ADD, cast, clause, column, computed, directions, join, literal, planned, scan, where

K, V, ID, X = column(1, "k"), column(2, "v"), column(11, "id"), column(12, "x")
FACT, DIM = scan("fact", K, V), scan("dim", ID, X)
TO_LEFT, TO_RIGHT = ("fact", "=", "id"), ("dim", "=", "k")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", [TO_LEFT, TO_RIGHT]),
        ("CROSS", [TO_LEFT, TO_RIGHT]),
        ("LEFT SEMI", [TO_LEFT, TO_RIGHT]),
        ("LEFT OUTER", [TO_RIGHT]),
        ("LEFT ANTI", [TO_RIGHT]),
        ("RIGHT OUTER", [TO_LEFT]),
        ("FULL OUTER", []),
        ("EXISTENCE", []),
    ],
)
def test_the_join_type_says_which_side_may_be_filtered(kind: str, expected: list[tuple[str, str, str]]) -> None:
    """A side whose unmatched rows the join puts out is never filtered; every other side is."""
    plan = planned(join(FACT, DIM, clause(K, ID), type=kind), ADD)

    assert directions(plan) == expected
    assert [f.id for f in plan.filters] == [f"df_{i}" for i in range(len(expected))]
    assert all(f.is_alive and f.clause == "k = id" and f.join == 0 for f in plan.filters)


@pytest.mark.parametrize(
    ("op", "flipped"), [("=", "="), ("<=>", "<=>"), ("<", ">"), ("<=", ">="), (">", "<"), (">=", "<=")]
)
def test_operators_are_flipped_for_the_other_direction(op: str, flipped: str) -> None:
    """A filter's operator reads probe-op-build, so the filter to the right side has it turned around."""
    plan = planned(join(FACT, DIM, clause(K, ID, op)), ADD)

    assert directions(plan) == [("fact", op, "id"), ("dim", flipped, "k")]


@pytest.mark.parametrize(("op", "flipped"), [("=", "="), ("<", ">"), (">=", "<=")])
def test_a_clause_may_be_written_either_way_around(op: str, flipped: str) -> None:
    """`id < k` between fact and dim plans the same as `k > id`."""
    written = planned(join(FACT, DIM, clause(ID, K, op)), ADD)
    turned = planned(join(FACT, DIM, clause(K, ID, flipped)), ADD)

    assert directions(written) == directions(turned) == [("fact", flipped, "id"), ("dim", op, "k")]


def test_each_clause_gets_its_own_filters() -> None:
    """Two clauses of one inner join give four filters, numbered in order."""
    plan = planned(join(FACT, DIM, clause(K, ID), clause(V, X, "<")), ADD)

    assert directions(plan) == [TO_LEFT, TO_RIGHT, ("fact", "<", "x"), ("dim", ">", "v")]
    assert [f.id for f in plan.filters] == ["df_0", "df_1", "df_2", "df_3"]


def test_joins_are_numbered_together() -> None:
    """Filters of nested joins have names of their own, outer join first, and name their join."""
    inner = join(FACT, DIM, clause(K, ID), type="LEFT OUTER")
    plan = planned(join(inner, scan("third", column(21, "t")), clause(V, column(21, "t")), type="RIGHT OUTER"), ADD)

    assert [(f.id, f.join) for f in plan.filters] == [("df_0", 0), ("df_1", 1)]


def test_a_computed_build_column_gives_no_filter_and_a_computed_probe_column_does() -> None:
    """Values can be collected of plain columns only; what a computed probe column allows is decided later."""
    plan = planned(join(FACT, DIM, clause(K, computed(ID, "(id + 1)"))), ADD)

    assert directions(plan) == [("dim", "=", "k")]
    assert plan.unfiltered == ()


def test_a_lossless_cast_of_the_build_column_is_compared_in_the_wider_type() -> None:
    """`big = CAST(id AS BIGINT)` is compared as bigint in both directions."""
    big = column(1, "big", "bigint")
    plan = planned(join(scan("fact", big), DIM, clause(big, cast(ID, "bigint"))), ADD)

    assert [(f.compared, f.is_alive) for f in plan.filters] == [("bigint", True), ("bigint", True)]


@pytest.mark.parametrize(
    ("stored", "steps", "step"),
    [
        ("bigint", ("int",), "bigint to int"),
        ("bigint", ("int", "bigint"), "bigint to int"),
        ("double", ("int", "bigint"), "double to int"),
        ("string", ("int",), "string to int"),
        ("timestamp", ("date", "timestamp"), "timestamp to date"),
    ],
)
def test_a_lossy_cast_of_the_build_column_drops_the_filter(stored: str, steps: tuple[str, ...], step: str) -> None:
    """A cast that loses something is found at each step, also where a wider cast after it hides it."""
    build = column(11, "id", stored)
    probe = column(1, "k", steps[-1])
    plan = planned(join(scan("fact", probe), scan("dim", build), clause(probe, cast(build, *steps))), ADD)

    to_fact = plan.filters[0]
    assert to_fact.reason == f"build column is cast with loss: {step}"
    assert plan.filters[1].is_alive


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (join(FACT, DIM, clause(K, ID), type="FULL OUTER"), "full outer join: unmatched rows of both sides must stay"),
        (join(FACT, DIM, clause(K, ID), type="EXISTENCE"), "existence join: unmatched rows of both sides must stay"),
        (join(FACT, DIM), "no join condition"),
        (join(FACT, DIM, clause(K, literal("7"))), "no comparison between the two sides: k = 7"),
        (join(FACT, DIM, clause(K, V)), "no comparison between the two sides: k = v"),
        (join(FACT, DIM, clause(K, ID, "other")), "no comparison between the two sides: k other id"),
        (join(FACT, DIM, clause(K, ID, deterministic=False)), "no comparison between the two sides: k = id"),
        (
            join(FACT, DIM, clause(computed(K, "(k + 1)"), computed(ID, "(id * 2)"))),
            "build column is computed: (k + 1)",
        ),
    ],
    ids=["full outer", "existence", "no condition", "literal", "one side", "not a comparison", "rand", "computed"],
)
def test_a_join_without_a_filter_says_why(root: object, why: str) -> None:
    """Each join that gets no filter has one sentence that says why not."""
    plan = planned(root, ADD)  # type: ignore[arg-type]

    assert plan.filters == ()
    assert plan.unfiltered == ((0, why),)


def test_clauses_that_compare_nothing_do_not_stop_the_others() -> None:
    """One usable clause is enough, whatever stands beside it."""
    plan = planned(join(FACT, DIM, clause(K, V), clause(K, ID), clause(K, ID, "other")), ADD)

    assert directions(plan) == [TO_LEFT, TO_RIGHT]


def test_an_expression_over_both_sides_is_no_comparison_between_them() -> None:
    """`k = v + x` reads both sides on the right of the clause: no filter."""
    mixed = computed(V, "(v + x)")
    both = type(mixed)(references=frozenset({V.id, X.id}), sql=mixed.sql)

    assert planned(join(FACT, DIM, clause(K, both)), ADD).filters == ()


def test_a_plan_without_a_join_has_nothing_to_plan() -> None:
    """No join: no filter and no reason."""
    plan = planned(where(FACT), ADD)

    assert (plan.filters, plan.unfiltered) == ((), ())
