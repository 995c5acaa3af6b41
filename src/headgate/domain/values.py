"""The kinds of value set: `Discrete`, `Ranges`, `Bitmap` and `Bloom`, each able to answer the same questions.

A value set says which non-NULL values a column may take. The first three are exact; a bloom is a superset of what was
put in, cut to the range that those values spanned. Empty and full sets are `Ranges` over nothing and over everything.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.domain.arrays import Array, sorted_distinct
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.hashing import xxhash64
from headgate.domain.intervals import Cut, Intervals, bounds_at, bounds_before
from headgate.domain.types import Axis, ValueType


@dataclass(frozen=True, eq=False, slots=True)
class Discrete:
    """A set of single values, held as sorted distinct places."""

    kind: ValueType
    places: Array

    def intervals(self) -> Intervals:
        """Return the values as intervals, neighbours joined."""
        return Intervals.points(self.kind, self.places)

    def contains(self, places: Array) -> Array:
        """Say for each place whether it is in the set."""
        return self.overlaps(places, places)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval of places whether it holds a member."""
        at = np.searchsorted(self.places, lows)
        inside = at < len(self.places)
        answer: Array = inside & np.asarray(self.places[np.where(inside, at, 0)] <= highs, dtype=bool)
        return answer

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return _size(self.places)


@dataclass(frozen=True, eq=False, slots=True)
class Ranges:
    """Values in any of some disjoint intervals; nothing and everything are Ranges too."""

    kind: ValueType
    held: Intervals

    def intervals(self) -> Intervals:
        """Return the intervals."""
        return self.held

    def contains(self, places: Array) -> Array:
        """Say for each place whether some interval holds it."""
        return self.held.contains(bounds_at(self.kind, places))

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval of places whether it shares a value with these."""
        return self.held.overlaps(bounds_at(self.kind, lows), bounds_at(self.kind, highs))

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return _size(self.held.lows) + _size(self.held.highs)


@dataclass(frozen=True, eq=False, slots=True)
class Bitmap:
    """A large set of whole numbers in a roaring bitmap."""

    kind: ValueType
    ids: IdBitmap

    def intervals(self) -> Intervals:
        """Return the runs of neighbouring ids."""
        places = self.ids.ids()
        return Intervals.merge(self.kind, places, places)

    def contains(self, places: Array) -> Array:
        """Say for each place whether its bit is set."""
        return self.ids.contains(places)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval of places whether it holds a set bit."""
        return self.ids.count_between(lows, highs) > 0

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return len(self.ids.to_bytes())


@dataclass(frozen=True, eq=False, slots=True)
class Bloom:
    """A superset: the values whose hash may be in a bloom filter and that lie within a span."""

    kind: ValueType
    bits: BloomBits
    held: Intervals

    def intervals(self) -> Intervals:
        """Return the span: the best that intervals can say of a bloom."""
        return self.held

    def contains(self, places: Array) -> Array:
        """Say for each place whether it may be a member."""
        answer = self.held.contains(bounds_at(self.kind, places))
        if answer.any():
            answer[answer] = self.bits.might_contain(xxhash64(self.kind, np.asarray(places)[answer]))
        return answer

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval of places whether it may hold a member; a single place is hashed."""
        answer = self.held.overlaps(bounds_at(self.kind, lows), bounds_at(self.kind, highs))
        single = answer & np.asarray(lows == highs, dtype=bool)
        if single.any():
            answer[single] = self.contains(np.asarray(lows)[single])
        return answer

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self.bits.nbytes + _size(self.held.lows) + _size(self.held.highs)


ValueSet = Discrete | Ranges | Bitmap | Bloom


def no_values(kind: ValueType) -> Ranges:
    """Return the empty set."""
    return Ranges(kind, Intervals.none(kind))


def all_values(kind: ValueType) -> Ranges:
    """Return the set of every value."""
    return Ranges(kind, Intervals.full(kind))


def is_empty(values: ValueSet) -> bool:
    """Whether no value is in the set."""
    return isinstance(values, Ranges) and not len(values.held)


def is_full(values: ValueSet) -> bool:
    """Whether every value is in the set."""
    return isinstance(values, Ranges) and values.held.is_full


def from_places(kind: ValueType, places: Array) -> ValueSet:
    """Return the set of some places: nothing, a discrete set, or everything (as with both booleans)."""
    distinct = sorted_distinct(places)
    if not len(distinct):
        return no_values(kind)
    if kind.axis is not Axis.TEXT and len(distinct) == kind.high - kind.low + 1:
        return all_values(kind)
    return Discrete(kind, distinct)


def from_intervals(kind: ValueType, held: Intervals) -> ValueSet:
    """Return intervals as a set, discrete when each of them is a single value."""
    if len(held) and not held.is_full and np.array_equal(held.lows, held.highs):
        places = held.lows
        if kind.axis is Axis.TEXT:
            if any(cut.side or cut.beyond for cut in places):
                return Ranges(kind, held)
            values: list[Any] = [cut.value for cut in places]
            places = np.empty(len(values), dtype=object)
            places[:] = values
        return Discrete(kind, places)
    return Ranges(kind, held)


def from_ids(kind: ValueType, ids: IdBitmap) -> ValueSet:
    """Return a bitmap as a set: nothing, a bitmap, or everything (as with all 256 of a tinyint)."""
    if not len(ids):
        return no_values(kind)
    return all_values(kind) if len(ids) == kind.high - kind.low + 1 else Bitmap(kind, ids)


def from_bloom(kind: ValueType, bits: BloomBits, held: Intervals) -> ValueSet:
    """Return a bloom as a set; within an empty span there is nothing."""
    return Bloom(kind, bits, held) if len(held) else no_values(kind)


def overlaps_before(values: ValueSet, lows: Array, ends: Array) -> Array:
    """Say for each stretch of text from a low up to, and not including, an end whether it may hold a member.

    None is no end. Text has no value right before another, so such a stretch is not a closed interval of places.
    """
    if not isinstance(values, Discrete):
        return values.intervals().overlaps(bounds_at(values.kind, lows), bounds_before(values.kind, ends))
    last = np.full(len(ends), len(values.places))
    bounded = np.array([end is not None for end in ends], dtype=bool)
    last[bounded] = np.searchsorted(values.places, ends[bounded], "left")
    answer: Array = np.searchsorted(values.places, lows, "left") < last
    return answer


def _size(held: Array) -> int:
    """Return the bytes of an array and, where it holds objects, of those objects."""
    if held.dtype != object:
        return int(held.nbytes)
    return int(held.nbytes) + sum(sys.getsizeof(item.value if isinstance(item, Cut) else item) for item in held)
