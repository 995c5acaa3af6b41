"""Say which of many containers (partitions, files, row groups) may hold a row that matters, all at once.

    domain: k in {3, 42}          container   min  max   verdict
                                  a             1   10   keep   3 may be inside
                                  b            11   40   skip   neither 3 nor 42
                                  c             ?    ?   keep   nothing is known

Soundness: a container is skipped only if no row in it can satisfy the domain. Missing statistics keep; cut-off text
bounds keep everything they may stand for; a float domain with NaN keeps, since Parquet leaves NaN out of min and max.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.domain import Domain, TupleDomain, ValueType
from headgate.domain.arrays import Array, axis_column
from headgate.domain.intervals import END_OF_TEXT, bounds_at
from headgate.domain.statistics import end_of_prefix
from headgate.domain.types import FLOAT_NAN, Axis
from headgate.domain.values import Ranges, is_empty
from headgate.errors import InvalidFilter


@dataclass(frozen=True, eq=False, slots=True)
class ColumnBounds:
    """The statistics of one column over many containers, prepared once as arrays on the column's axis.

    ``known`` is False where min or max is missing; ``nulls`` and ``rows`` are -1 where not known.
    """

    kind: ValueType
    mins: Array
    maxs: Array
    known: Array
    nulls: Array
    rows: Array

    @classmethod
    def of(
        cls,
        kind: ValueType,
        mins: Any,
        maxs: Any,
        null_counts: Any = None,
        row_counts: Any = None,
        max_truncated: Any = None,
    ) -> ColumnBounds:
        """Prepare statistics given as Arrow arrays, NumPy arrays or sequences of one length; NULL is "not known"."""
        lows, low_known = axis_column(kind, mins)
        highs, high_known = axis_column(kind, maxs)
        count = len(lows)
        nulls, rows = _counts(null_counts, count), _counts(row_counts, count)
        if len(highs) != count or len(nulls) != count or len(rows) != count:
            raise InvalidFilter(f"statistics of one column differ in length: {count}, {len(highs)}, {len(nulls)}, {len(rows)}")
        known = low_known & high_known
        if kind.is_float:  # a NaN among the bounds means that they were not computed as Spark orders floats
            known &= (lows != FLOAT_NAN) & (highs != FLOAT_NAN)
        if max_truncated is not None:
            highs, known = _untruncated(highs, known, np.asarray(max_truncated, dtype=bool))
        return cls(kind, lows, highs, known, nulls, rows)

    def __len__(self) -> int:
        return len(self.mins)


def survivors(domain: TupleDomain, columns: Mapping[Any, ColumnBounds], count: int | None = None) -> Array:
    """Return a mask over the containers: True is KEEP. Columns without statistics decide nothing."""
    sizes = {len(bounds) for bounds in columns.values()} | ({count} if count is not None else set())
    if len(sizes) != 1:
        raise InvalidFilter(f"statistics must be of one number of containers, got {sorted(sizes) or 'none'}")
    size = sizes.pop()
    if domain.is_none:
        return np.zeros(size, dtype=bool)
    keep = np.ones(size, dtype=bool)
    for column, held in (domain.domains or {}).items():
        if (bounds := columns.get(column)) is not None:
            keep &= survivors_of_column(held, bounds)
    return keep


def survivors_of_column(domain: Domain, bounds: ColumnBounds) -> Array:
    """Return the mask of the containers in which one column may satisfy its domain."""
    if domain.type != bounds.kind:
        raise InvalidFilter(f"a domain of {domain.type} cannot be tested on statistics of {bounds.kind}; coerce it first")
    only_nulls = (bounds.rows >= 0) & (bounds.nulls == bounds.rows)
    if is_empty(domain.values):
        keep = np.zeros(len(bounds), dtype=bool)
    elif domain.type.is_float and domain.contains_places(np.array([FLOAT_NAN]))[0]:
        keep = ~only_nulls
    else:
        keep = ~only_nulls
        tested = keep & bounds.known
        keep[tested] = _overlaps(domain, bounds.mins[tested], bounds.maxs[tested])
    if domain.null_allowed:
        keep |= bounds.nulls != 0
    return keep & (bounds.rows != 0)


def _overlaps(domain: Domain, mins: Array, maxs: Array) -> Array:
    if domain.type.axis is not Axis.TEXT:
        return domain.values.overlaps(mins, maxs)
    open_ended = np.array([top is _NO_END for top in maxs], dtype=bool)
    if not open_ended.any():
        return domain.values.overlaps(mins, maxs)
    answer = np.ones(len(mins), dtype=bool)
    answer[~open_ended] = domain.values.overlaps(mins[~open_ended], maxs[~open_ended])
    held = Ranges(domain.type, domain.values.intervals()).held
    tops = np.empty(int(open_ended.sum()), dtype=object)
    tops[:] = [END_OF_TEXT] * len(tops)
    answer[open_ended] = held.overlaps(bounds_at(domain.type, mins[open_ended]), tops)
    return answer


_NO_END = object()


def _untruncated(highs: Array, known: Array, truncated: Array) -> tuple[Array, Array]:
    """Replace each cut-off maximum by the end of everything that begins with it."""
    widened = highs.copy()
    for i in np.flatnonzero(truncated & known):
        end = end_of_prefix(highs[i])
        widened[i] = _NO_END if end is None else end
    return widened, known


def _counts(given: Any, size: int) -> Array:
    if given is None:
        return np.full(size, -1, dtype=np.int64)
    if hasattr(given, "fill_null"):
        return np.asarray(given.fill_null(-1)).astype(np.int64)
    return np.array([-1 if c is None else c for c in given] if isinstance(given, list | tuple) else given, dtype=np.int64)
