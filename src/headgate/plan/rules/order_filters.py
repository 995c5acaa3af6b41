"""Put the build sides in order: a build whose scans other filters narrow runs after the builds of those filters.

    region -> nation -> supplier -> lineitem      waves 0, 1, 2

Builds of one wave do not depend on each other and run side by side. Filters that wait for each other in a circle cannot
all be waited for: the one with the costliest build runs in the background, until the circle is open. The query does not
wait for it, and applies it when it arrives; with ``spark.headgate.nonBlocking=false`` it is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.plan.context import RuleContext
from headgate.plan.kinds import Feed
from headgate.plan.nodes import Node, PlannedFilter, QueryPlan


def order_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Give each living filter its wave."""
    nodes = plan.nodes()
    filters = {planned.id: planned for planned in plan.filters}
    waiting = {planned.build for planned in plan.filters if planned.is_awaited}
    wave = 0
    while waiting:
        needs = {build: _needed(build, filters, nodes) & waiting for build in waiting}
        ready = {build for build in waiting if not needs[build]}
        if not ready:
            costliest = max(_in_a_circle(needs), key=lambda build: (nodes[build].scanned_bytes(), build))
            _open_circle(filters, costliest, non_blocking=context.non_blocking)
            waiting.discard(costliest)
            continue
        for planned in list(filters.values()):
            if planned.is_awaited and planned.build in ready:
                filters[planned.id] = replace(planned, wave=wave)
        waiting -= ready
        wave += 1
    return replace(plan, filters=tuple(filters.values()))


def _in_a_circle(needs: dict[int, set[int]]) -> set[int]:
    """Return the builds that wait for themselves in the end; others only wait behind them."""
    found = set()
    for start in needs:
        reached, ahead = set(), set(needs[start])
        while ahead:
            reached |= ahead
            ahead = {further for build in ahead for further in needs[build]} - reached
        if start in reached:
            found.add(start)
    return found


def _needed(build: int, filters: dict[str, PlannedFilter], nodes: dict[int, Node]) -> set[int]:
    scans = {scan.id for scan in nodes[build].scans()}
    return {
        planned.build
        for planned in filters.values()
        if planned.is_awaited
        and planned.build != build
        and any(consumer.scan in scans for consumer in planned.consumers)
    }


def _open_circle(filters: dict[str, PlannedFilter], build: int, *, non_blocking: bool) -> None:
    why = "the costliest of several filters that wait for each other; spark.headgate.nonBlocking=true applies it late"
    for planned in list(filters.values()):
        if planned.is_awaited and planned.build == build:
            changed = replace(planned, feed=Feed.BACKGROUND) if non_blocking else replace(planned, reason=why)
            filters[planned.id] = changed
