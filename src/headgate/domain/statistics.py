"""Judge one container (file, row group, partition) by the statistics of one column."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headgate.domain.arrays import axis_array
from headgate.domain.domain import Domain
from headgate.domain.types import ValueType


class Verdict(Enum):
    """Whether a container can be left unread. SKIP only when no row in it can matter; when in doubt, KEEP."""

    SKIP = "skip"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Smallest and largest value, NULL count and row count of a column; None means "not known".

    ``max_truncated`` says that a text maximum was cut off, so values that begin with it may be larger than it.
    """

    min: Any = None
    max: Any = None
    null_count: int | None = None
    row_count: int | None = None
    max_truncated: bool = False


def judge(domain: Domain, statistics: ColumnStatistics) -> Verdict:
    """Say whether a container with these statistics can be left unread; `headgate.prune` judges many at once.

    >>> judge(Domain.of("int", [3, 42]), ColumnStatistics(min=11, max=40))
    <Verdict.SKIP: 'skip'>
    """
    rows, nulls = statistics.row_count, statistics.null_count
    if rows == 0 or domain.is_none:
        return Verdict.SKIP
    if domain.null_allowed and nulls != 0:
        return Verdict.KEEP
    if rows is not None and nulls == rows:
        return Verdict.SKIP
    if holds_nan(domain):
        return Verdict.KEEP  # Parquet leaves NaN out of its statistics, so any container may hold one
    low, high, high_inclusive = _trusted_bounds(domain.type, statistics)
    bounds = Domain.range(domain.type, low, high, high_inclusive=high_inclusive)
    if bounds.is_none:
        return Verdict.KEEP  # a minimum above the maximum is a contradiction, so nothing is known
    return Verdict.SKIP if (domain & bounds).is_none else Verdict.KEEP


def holds_nan(domain: Domain) -> bool:
    """Whether NaN matches."""
    if not domain.type.is_float:
        return False
    return bool(domain.values.contains(axis_array(domain.type, [domain.type.high]))[0])


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


def _trusted_bounds(type: ValueType, statistics: ColumnStatistics) -> tuple[Any, Any, bool]:
    """Return ``(low, high, high_inclusive)`` that are sure to enclose all values; None is an unbounded end."""
    low, high = statistics.min, statistics.max
    if type.is_float:  # some writers let NaN into the statistics, and then the other bound says nothing
        return (None, None, True) if _is_nan(low) or _is_nan(high) else (low, high, True)
    if statistics.max_truncated and high is not None:
        return low, end_of_prefix(high), False
    return low, high, True


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
