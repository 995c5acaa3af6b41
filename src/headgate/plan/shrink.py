"""Take the keys of a filter from a part of its build side, where that is cheaper and says as much.

    lineitem.l_orderkey <- {orders join customer}      becomes      lineitem.l_orderkey <- {orders}

An inner join only removes keys, so a part of it has all of them, and perhaps more: that is safe. It says as much if
what was joined to it removes nothing by itself, or if a filter brings that to the part's scans (customer -> orders).
A column that the join makes equal serves as well: of ``lineitem join part`` by part key, part alone has all keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from headgate.plan.kinds import EQUALITIES, Op
from headgate.plan.nodes import Filter, Join, Node, PlannedFilter, Project
from headgate.plan.taps import WHOLE_NUMBERS

Selects = Callable[[Node], bool]


def shrunk(
    planned: PlannedFilter, nodes: dict[int, Node], alive: Iterable[PlannedFilter], selects: Selects
) -> PlannedFilter:
    """Return the filter with the smallest part of its build side that still says as much."""
    if planned.op not in EQUALITIES or planned.build_once_only:
        return planned
    build, others = nodes[planned.build], [f for f in alive if f.id != planned.id]
    best = build, planned.build_column
    for part, column, joined in _parts(build, planned.build_column, ()):
        if part.scanned_bytes() < best[0].scanned_bytes() and all(
            not selects(side) or _brings(others, join, part) for join, side in joined
        ):
            best = part, column
    return replace(planned, build=best[0].id, build_column=best[1])


def _brings(filters: list[PlannedFilter], join: Join, part: Node) -> bool:
    """Whether a filter of the join reaches a scan of the part."""
    scans = {scan.id for scan in part.scans()}
    return any(f.join == join.id and any(to.scan in scans for to in f.consumers) for f in filters)


_Joined = tuple[tuple[Join, Node], ...]


def _parts(node: Node, column: int, joined: _Joined) -> Iterator[tuple[Node, int, _Joined]]:
    """Yield the sides of joins that have all keys of a node: each with its column and what was joined to it."""
    match node:
        case Project(children=(child,)) if child.find_column(column):
            yield from _parts(child, column, joined)
        case Filter(children=(child,), conjuncts=tests) if all(test.op == Op.IS_NOT_NULL for test in tests):
            yield from _parts(child, column, joined)
        case Join(type="INNER", left=left, right=right):
            for side, other in ((left, right), (right, left)):
                twin = node.equal_column(column, side)
                equal = twin.id if twin is not None and twin.type in WHOLE_NUMBERS else None
                here = column if side.find_column(column) else equal
                if here is not None:
                    all_joined = (*joined, (node, other))
                    yield side, here, all_joined
                    yield from _parts(side, here, all_joined)
