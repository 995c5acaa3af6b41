"""What the conditions of a query itself leave of a scan: comparisons of a column with a date or a whole number.

Parquet readers skip row groups by them without Headgate. Used to judge what a scan costs, never to filter.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from headgate.domain import Domain, applied
from headgate.plan.kinds import Op
from headgate.plan.nodes import Column, Conjunct, Filter, Node, Project, Scan
from headgate.plan.rules.add_dynamic_filters import FLIPPED

_WHOLE = ("tinyint", "smallint", "int", "bigint")


def static_domains(root: Node) -> dict[int, dict[str, Domain]]:
    """Return what is asked of the columns of each scan, by its number and their names."""
    found: dict[int, dict[str, Domain]] = {}
    for node in root.walk():
        if not isinstance(node, Filter):
            continue
        below: Node = node.children[0]
        while isinstance(below, Project):
            below = below.children[0]
        if isinstance(below, Scan):
            asked = found.setdefault(below.id, {})
            for conjunct in node.conjuncts:
                for column, domain in _asked(conjunct, below):
                    asked[column.name] = asked[column.name] & domain if column.name in asked else domain
    return found


def _asked(conjunct: Conjunct, scan: Scan) -> list[tuple[Column, Domain]]:
    left, right = conjunct.left, conjunct.right
    if left is None or right is None or conjunct.op not in FLIPPED or conjunct.op == Op.EQUAL_NULL_SAFE:
        return []
    for side, other, op in ((left, right, conjunct.op), (right, left, FLIPPED[conjunct.op])):
        column = scan.find_column(side.column) if side.column is not None else None
        if column is not None and other.literal and (value := _value(column.type, other.sql)) is not None:
            return [(column, applied(op, Domain.single(column.type, value)))]
    return []


def _value(type: str, sql: str) -> Any:
    if type == "date" and (found := re.fullmatch(r"DATE '(\d{4}-\d\d-\d\d)'", sql)):
        return dt.date.fromisoformat(found[1]) if found[1] >= "0001" else None  # Spark knows a year 0
    return int(sql.rstrip("L")) if type in _WHOLE and re.fullmatch(r"-?\d{1,18}L?", sql) else None
