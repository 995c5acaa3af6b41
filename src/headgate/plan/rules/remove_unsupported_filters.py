"""Drop filters that could not be collected or applied soundly: wrong types, unstable builds, no files.

    df_0: fact.k = {JDBC.id}             dropped: the build side reads JDBC, whose rows may differ next time
    df_1: fact.k = {dim limit 5}         kept, once only

The build side runs at planning, so it must give the same rows when read again: file relations, local data, ranges,
caches. A build with a LIMIT, a window, a subquery or an order-dependent aggregate may be used only if its one run also
takes the place of the build side in the query (``build_once_only``).
"""

from __future__ import annotations

from dataclasses import replace

from headgate.domain import loses_nothing, value_type
from headgate.errors import InvalidFilter
from headgate.plan.casts import loss
from headgate.plan.context import RuleContext
from headgate.plan.kinds import EQUALITIES, Can, Feed, Source
from headgate.plan.nodes import Aggregate, Consumer, Limit, Node, Other, PlannedFilter, QueryPlan, Scan, Window

_NAMES = {
    Source.JDBC: "JDBC",
    Source.RDD: "an RDD",
}
BY_FIELD_ID = "Headgate finds columns by name, not by field id (spark.sql.parquet.fieldId.read.enabled=true)"
_DIFFERS = "whose rows may differ next time"
_TARGET = "the build side is the table that the statement changes, which is not read ahead of it"
_STABLE_NODES = frozenset({"Generate", "Expand", "SubqueryAlias", "ResolvedHint"})


def remove_unsupported_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Drop each filter that cannot be made or used, with one sentence why."""
    nodes = plan.nodes()
    return replace(plan, filters=tuple(_checked(planned, nodes, context) for planned in plan.filters))


def _checked(planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext) -> PlannedFilter:
    if not planned.is_alive:
        return planned
    build = nodes[planned.build]
    reason = (
        ""
        if planned.feed is Feed.PUBLISHED
        else (
            _build_reason(build)
            or _type_reason(build, planned.build_column, planned.compared)
            or _op_reason(planned, context)
        )
    )
    if reason:
        return replace(planned, reason=reason)
    reasons = {consumer: _consumer_reason(consumer, nodes[consumer.scan]) for consumer in planned.consumers}
    usable = tuple(consumer for consumer, why in reasons.items() if not why)
    if not usable:
        return replace(planned, reason=next(iter(reasons.values())))
    once_only = planned.feed is not Feed.PUBLISHED and _runs_differently_twice(build)
    return replace(planned, consumers=usable, build_once_only=once_only)


def _build_reason(build: Node) -> str:
    reason = _why_not_ahead(build)
    return _TARGET if reason and any(scan.is_target for scan in build.scans()) else reason


def _why_not_ahead(build: Node) -> str:
    for node in build.walk():
        if node.streaming:
            return f"the build side reads a stream, {_DIFFERS}"
        if not node.deterministic:
            return "the build side is not deterministic: its rows may differ next time"
        if node.has_unstable_subquery:
            return f"the build side has a subquery, {_DIFFERS}"
        if isinstance(node, Scan) and Can.REREAD not in node.can:
            return _unstable(node)
        if isinstance(node, Other) and node.name not in _STABLE_NODES:
            return f"the build side contains {node.name}, which Headgate does not run ahead of the query"
    return ""


def _unstable(scan: Scan) -> str:
    if scan.source is Source.CACHE:
        return "the build side reads cached data that is not loaded, or may differ when computed again; load it first"
    return f"the build side reads {_NAMES.get(scan.source, scan.table)}, {_DIFFERS}; save it as Parquet to get a filter"


def _type_reason(node: Node, column: int, compared: str) -> str:
    """A column can be filtered by values of the compared type only if casting it to that type loses nothing."""
    found = node.find_column(column)
    stored = found.type if found else "?"
    try:
        fits = loses_nothing(value_type(stored), value_type(compared))
    except InvalidFilter:
        return f"Headgate cannot filter by columns of type {stored}"
    return "" if fits else loss(stored, compared)


def _op_reason(planned: PlannedFilter, context: RuleContext) -> str:
    if planned.op not in EQUALITIES and not context.range_filters:
        return "range filters are turned off: spark.headgate.rangeFilters=false"
    return ""


def _consumer_reason(consumer: Consumer, scan: Node) -> str:
    assert isinstance(scan, Scan)
    if Can.PRUNE not in scan.can and scan.source is Source.NARROWED:
        return "Headgate has already narrowed this scan"
    if scan.is_told and scan.compares is not None and consumer.column not in scan.compares:
        return f"{scan.table} may compare the values of this column otherwise than Spark does"
    if Can.PRUNE not in scan.can and not scan.is_told:
        if scan.by_field_id:
            return BY_FIELD_ID
        return f"the scan of {scan.format or scan.table} has no file statistics that Headgate can use"
    return _type_reason(scan, consumer.column, consumer.compared)


def _runs_differently_twice(build: Node) -> bool:
    return any(
        isinstance(node, Limit | Window) or node.has_subquery or (isinstance(node, Aggregate) and not node.repeatable)
        for node in build.walk()
    )
