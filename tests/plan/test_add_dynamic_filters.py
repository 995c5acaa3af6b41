"""What no plan of Spark's has, and so no fixture either, is left alone all the same."""

from __future__ import annotations

from dataclasses import replace

from headgate.plan import QueryPlan, RuleContext
from headgate.plan.kinds import Op
from headgate.plan.nodes import Join
from headgate.plan.rules.add_dynamic_filters import add_dynamic_filters
from tests.plan.fixture_text import parse_plan


def test_two_sides_without_a_known_comparison_between_them() -> None:
    """The reader gives two sides to comparisons only; should it ever give more, there is no filter."""
    join = parse_plan("Join INNER k = id\n  Scan fact(k int)\n  Scan dim(id int)")
    assert isinstance(join, Join)
    odd = replace(join, conjuncts=(replace(join.conjuncts[0], op=Op.OTHER),))
    plan = add_dynamic_filters(QueryPlan(odd), RuleContext())

    assert plan.filters == ()
    assert plan.unfiltered == ((0, "the join condition is not a plain comparison between its two sides: k = id"),)
