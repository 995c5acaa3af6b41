"""Find the containers (partitions, files, row groups) that may hold a row that matters, many at once.

    domain: k in {3, 42}          container   min  max   verdict
                                  a             1   10   keep   3 may be inside
                                  b            11   40   skip   neither 3 nor 42
                                  c             ?    ?   keep   nothing is known

Soundness: a container is skipped only if no row in it can satisfy the domain. It is kept where statistics are missing
or contradict themselves, where a cut-off text bound may stand for a match, and where a float domain holds NaN, since
Parquet leaves NaN out of min and max.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.domain import Domain, TupleDomain, ValueType
from headgate.domain.arrays import Array, axis_column
from headgate.domain.statistics import end_of_prefix, holds_nan
from headgate.domain.types import Axis
from headgate.domain.values import is_empty, overlaps_before
from headgate.errors import InvalidFilter


@dataclass(frozen=True, eq=False, slots=True)
class ColumnBounds:
    """The statistics of one column over many containers, prepared once as arrays on the column's axis.

    All values lie from ``mins`` to ``maxs``, both included; where ``open_ended``, the maximum itself is excluded,
    and None means no end. ``known`` is False where nothing is known of the values; ``nulls`` and ``rows`` are -1 where
    unknown.
    """

    type: ValueType
    mins: Array
    maxs: Array
    open_ended: Array
    known: Array
    nulls: Array
    rows: Array

    @classmethod
    def of(
        cls,
        type: ValueType,
        mins: Any,
        maxs: Any,
        null_counts: Any = None,
        row_counts: Any = None,
        max_truncated: Any = None,
    ) -> ColumnBounds:
        """Prepare statistics given as Arrow arrays, NumPy arrays or sequences of one length; NULL means "not known".

        ``max_truncated`` says where a text maximum was cut off, so values that begin with it may be larger than it;
        None counts as cut off.
        """
        lows, low_known = axis_column(type, mins)
        highs, high_known = axis_column(type, maxs)
        count = len(lows)
        nulls, rows = _counts(null_counts, count), _counts(row_counts, count)
        cut = np.zeros(count, dtype=bool) if max_truncated is None else _flags(max_truncated)
        if lengths := {len(highs), len(nulls), len(rows), len(cut)} - {count}:
            raise InvalidFilter(
                f"statistics of one column have lengths {count} and {min(lengths)}; give one entry for each container"
            )
        if type.is_float:  # a NaN among the bounds means that they were not computed as Spark orders floats
            sane = ~(low_known & (lows == type.high) | high_known & (highs == type.high))
            low_known, high_known = low_known & sane, high_known & sane
        lows, highs = _filled(lows, low_known, type.low), _filled(highs, high_known, type.high)
        open_ended = np.zeros(count, dtype=bool)
        if type.axis is Axis.TEXT:
            highs, open_ended = _untruncated(highs, cut & high_known, ~high_known)
        known = (low_known | high_known) & ~_crossed(lows, highs, open_ended)
        return cls(type, lows, highs, open_ended, known, nulls, rows)

    def __len__(self) -> int:
        return len(self.mins)


def survivors(domain: TupleDomain, columns: Mapping[Any, ColumnBounds], count: int | None = None) -> Array:
    """Return a mask over the containers: True means KEEP. Columns without statistics keep everything."""
    sizes = {len(bounds) for bounds in columns.values()} | ({count} if count is not None else set())
    if len(sizes) != 1:
        raise InvalidFilter(
            f"columns have statistics of {sorted(sizes) or 'no'} containers; give the same number for each, or count"
        )
    size = sizes.pop()
    if domain.is_none:
        return np.zeros(size, dtype=bool)
    keep = np.ones(size, dtype=bool)
    for name, column in (domain.domains or {}).items():
        if (bounds := columns.get(name)) is not None:
            keep &= survivors_of_column(column, bounds)
    return keep


def survivors_of_column(domain: Domain, bounds: ColumnBounds) -> Array:
    """Return the mask of the containers in which one column may satisfy its domain."""
    if domain.type != bounds.type:
        raise InvalidFilter(
            f"a domain of {domain.type} cannot be compared with statistics of {bounds.type}; coerce it first"
        )
    if is_empty(domain.values):
        keep = np.zeros(len(bounds), dtype=bool)
    else:
        keep = (bounds.rows < 0) | (bounds.nulls != bounds.rows)
        if not holds_nan(domain):
            _keep_overlapping(domain, bounds, keep)
    if domain.null_allowed:
        keep |= bounds.nulls != 0
    keep &= bounds.rows != 0
    return keep


def _keep_overlapping(domain: Domain, bounds: ColumnBounds, keep: Array) -> None:
    closed, open_ended = keep & bounds.known & ~bounds.open_ended, keep & bounds.known & bounds.open_ended
    keep[closed] = domain.values.overlaps(bounds.mins[closed], bounds.maxs[closed])
    if open_ended.any():
        keep[open_ended] = overlaps_before(domain.values, bounds.mins[open_ended], bounds.maxs[open_ended])


def _filled(places: Array, known: Array, end: Any) -> Array:
    """Put the end of the axis where a bound is unknown."""
    if known.all():
        return places
    filled = places.copy()
    filled[~known] = end
    return filled


def _untruncated(highs: Array, truncated: Array, unknown: Array) -> tuple[Array, Array]:
    """Replace each cut-off maximum with the end of everything that begins with it."""
    widened = highs.copy()
    for i in np.flatnonzero(truncated):
        widened[i] = end_of_prefix(highs[i])
    return widened, truncated | unknown


def _crossed(lows: Array, highs: Array, open_ended: Array) -> Array:
    """Return where the minimum is above the maximum: such statistics are wrong, whatever made them."""
    if not open_ended.any():
        return np.asarray(lows > highs, dtype=bool)
    pairs = zip(lows, highs, open_ended, strict=True)
    return np.array(
        [(low >= high if is_open else low > high) if high is not None else False for low, high, is_open in pairs]
    )


def _flags(given: Any) -> Array:
    listed = given.to_pylist() if hasattr(given, "to_pylist") else given
    return np.array([flag is None or bool(flag) for flag in listed], dtype=bool)


def _counts(given: Any, size: int) -> Array:
    if given is None:
        return np.full(size, -1, dtype=np.int64)
    if hasattr(given, "fill_null"):
        return np.asarray(given.fill_null(-1)).astype(np.int64)
    listed = [-1 if count is None else count for count in given] if isinstance(given, list | tuple) else given
    return np.asarray(listed, dtype=np.int64)
