"""Carry each filter down its probe side to the scan columns it can be applied to.

    Join                                df_0: fact.k = {dim.id}   ->   consumer: scan fact, column k
      Project a.k AS key                through renames, filters, sorts, casts that lose nothing,
        Filter v > 0                    aggregate and window keys, every branch of a union,
          Scan fact                     and the sides of joins where that is legal

A row may be dropped early only if every row made from it would be dropped by the join, so the walk stops at a LIMIT,
at computed columns, at anything non-deterministic, and at the side of an outer join that is filled up with NULLs.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.plan.casts import lossy_cast
from headgate.plan.context import RuleContext
from headgate.plan.nodes import (
    Aggregate,
    Consumer,
    Expression,
    Filter,
    Join,
    Limit,
    Node,
    Other,
    PlannedFilter,
    Project,
    QueryPlan,
    Repartition,
    Scan,
    Sort,
    Union,
    Window,
)

_PASS_LEFT = frozenset({"INNER", "CROSS", "LEFT SEMI", "LEFT OUTER", "LEFT ANTI"})
_PASS_RIGHT = frozenset({"INNER", "CROSS", "RIGHT OUTER"})
_EQUALS_BOTH = frozenset({"INNER", "LEFT SEMI"})
_TRANSPARENT = frozenset({"Generate", "SubqueryAlias", "ResolvedHint", "View"})
_RANDOM = "the scan is below something non-deterministic, such as rand(), which needs every row"


class _Stopped(Exception):
    """The walk ended above a scan; the text says why."""


def trace_to_scans(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Find the consumers of each filter; a filter with none is dropped with the reason."""
    del context
    nodes = plan.nodes()
    return replace(plan, filters=tuple(_traced(planned, nodes) for planned in plan.filters))


def trace_column(root: Node, column: int, type: str) -> list[Consumer]:
    """Return the scan columns that a column of a plan comes from, where dropping a row drops only whole rows of it."""
    return list(dict.fromkeys(_trace(root, column, type, 0, [])))


def _traced(planned: PlannedFilter, nodes: dict[int, Node]) -> PlannedFilter:
    if not planned.is_alive or planned.consumers:
        return planned
    reasons: list[str] = []
    try:
        column = _plain(planned.probe_expression, nodes[planned.probe])
        consumers = _trace(nodes[planned.probe], column, planned.compared, 0, reasons)
    except _Stopped as stopped:
        return replace(planned, reason=str(stopped))
    if unique := tuple(dict.fromkeys(consumers)):
        return replace(planned, consumers=unique)
    return replace(planned, reason=reasons[0] if reasons else "the column does not come from a scan")


def _trace(node: Node, column: int, compared: str, shuffles: int, reasons: list[str]) -> list[Consumer]:
    try:
        match node:
            case Scan():
                return _at_scan(node, column, compared, shuffles)
            case Limit():
                raise _Stopped("the scan is below a LIMIT: a filter would change which rows the LIMIT keeps")
            case Union():
                return _through_union(node, column, compared, shuffles, reasons)
            case Join():
                return _through_join(node, column, compared, shuffles, reasons)
            case Project() | Aggregate():
                inner = _through_columns(node, column)
                moved = shuffles + isinstance(node, Aggregate)
                return _trace(node.children[0], inner, compared, moved, reasons)
        _check_passes(node, column)
        moved = shuffles + isinstance(node, Window | Sort | Repartition)
        return _trace(node.children[0], column, compared, moved, reasons)
    except _Stopped as stopped:
        reasons.append(str(stopped))
        return []


def _at_scan(scan: Scan, column: int, compared: str, shuffles: int) -> list[Consumer]:
    if scan.find_column(column) is None:
        raise _Stopped("the column does not come from a scan")
    return [Consumer(scan.id, column, compared, shuffles)]


def _through_columns(node: Project | Aggregate, column: int) -> int:
    """Return the column of the child that this output column is, through renames and casts."""
    if not node.deterministic and not (isinstance(node, Project) and node.is_numbered):
        raise _Stopped(_RANDOM)
    expression = next((e for number, e in node.columns if number == column), None)
    if expression is None:
        raise _Stopped("the column does not come from a scan")
    plain = _plain(expression, node.children[0])
    if isinstance(node, Aggregate) and plain not in {key.column for key in node.keys}:
        raise _Stopped("the column is an aggregate, not a grouping key, so the aggregate needs every row")
    return plain


def _plain(expression: Expression, below: Node) -> int:
    """Return the column of the node below that an expression stands for: a bare one, or one cast without loss."""
    inner, steps = expression.unwrapped()
    column = None if inner.column is None else below.find_column(inner.column)
    if column is None:
        raise _Stopped(f"the column is computed: {inner.sql or expression.type}; filters reach only plain columns")
    if lost := lossy_cast(column.type, steps):
        raise _Stopped(lost)
    return column.id


def _check_passes(node: Node, column: int) -> None:
    if not node.deterministic and not isinstance(node, Filter):
        raise _Stopped(_RANDOM)
    match node:
        case Filter():
            if any(not conjunct.deterministic for conjunct in node.conjuncts):
                raise _Stopped(_RANDOM)
        case Window():
            if column not in {key.column for key in node.keys}:
                raise _Stopped("the column is not a partition key of the window, so the window needs every row")
        case Other(name=name):
            if name not in _TRANSPARENT or len(node.children) != 1:
                raise _Stopped(f"the scan is below {name}, and Headgate does not move filters below that")
    if node.children[0].find_column(column) is None:
        raise _Stopped("the column does not come from a scan")


def _through_union(node: Union, column: int, compared: str, shuffles: int, reasons: list[str]) -> list[Consumer]:
    """Each branch may be filtered on its own: dropping rows of one does not touch the others."""
    position = next(i for i, out in enumerate(node.output) if out.id == column)
    found: list[Consumer] = []
    for child in node.children:
        found += _trace(child, child.output[position].id, compared, shuffles, reasons)
    return found


def _through_join(node: Join, column: int, compared: str, shuffles: int, reasons: list[str]) -> list[Consumer]:
    if any(not conjunct.deterministic for conjunct in node.conjuncts):
        raise _Stopped(_RANDOM)
    found: list[Consumer] = []
    stopped = "the scan is on the side of an outer join that is filled with NULLs: dropped rows would become NULLs"
    for side, passing in ((node.left, _PASS_LEFT), (node.right, _PASS_RIGHT)):
        here = column if side.find_column(column) else None
        if here is not None and node.type in passing:
            found += _trace(side, here, compared, shuffles + 1, reasons)
        elif here is None and node.type in _EQUALS_BOTH and (twin := node.equal_column(column, side)) is not None:
            found += _trace(side, twin.id, compared, shuffles + 1, [])
    if not found and not reasons:
        raise _Stopped(stopped)
    return found
