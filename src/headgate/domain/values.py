"""Hold the values of a column as a `Discrete` set, `Ranges`, a `Bitmap` or a `Bloom`, which answer the same questions.

A value set says which non-NULL values a column may take. The first three forms are exact. A bloom is a superset of what
was put in, cut to the ranges that those values spanned. Empty and full sets are `Ranges` over nothing and everything.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from headgate.domain.arrays import Array, axis_array, sorted_distinct
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.hashing import xxhash64
from headgate.domain.intervals import Cut, Intervals, bounds_at, bounds_before
from headgate.domain.types import Axis, ValueType


@dataclass(frozen=True, eq=False, slots=True)
class Discrete:
    """A set of single values, kept as sorted distinct places."""

    type: ValueType
    places: Array

    def intervals(self) -> Intervals:
        """Return the values as intervals, neighbours joined."""
        return Intervals.points(self.type, self.places)

    def contains(self, places: Array) -> Array:
        """Return for each place whether it is in the set."""
        return self.overlaps(places, places)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Return for each closed interval of places whether it contains a member."""
        at = np.searchsorted(self.places, lows)
        inside = at < len(self.places)
        answer: Array = inside & np.asarray(self.places[np.where(inside, at, 0)] <= highs, dtype=bool)
        return answer

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return _size(self.places)


@dataclass(frozen=True, eq=False, slots=True)
class Ranges:
    """Values in any of some disjoint intervals; nothing and everything are Ranges too."""

    type: ValueType
    ranges: Intervals

    def intervals(self) -> Intervals:
        """Return the intervals."""
        return self.ranges

    def contains(self, places: Array) -> Array:
        """Return for each place whether some interval contains it."""
        return self.ranges.contains(bounds_at(self.type, places))

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Return for each closed interval of places whether it shares a value with these."""
        return self.ranges.overlaps(bounds_at(self.type, lows), bounds_at(self.type, highs))

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return _size(self.ranges.lows) + _size(self.ranges.highs)


@dataclass(frozen=True, eq=False, slots=True)
class Bitmap:
    """A large set of whole numbers in a roaring bitmap."""

    type: ValueType
    ids: IdBitmap

    def intervals(self) -> Intervals:
        """Return the runs of neighbouring ids."""
        places = self.ids.ids()
        return Intervals.merge(self.type, places, places)

    def contains(self, places: Array) -> Array:
        """Return for each place whether its bit is set."""
        return self.ids.contains(places)

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Return for each closed interval of places whether it contains a set bit."""
        return self.ids.count_between(lows, highs) > 0

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return len(self.ids.to_bytes())


@dataclass(frozen=True, eq=False, slots=True)
class Bloom:
    """A superset: the values that a bloom filter may contain and that lie in some ranges."""

    type: ValueType
    bits: BloomBits
    ranges: Intervals

    def intervals(self) -> Intervals:
        """Return the ranges: the tightest intervals that are known of a bloom."""
        return self.ranges

    def contains(self, places: Array) -> Array:
        """Return for each place whether it may be a member."""
        answer = self.ranges.contains(bounds_at(self.type, places))
        if answer.any():
            answer[answer] = self.bits.might_contain(xxhash64(self.type, np.asarray(places)[answer]))
        return answer

    def overlaps(self, lows: Array, highs: Array) -> Array:
        """Return for each closed interval of places whether it may contain a member; a single place is hashed."""
        answer = self.ranges.overlaps(bounds_at(self.type, lows), bounds_at(self.type, highs))
        single = answer & np.asarray(lows == highs, dtype=bool)
        if single.any():
            answer[single] = self.contains(np.asarray(lows)[single])
        return answer

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return self.bits.nbytes + _size(self.ranges.lows) + _size(self.ranges.highs)


ValueSet = Discrete | Ranges | Bitmap | Bloom


def no_values(type: ValueType) -> Ranges:
    """Return the empty set."""
    return Ranges(type, Intervals.none(type))


def all_values(type: ValueType) -> Ranges:
    """Return the set of every value."""
    return Ranges(type, Intervals.full(type))


def is_empty(values: ValueSet) -> bool:
    """Whether no value is in the set."""
    return isinstance(values, Ranges) and not len(values.ranges)


def is_full(values: ValueSet) -> bool:
    """Whether every value is in the set."""
    return isinstance(values, Ranges) and values.ranges.is_full


def from_places(type: ValueType, places: Array) -> ValueSet:
    """Return the set of some places: nothing, a discrete set, or everything (as with both booleans)."""
    distinct = sorted_distinct(places)
    if not len(distinct):
        return no_values(type)
    if type.axis is not Axis.TEXT and len(distinct) == type.high - type.low + 1:
        return all_values(type)
    return Discrete(type, distinct)


def from_intervals(type: ValueType, ranges: Intervals) -> ValueSet:
    """Return intervals as a set, discrete when each of them is a single value."""
    if len(ranges) and not ranges.is_full and np.array_equal(ranges.lows, ranges.highs):
        places = ranges.lows
        if type.axis is Axis.TEXT:
            if any(cut.side or cut.beyond for cut in places):
                return Ranges(type, ranges)
            places = axis_array(type, [cut.value for cut in places])
        return Discrete(type, places)
    return Ranges(type, ranges)


def from_ids(type: ValueType, ids: IdBitmap) -> ValueSet:
    """Return a bitmap as a set: nothing, a bitmap, or everything (as with all 256 of a tinyint)."""
    if not len(ids):
        return no_values(type)
    return all_values(type) if len(ids) == type.high - type.low + 1 else Bitmap(type, ids)


def from_bloom(type: ValueType, bits: BloomBits, ranges: Intervals) -> ValueSet:
    """Return a bloom as a set; without ranges it is empty."""
    return Bloom(type, bits, ranges) if len(ranges) else no_values(type)


def overlaps_before(values: ValueSet, lows: Array, ends: Array) -> Array:
    """Return for each half-open interval of text, ``[low, end)``, whether it may contain a member.

    None means no end. Text has no value right before another, so such an interval is not a closed one of places.
    """
    if not isinstance(values, Discrete):
        return values.intervals().overlaps(bounds_at(values.type, lows), bounds_before(values.type, ends))
    last = np.full(len(ends), len(values.places))
    bounded = np.array([end is not None for end in ends], dtype=bool)
    last[bounded] = np.searchsorted(values.places, ends[bounded], "left")
    answer: Array = np.searchsorted(values.places, lows, "left") < last
    return answer


def _size(items: Array) -> int:
    """Return the size of an array in bytes, including the objects in it."""
    if items.dtype != object:
        return int(items.nbytes)
    return int(items.nbytes) + sum(sys.getsizeof(item.value if isinstance(item, Cut) else item) for item in items)
