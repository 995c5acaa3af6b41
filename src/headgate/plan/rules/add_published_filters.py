"""Give each column that a person publishes values for a filter, from the mark on it down its own side of the plan.

    Filter published(user_id)      ->   pub_0: user_id among what is published
      Scan events

The mark stands above the DataFrame that the values were published to, or where Spark has moved it towards the scan.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.plan.context import RuleContext
from headgate.plan.kinds import Feed, Op
from headgate.plan.nodes import Conjunct, Filter, PlannedFilter, QueryPlan


def add_published_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Plan a filter for each mark; several on one scan are ANDed, as all filters are."""
    del context
    marks = [
        (node, test)
        for node in plan.root.walk()
        if isinstance(node, Filter)
        for test in node.conjuncts
        if test.op == Op.PUBLISHED
    ]
    added = tuple(_planned(node, test, number) for number, (node, test) in enumerate(marks))
    return replace(plan, filters=(*plan.filters, *added))


def _planned(node: Filter, mark: Conjunct, number: int) -> PlannedFilter:
    assert mark.left is not None
    column = None if mark.left.column is None else node.find_column(mark.left.column)
    return PlannedFilter(
        id=f"pub_{number}",
        join=-1,
        op=Op.EQUAL,
        build=node.id,
        build_column=-1 if column is None else column.id,
        probe=node.id,
        probe_expression=mark.left,
        compared="" if column is None else column.type,
        clause=f"published: {mark.published}",
        feed=Feed.PUBLISHED,
        published=mark.published,
        reason="" if column is not None else f"the column is computed: {mark.sql}; publish values for a plain column",
    )
