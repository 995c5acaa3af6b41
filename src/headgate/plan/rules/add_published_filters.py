"""Give each column that a person publishes values for a filter of its scan.

    Scan events, marked with publication 7 on user_id     ->     pub_0: user_id among what is published

The mark was put on the scan by `headgate.publish`, which traced the column of a DataFrame down to it.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.plan.context import RuleContext
from headgate.plan.kinds import Feed, Op
from headgate.plan.nodes import Column, Consumer, Expression, PlannedFilter, QueryPlan, Scan


def add_published_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Plan a filter for each mark; several on one scan are ANDed, as all filters are."""
    del context
    marks = [
        (scan, publication, column)
        for scan in plan.root.scans()
        for publication, name in scan.published
        for column in scan.output
        if column.name == name
    ]
    added = tuple(_planned(scan, name, column, number) for number, (scan, name, column) in enumerate(marks))
    return replace(plan, filters=(*plan.filters, *added))


def _planned(scan: Scan, publication: str, column: Column, number: int) -> PlannedFilter:
    return PlannedFilter(
        id=f"pub_{number}",
        join=-1,
        op=Op.EQUAL,
        build=scan.id,
        build_column=column.id,
        probe=scan.id,
        probe_expression=Expression(frozenset({column.id}), column=column.id),
        compared=column.type,
        clause=f"published: {publication}",
        consumers=(Consumer(scan.id, column.id, column.type),),
        feed=Feed.PUBLISHED,
        published=publication,
    )
