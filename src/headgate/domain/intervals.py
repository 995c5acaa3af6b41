"""Keep sorted, disjoint, closed intervals on one axis, and combine them exactly and without loops.

    [1,3] [5,9]  ∪  [4,4] [20,30]   =  [1,9] [20,30]
    [1,3] [5,9]  ∩  [2,6]           =  [2,3] [5,6]

On the ordinal and wide axes a bound is a number, and an open end is the number next to it.
On the text axis the string right after ``v`` is ``v + "\\0"``, but none stands right before ``v``, so a bound is a
`Cut`: at a value, or in the gap before it. Intervals never overlap and never touch: two that touch are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.domain.arrays import Array, empty_places
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

    kind: ValueType
    lows: Array
    highs: Array

    @classmethod
    def none(cls, kind: ValueType) -> Intervals:
        """Return no interval at all."""
        nothing = empty_places(kind)
        return cls(kind, nothing, nothing)

    @classmethod
    def full(cls, kind: ValueType) -> Intervals:
        """Return the whole axis."""
        return cls(kind, _bounds(kind, [bound_at(kind, kind.low)]), _bounds(kind, [top_of(kind)]))

    @classmethod
    def points(cls, kind: ValueType, places: Array) -> Intervals:
        """Return one interval per distinct place, neighbours joined."""
        at = _bounds(kind, [Cut(0, place, 0) for place in places]) if kind.axis is Axis.TEXT else places
        return cls.merge(kind, at, at)

    @classmethod
    def merge(cls, kind: ValueType, lows: Array, highs: Array) -> Intervals:
        """Sort intervals given in any order, drop the empty ones and join those that overlap or touch."""
        filled = np.asarray(lows <= highs, dtype=bool)
        lows, highs = lows[filled], highs[filled]
        if len(lows) < 2:
            return cls(kind, lows, highs)
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], highs[order]
        reach = np.maximum.accumulate(highs)
        apart = np.asarray(lows[1:] > reach[:-1], dtype=bool)
        # the neighbour of an int64 minimum would wrap around, so look only where the next interval is already beyond
        apart[apart] = _before(kind, lows[1:][apart]) != reach[:-1][apart]
        starts = np.concatenate(([True], apart))
        ends = np.concatenate((apart, [True]))
        return cls(kind, lows[starts], reach[ends])

    @classmethod
    def union_of(cls, kind: ValueType, parts: Sequence[Intervals]) -> Intervals:
        """Return the places in any of the parts."""
        if not parts:
            return cls.none(kind)
        lows, highs = [part.lows for part in parts], [part.highs for part in parts]
        return cls.merge(kind, np.concatenate(lows), np.concatenate(highs))

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def is_full(self) -> bool:
        """Whether the whole axis is covered."""
        return (
            len(self) == 1
            and bool(self.lows[0] <= bound_at(self.kind, self.kind.low))
            and bool(self.highs[0] >= top_of(self.kind))
        )

    def same_as(self, other: Intervals) -> bool:
        """Whether both cover exactly the same places."""
        return len(self) == len(other) and bool(
            np.array_equal(self.lows, other.lows) and np.array_equal(self.highs, other.highs)
        )

    def union(self, other: Intervals) -> Intervals:
        """Return the places in either."""
        return Intervals.union_of(self.kind, (self, other))

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
        return Intervals(self.kind, lows, highs)

    def complement(self) -> Intervals:
        """Return the places in neither."""
        bottom, top = bound_at(self.kind, self.kind.low), top_of(self.kind)
        lows, highs = self.lows, self.highs
        starts = [bottom] if not len(self) or bottom < lows[0] else []
        stops = [top] if not len(self) or highs[-1] < top else []
        inner_highs = lows if starts else lows[1:]
        inner_lows = highs if stops else highs[:-1]
        return Intervals(
            self.kind,
            np.concatenate((_bounds(self.kind, starts), _after(self.kind, inner_lows))),
            np.concatenate((_before(self.kind, inner_highs), _bounds(self.kind, stops))),
        )

    def contains(self, bounds: Array) -> Array:
        """Say for each bound whether some interval holds it."""
        return self.overlaps(bounds, bounds)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval given whether any of ours shares a place with it."""
        if not len(self):
            return np.zeros(len(lows), dtype=bool)
        at = np.searchsorted(self.highs, lows, side="left")
        inside = at < len(self)
        answer: Array = inside & np.asarray(self.lows[np.where(inside, at, 0)] <= highs, dtype=bool)
        return answer

    def span(self) -> Intervals:
        """Return the one interval from the lowest to the highest place."""
        return Intervals(self.kind, self.lows[:1], self.highs[-1:])

    def simplify(self, most: int) -> Intervals:
        """Return at most ``most`` intervals that cover these; gaps that have a width are closed narrowest first."""
        if len(self) <= most:
            return self
        if self.kind.axis is Axis.ORDINAL:
            # float64 keeps the order of widths well enough: a poor choice of gap is only a wider cover
            widths = self.lows[1:].astype(np.float64) - self.highs[:-1].astype(np.float64)
            gaps = np.sort(np.argsort(widths)[len(widths) - (most - 1) :])
        else:
            gaps = np.linspace(0, len(self) - 2, most - 1).astype(np.int64)
        lows = np.concatenate((self.lows[:1], self.lows[gaps + 1]))
        highs = np.concatenate((self.highs[gaps], self.highs[-1:]))
        return Intervals(self.kind, lows, highs)


def bound_at(kind: ValueType, place: Any) -> Any:
    """Return the bound that stands exactly at a place."""
    return Cut(0, place, 0) if kind.axis is Axis.TEXT else place


def bounds_at(kind: ValueType, places: Array) -> Array:
    """Return the bounds that stand exactly at these places."""
    return _bounds(kind, [Cut(0, place, 0) for place in places]) if kind.axis is Axis.TEXT else places


def top_of(kind: ValueType) -> Any:
    """Return the highest bound of the axis."""
    return END_OF_TEXT if kind.axis is Axis.TEXT else kind.high


def make_interval(
    kind: ValueType, low: Any = None, high: Any = None, *, low_inclusive: bool = True, high_inclusive: bool = True
) -> Intervals:
    """Return the interval between two places; None is an unbounded end."""
    bottom = bound_at(kind, kind.low if low is None else low)
    top = top_of(kind) if high is None else bound_at(kind, high)
    if low is not None and not low_inclusive:
        if kind.axis is not Axis.TEXT and low >= kind.high:
            return Intervals.none(kind)
        bottom = _next_cut(bottom) if kind.axis is Axis.TEXT else low + 1
    if high is not None and not high_inclusive:
        if high <= kind.low:
            return Intervals.none(kind)
        top = _previous_cut(top) if kind.axis is Axis.TEXT else high - 1
    return Intervals.merge(kind, _bounds(kind, [bottom]), _bounds(kind, [top]))


def bounds_before(kind: ValueType, ends: Array) -> Array:
    """Return the bounds in the gaps right before these texts; None is the end of all text."""
    return _bounds(kind, [END_OF_TEXT if end is None else _previous_cut(Cut(0, end, 0)) for end in ends])


def up_to(kind: ValueType, bound: Any, *, inclusive: bool) -> Intervals:
    """Return everything up to a bound; a gap or the end of the axis has no value of its own to leave out."""
    bottom = bound_at(kind, kind.low)
    if not inclusive and not (isinstance(bound, Cut) and (bound.beyond or bound.side)):
        if bound <= bottom:
            return Intervals.none(kind)
        bound = _before(kind, _bounds(kind, [bound]))[0]
    return Intervals(kind, _bounds(kind, [bottom]), _bounds(kind, [bound]))


def up_from(kind: ValueType, bound: Any, *, inclusive: bool) -> Intervals:
    """Return everything from a bound up; a low bound always stands at a value."""
    if not inclusive:
        if bound >= top_of(kind):
            return Intervals.none(kind)
        bound = _after(kind, _bounds(kind, [bound]))[0]
    return Intervals(kind, _bounds(kind, [bound]), _bounds(kind, [top_of(kind)]))


def _bounds(kind: ValueType, items: list[Any]) -> Array:
    array = np.empty(len(items), dtype=np.int64 if kind.axis is Axis.ORDINAL else object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def _after(kind: ValueType, bounds: Array) -> Array:
    if kind.axis is Axis.TEXT:
        return _bounds(kind, [_next_cut(cut) for cut in bounds])
    return bounds + 1


def _before(kind: ValueType, bounds: Array) -> Array:
    if kind.axis is Axis.TEXT:
        return _bounds(kind, [_previous_cut(cut) for cut in bounds])
    return bounds - 1


def _next_cut(cut: Cut) -> Cut:
    if cut.side < 0:
        return Cut(0, cut.value, 0)
    return Cut(0, cut.value + ("\0" if isinstance(cut.value, str) else b"\0"), 0)


def _previous_cut(cut: Cut) -> Cut:
    if cut.value[-1:] in ("\0", b"\0"):
        return Cut(0, cut.value[:-1], 0)
    return Cut(0, cut.value, -1)
