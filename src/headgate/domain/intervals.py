"""Combine sorted, disjoint, closed intervals on one axis, exactly and without loops.

    [1,3] [5,9]  ∪  [4,4] [20,30]   =  [1,9] [20,30]
    [1,3] [5,9]  ∩  [2,6]           =  [2,3] [5,6]

On the ordinal and wide axes a bound is a number, and an open end is the number next to it.
On the text axis the string right after ``v`` is ``v + "\\0"``, but no string is right before ``v``, so a bound is a
`Cut`: at a value, or in the gap before it. Intervals never overlap or touch: two that touch are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.domain.arrays import Array, axis_array, empty_places
from headgate.domain.types import Axis, ValueType


@dataclass(frozen=True, order=True, slots=True)
class Cut:
    """A bound on the text axis: at a value (side 0) or in the gap right before it (-1); beyond=1 is past all text."""

    beyond: int
    value: Any
    side: int


END_OF_TEXT = Cut(1, None, 0)


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Sorted, disjoint, non-touching closed intervals ``[lows[i], highs[i]]``; construct with ``merge``."""

    type: ValueType
    lows: Array
    highs: Array

    @classmethod
    def none(cls, type: ValueType) -> Intervals:
        """Return no interval at all."""
        nothing = empty_places(type)
        return cls(type, nothing, nothing)

    @classmethod
    def full(cls, type: ValueType) -> Intervals:
        """Return the whole axis."""
        return cls(type, axis_array(type, [bound_at(type, type.low)]), axis_array(type, [top_of(type)]))

    @classmethod
    def points(cls, type: ValueType, places: Array) -> Intervals:
        """Return one interval per distinct place, neighbours joined."""
        at = axis_array(type, [Cut(0, place, 0) for place in places]) if type.axis is Axis.TEXT else places
        return cls.merge(type, at, at)

    @classmethod
    def merge(cls, type: ValueType, lows: Array, highs: Array) -> Intervals:
        """Sort intervals given in any order, drop the empty ones and join those that overlap or touch."""
        filled = np.asarray(lows <= highs, dtype=bool)
        lows, highs = lows[filled], highs[filled]
        if len(lows) < 2:
            return cls(type, lows, highs)
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], highs[order]
        reach = np.maximum.accumulate(highs)
        apart = np.asarray(lows[1:] > reach[:-1], dtype=bool)
        # the neighbour of the int64 minimum would wrap around, so look only where the next interval is already beyond
        apart[apart] = _before(type, lows[1:][apart]) != reach[:-1][apart]
        starts = np.concatenate(([True], apart))
        ends = np.concatenate((apart, [True]))
        return cls(type, lows[starts], reach[ends])

    @classmethod
    def union_of(cls, type: ValueType, parts: Sequence[Intervals]) -> Intervals:
        """Return the places in any of the parts."""
        if not parts:
            return cls.none(type)
        lows, highs = [part.lows for part in parts], [part.highs for part in parts]
        return cls.merge(type, np.concatenate(lows), np.concatenate(highs))

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def is_full(self) -> bool:
        """Whether the whole axis is covered."""
        return (
            len(self) == 1
            and bool(self.lows[0] <= bound_at(self.type, self.type.low))
            and bool(self.highs[0] >= top_of(self.type))
        )

    def same_as(self, other: Intervals) -> bool:
        """Whether both cover exactly the same places."""
        return len(self) == len(other) and bool(
            np.array_equal(self.lows, other.lows) and np.array_equal(self.highs, other.highs)
        )

    def union(self, other: Intervals) -> Intervals:
        """Return the places in either."""
        return Intervals.union_of(self.type, (self, other))

    def intersect(self, other: Intervals) -> Intervals:
        """Return the places in both."""
        first = np.searchsorted(other.highs, self.lows, side="left")
        last = np.searchsorted(other.lows, self.highs, side="right")
        counts = np.maximum(last - first, 0)
        mine = np.repeat(np.arange(len(self)), counts)
        offset = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        theirs = np.repeat(first, counts) + offset
        lows = np.maximum(self.lows[mine], other.lows[theirs])
        highs = np.minimum(self.highs[mine], other.highs[theirs])
        return Intervals(self.type, lows, highs)

    def complement(self) -> Intervals:
        """Return all other places."""
        bottom, top = bound_at(self.type, self.type.low), top_of(self.type)
        lows, highs = self.lows, self.highs
        starts = [bottom] if not len(self) or bottom < lows[0] else []
        stops = [top] if not len(self) or highs[-1] < top else []
        inner_highs = lows if starts else lows[1:]
        inner_lows = highs if stops else highs[:-1]
        return Intervals(
            self.type,
            np.concatenate((axis_array(self.type, starts), _after(self.type, inner_lows))),
            np.concatenate((_before(self.type, inner_highs), axis_array(self.type, stops))),
        )

    def contains(self, bounds: Array) -> Array:
        """Return for each bound whether some interval contains it."""
        return self.overlaps(bounds, bounds)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Return for each given closed interval whether it shares a place with any of these."""
        if not len(self):
            return np.zeros(len(lows), dtype=bool)
        at = np.searchsorted(self.highs, lows, side="left")
        inside = at < len(self)
        answer: Array = inside & np.asarray(self.lows[np.where(inside, at, 0)] <= highs, dtype=bool)
        return answer

    def span(self) -> Intervals:
        """Return the one interval from the lowest to the highest place."""
        return Intervals(self.type, self.lows[:1], self.highs[-1:])

    def simplify(self, max_ranges: int) -> Intervals:
        """Return at most ``max_ranges`` intervals that cover these; the narrowest gaps are closed first."""
        if len(self) <= max_ranges:
            return self
        if self.type.axis is Axis.ORDINAL:
            # float64 keeps the order of widths well enough: a poor choice of gap is only a wider cover
            widths = self.lows[1:].astype(np.float64) - self.highs[:-1].astype(np.float64)
            gaps = np.sort(np.argsort(widths)[len(widths) - (max_ranges - 1) :])
        else:
            # text and wide numbers have no width that is cheap to compare: keep gaps spread evenly
            gaps = np.linspace(0, len(self) - 2, max_ranges - 1).astype(np.int64)
        lows = np.concatenate((self.lows[:1], self.lows[gaps + 1]))
        highs = np.concatenate((self.highs[gaps], self.highs[-1:]))
        return Intervals(self.type, lows, highs)


def bound_at(type: ValueType, place: Any) -> Any:
    """Return the bound exactly at a place."""
    return Cut(0, place, 0) if type.axis is Axis.TEXT else place


def bounds_at(type: ValueType, places: Array) -> Array:
    """Return the bounds exactly at these places."""
    return axis_array(type, [Cut(0, place, 0) for place in places]) if type.axis is Axis.TEXT else places


def top_of(type: ValueType) -> Any:
    """Return the highest bound of the axis."""
    return END_OF_TEXT if type.axis is Axis.TEXT else type.high


def make_interval(
    type: ValueType, low: Any = None, high: Any = None, *, low_inclusive: bool = True, high_inclusive: bool = True
) -> Intervals:
    """Return the interval between two places; None is an unbounded end."""
    bottom = bound_at(type, type.low if low is None else low)
    top = top_of(type) if high is None else bound_at(type, high)
    if low is not None and not low_inclusive:
        if type.axis is not Axis.TEXT and low >= type.high:
            return Intervals.none(type)
        bottom = _next_cut(bottom) if type.axis is Axis.TEXT else low + 1
    if high is not None and not high_inclusive:
        if high <= type.low:
            return Intervals.none(type)
        top = _previous_cut(top) if type.axis is Axis.TEXT else high - 1
    return Intervals.merge(type, axis_array(type, [bottom]), axis_array(type, [top]))


def bounds_before(type: ValueType, ends: Array) -> Array:
    """Return the bounds in the gaps right before these texts; None is the end of all text."""
    return axis_array(type, [END_OF_TEXT if end is None else _previous_cut(Cut(0, end, 0)) for end in ends])


def up_to(type: ValueType, bound: Any, *, inclusive: bool) -> Intervals:
    """Return everything up to a bound; a gap and the end of the axis have no value of their own to exclude."""
    bottom = bound_at(type, type.low)
    if not inclusive and not (isinstance(bound, Cut) and (bound.beyond or bound.side)):
        if bound <= bottom:
            return Intervals.none(type)
        bound = _before(type, axis_array(type, [bound]))[0]
    return Intervals(type, axis_array(type, [bottom]), axis_array(type, [bound]))


def up_from(type: ValueType, bound: Any, *, inclusive: bool) -> Intervals:
    """Return everything from a bound up; a low bound is always at a value."""
    if not inclusive:
        if bound >= top_of(type):
            return Intervals.none(type)
        bound = _after(type, axis_array(type, [bound]))[0]
    return Intervals(type, axis_array(type, [bound]), axis_array(type, [top_of(type)]))


def _after(type: ValueType, bounds: Array) -> Array:
    if type.axis is Axis.TEXT:
        return axis_array(type, [_next_cut(cut) for cut in bounds])
    return bounds + 1


def _before(type: ValueType, bounds: Array) -> Array:
    if type.axis is Axis.TEXT:
        return axis_array(type, [_previous_cut(cut) for cut in bounds])
    return bounds - 1


def _next_cut(cut: Cut) -> Cut:
    if cut.side < 0:
        return Cut(0, cut.value, 0)
    return Cut(0, cut.value + ("\0" if isinstance(cut.value, str) else b"\0"), 0)


def _previous_cut(cut: Cut) -> Cut:
    if cut.value[-1:] in ("\0", b"\0"):
        return Cut(0, cut.value[:-1], 0)
    return Cut(0, cut.value, -1)
