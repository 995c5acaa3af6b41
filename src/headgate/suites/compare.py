"""Compare the answers of two runs of one query: decimals exactly, doubles to 1e-9, order only where the query orders.

Rows that tie in an ORDER BY may come in any order, so ordered answers are compared as multisets too when their order
differs: what is left then is the same rows, and Spark itself gives no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

TOLERANCE = 1e-9


def difference(expected: Sequence[Any], found: Sequence[Any]) -> str:
    """Return one sentence on how two answers differ, or nothing where they are the same."""
    if len(expected) != len(found):
        return f"{len(expected)} rows against {len(found)}"
    if all(_same_row(a, b) for a, b in zip(expected, found, strict=True)):
        return ""
    ordered = zip(sorted(expected, key=_key), sorted(found, key=_key), strict=True)
    unlike = next(((a, b) for a, b in ordered if not _same_row(a, b)), None)
    return "" if unlike is None else f"{unlike[0]} against {unlike[1]}"


def _same_row(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(a) is type(b) and bool(a == b)


def _key(row: Any) -> tuple[Any, ...]:
    """Sort rows whatever they hold: NULL first, then by type and value; doubles by their first digits."""
    return tuple(
        (value is not None, str(type(value)), f"{value:.6g}" if isinstance(value, float) else str(value))
        for value in row
    )
