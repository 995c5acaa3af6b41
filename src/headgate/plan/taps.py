"""Which filters may be tapped: fed by their build side while the query itself runs it.

    lineitem.l_orderkey = {orders where o_date > …}     both large: nobody runs orders twice, its keys are noted

A tap may report only if it surely sees the end of its input. That is so below the shuffle of an inner join whose sides
are both too large to broadcast, since map tasks of a shuffle read all they are given. And it helps only if it reports
before the probe side is read: Spark starts all scans of a query at once, so a build side that shuffles by itself would
come after them.
"""

from __future__ import annotations

from headgate.plan.kinds import Op
from headgate.plan.nodes import Column, Filter, Join, Node, PlannedFilter, Project, Scan

# what a tap or a gate knows how to read: whole numbers, and what is one inside Spark
WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "date", "timestamp"})


def may_tap(planned: PlannedFilter, nodes: dict[int, Node], broadcast_bytes: int) -> bool:
    """Whether a filter's build side can be tapped."""
    join = nodes[planned.join]
    if not _is_one_stage(nodes[planned.build], broadcast_bytes):
        return False
    if not isinstance(join, Join) or join.type != "INNER" or planned.op != Op.EQUAL or planned.build_once_only:
        return False
    if join.smaller_bytes <= broadcast_bytes:
        return False
    column = nodes[planned.build].find_column(planned.build_column)
    return column is not None and column.type in WHOLE_NUMBERS and bool(shuffle_keys(join, nodes[planned.build]))


def _is_one_stage(side: Node, broadcast_bytes: int) -> bool:
    """Whether Spark runs a side without a shuffle inside: scans, filters, and joins with something small."""
    for node in side.walk():
        if isinstance(node, Join):
            if min(node.left.scanned_bytes(), node.right.scanned_bytes()) > broadcast_bytes:
                return False
        elif not isinstance(node, Filter | Project | Scan):
            return False
    return True


def shuffle_keys(join: Join, side: Node) -> list[Column]:
    """Return the columns of one side that Spark shuffles it by for this join; none where they are not plain columns."""
    keys: list[Column] = []
    for conjunct in join.conjuncts:
        if conjunct.op == Op.EQUAL_NULL_SAFE:
            return []
        if conjunct.op != Op.EQUAL or conjunct.left is None or conjunct.right is None:
            continue
        ends = [side.find_column(end.column) for end in (conjunct.left, conjunct.right) if end.column is not None]
        here = [column for column in ends if column is not None]
        if len(ends) != 2 or len(here) != 1:
            return []
        keys += here
    return keys
