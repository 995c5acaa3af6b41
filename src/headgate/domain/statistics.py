"""What is known of one column inside one container (file, row group, partition), and the verdict on it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headgate.domain.types import ValueType


class Verdict(Enum):
    """Whether a container can be left unread. SKIP only when no row in it can matter; when in doubt, KEEP."""

    SKIP = "skip"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Smallest and largest value, NULL count and row count of a column; None is "not known".

    ``max_truncated`` says that a text maximum was cut off, so values that begin with it may be larger than it.
    """

    min: Any = None
    max: Any = None
    null_count: int | None = None
    row_count: int | None = None
    max_truncated: bool = False


def readable_bounds(kind: ValueType, statistics: ColumnStatistics) -> tuple[Any, Any, bool]:
    """Return ``(low, high, high_inclusive)`` that surely hold all values; None is an unbounded end."""
    low, high = statistics.min, statistics.max
    if kind.is_float:  # some writers let NaN into the statistics, and then the other bound says nothing
        return (None, None, True) if _is_nan(low) or _is_nan(high) else (low, high, True)
    if statistics.max_truncated and high is not None:
        return low, end_of_prefix(high), False
    return low, high, True


def end_of_prefix(prefix: Any) -> Any:
    """Return the smallest text above everything that begins with ``prefix``, or None where there is none."""
    if isinstance(prefix, bytes):
        kept = prefix.rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
