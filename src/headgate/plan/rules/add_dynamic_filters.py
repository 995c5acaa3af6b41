"""Give each comparison between the two sides of a join a filter from one side to the other, where the join allows it.

    Join INNER  fact.k = dim.id      ->   df_0: fact.k = {dim.id}      df_1: dim.id = {fact.k}

Which side may be filtered follows from which side's unmatched rows the join puts out: those must stay.
When it does nothing: a full outer or existence join, a join without a comparison between its sides.
"""

from __future__ import annotations

from headgate.plan.casts import lossy_cast
from headgate.plan.context import RuleContext
from headgate.plan.kinds import Op
from headgate.plan.nodes import Conjunct, Expression, Join, Node, PlannedFilter, QueryPlan

FILTERS_LEFT = frozenset({"INNER", "CROSS", "LEFT SEMI", "RIGHT OUTER"})
FILTERS_RIGHT = frozenset({"INNER", "CROSS", "LEFT SEMI", "LEFT OUTER", "LEFT ANTI"})
FLIPPED = {
    Op.EQUAL: Op.EQUAL,
    Op.EQUAL_NULL_SAFE: Op.EQUAL_NULL_SAFE,
    Op.LESS: Op.GREATER,
    Op.LESS_OR_EQUAL: Op.GREATER_OR_EQUAL,
    Op.GREATER: Op.LESS,
    Op.GREATER_OR_EQUAL: Op.LESS_OR_EQUAL,
}


def add_dynamic_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Plan a filter for each clause and each legal direction; say why for each join that gets none."""
    del context
    filters: list[PlannedFilter] = []
    unfiltered: list[tuple[int, str]] = []
    for node in plan.root.walk():
        if isinstance(node, Join):
            found = _filters_of(node, len(filters))
            filters += found
            if not found:
                unfiltered.append((node.id, _why_none(node)))
    return QueryPlan(plan.root, tuple(filters), tuple(unfiltered))


def _filters_of(join: Join, first: int) -> list[PlannedFilter]:
    found: list[PlannedFilter] = []
    for conjunct in join.conjuncts:
        if (sides := _sides(join, conjunct)) is None:
            continue
        left, right, op = sides
        if join.type in FILTERS_LEFT:
            found += _planned(join, op, (join.left, left), (join.right, right), first + len(found), conjunct)
        if join.type in FILTERS_RIGHT:
            found += _planned(join, FLIPPED[op], (join.right, right), (join.left, left), first + len(found), conjunct)
    return found


def _sides(join: Join, conjunct: Conjunct) -> tuple[Expression, Expression, Op] | None:
    """Return ``left op right`` with each expression over its own side of the join."""
    left, right, op = conjunct.left, conjunct.right, conjunct.op
    if left is None or right is None or op not in FLIPPED or not conjunct.deterministic:
        return None
    if not left.references or not right.references:
        return None
    ours = {column.id for column in join.left.output}
    theirs = {column.id for column in join.right.output}
    if left.references <= ours and right.references <= theirs:
        return left, right, op
    if left.references <= theirs and right.references <= ours:
        return right, left, FLIPPED[op]
    return None


def _planned(
    join: Join, op: Op, probe: tuple[Node, Expression], build: tuple[Node, Expression], number: int, conjunct: Conjunct
) -> list[PlannedFilter]:
    (probe_node, probe_expression), (build_node, build_expression) = probe, build
    inner, steps = build_expression.unwrapped()
    column = None if inner.column is None else build_node.find_column(inner.column)
    if column is None:
        return []
    return [
        PlannedFilter(
            id=f"df_{number}",
            join=join.id,
            op=op,
            build=build_node.id,
            build_column=column.id,
            probe=probe_node.id,
            probe_expression=probe_expression,
            compared=steps[-1] if steps else column.type,
            clause=conjunct.sql,
            reason=lossy_cast(column.type, steps, "the build column"),
        )
    ]


def _why_none(join: Join) -> str:
    if join.type not in FILTERS_LEFT | FILTERS_RIGHT:
        return f"{join.type.lower()} join: it keeps unmatched rows, so neither side can be filtered"
    if not join.conjuncts:
        return "the join has no condition"
    for conjunct in join.conjuncts:
        if (sides := _sides(join, conjunct)) is not None:
            computed = next((side.unwrapped()[0].sql for side in sides[:2] if side.unwrapped()[0].sql), conjunct.sql)
            return f"the join column is computed: {computed}; join on a plain column to get a filter"
    return f"the join condition is not a plain comparison between its two sides: {join.conjuncts[0].sql}"
