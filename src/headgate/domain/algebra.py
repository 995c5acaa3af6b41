"""Combine value sets: union, intersection, complement, difference, and cheaper covers of them.

Exact sets combine exactly, whatever their forms. With a bloom the result may only be larger than the truth:

    x in a or x in b    implies    x in union(a, b)
    x in a and x in b   implies    x in intersect(a, b)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from headgate.domain.bitmap import IdBitmap
from headgate.domain.hashing import xxhash64
from headgate.domain.intervals import Intervals, bounds_at
from headgate.domain.values import (
    Bitmap,
    Bloom,
    Discrete,
    Ranges,
    ValueSet,
    from_bloom,
    from_ids,
    from_intervals,
    from_places,
    is_empty,
    is_full,
    no_values,
)
from headgate.errors import InvalidFilter


def union(a: ValueSet, b: ValueSet) -> ValueSet:
    """Return the values in either set."""
    if is_empty(a) or is_full(b):
        return b
    if is_empty(b) or is_full(a):
        return a
    match a, b:
        case Discrete(), Discrete():
            return from_places(a.type, np.concatenate((a.places, b.places)))
        case Bitmap(), Bitmap():
            return from_ids(a.type, a.ids.union(b.ids))
        case Bitmap(), Discrete():
            return from_ids(a.type, a.ids.union(IdBitmap.of(b.places)))
        case Discrete(), Bitmap():
            return from_ids(a.type, IdBitmap.of(a.places).union(b.ids))
        case Bloom(), Bloom() if a.bits.folds_with(b.bits):
            return from_bloom(a.type, a.bits.union(b.bits), a.ranges.union(b.ranges))
        case (Bloom(), Discrete() | Bitmap()):
            return _with_members(a, b)
        case (Discrete() | Bitmap(), Bloom()):
            return _with_members(b, a)
    return from_intervals(a.type, a.intervals().union(b.intervals()))


def union_all(sets: Sequence[ValueSet]) -> ValueSet:
    """Return the values in any of the sets; many discrete sets, and many ranges, are merged in one sort."""
    value_type = sets[0].type
    rest: list[ValueSet] = [s for s in sets if not isinstance(s, Discrete | Ranges)]
    if discrete := [s for s in sets if isinstance(s, Discrete)]:
        rest.append(from_places(value_type, np.concatenate([s.places for s in discrete])))
    ranges = [s.ranges for s in sets if isinstance(s, Ranges)]
    rest.append(from_intervals(value_type, Intervals.union_of(value_type, ranges)))
    return reduce(union, rest)


def intersect(a: ValueSet, b: ValueSet) -> ValueSet:
    """Return the values in both sets."""
    if is_empty(a) or is_full(b):
        return a
    if is_empty(b) or is_full(a):
        return b
    match a, b:
        case Discrete(), _:
            return from_places(a.type, a.places[b.contains(a.places)])
        case _, Discrete():
            return from_places(a.type, b.places[a.contains(b.places)])
        case Bitmap(), Bitmap():
            return from_ids(a.type, a.ids.intersect(b.ids))
        case Bitmap(), Ranges() | Bloom():
            return _keep_ids(a, b)
        case Ranges() | Bloom(), Bitmap():
            return _keep_ids(b, a)
        case Bloom(), Bloom():
            return _both_blooms(a, b)
        case (Bloom(bits=bits), _) | (_, Bloom(bits=bits)):
            return from_bloom(a.type, bits, a.intervals().intersect(b.intervals()))
    return from_intervals(a.type, a.intervals().intersect(b.intervals()))


def complement(values: ValueSet) -> ValueSet:
    """Return every other value; a bloom has no exact complement."""
    if isinstance(values, Bloom):
        raise InvalidFilter("a bloom filter has no exact complement; take its span() first")
    return from_intervals(values.type, values.intervals().complement())


def subtract(a: ValueSet, b: ValueSet) -> ValueSet:
    """Return the values of ``a`` that are not in ``b``, which must be exact."""
    if isinstance(a, Discrete) and not isinstance(b, Bloom):
        return from_places(a.type, a.places[~b.contains(a.places)])
    return intersect(a, complement(b))


def span(values: ValueSet) -> ValueSet:
    """Return the one range from the smallest to the largest value."""
    if isinstance(values, Ranges | Bloom):
        return from_intervals(values.type, values.ranges.span())
    if isinstance(values, Discrete):
        ends = bounds_at(values.type, values.places[[0, -1]])
    else:
        ends = np.array(values.ids.ends(), dtype=np.int64)
    return from_intervals(values.type, Intervals(values.type, ends[:1], ends[1:]))


def simplify(values: ValueSet, max_ranges: int) -> ValueSet:
    """Return a cover of at most ``max_ranges`` ranges; a set that needs no more is returned as it is."""
    if max_ranges < 1:
        raise InvalidFilter(f"cannot simplify a domain to {max_ranges} ranges; ask for at least 1")
    if isinstance(values, Discrete) and len(values.places) <= max_ranges:
        return values
    ranges = values.intervals()
    if isinstance(values, Bloom | Ranges) and len(ranges) <= max_ranges:
        return values
    if isinstance(values, Bloom):
        return from_bloom(values.type, values.bits, ranges.simplify(max_ranges))
    return from_intervals(values.type, ranges.simplify(max_ranges))


def covers(a: ValueSet, b: ValueSet) -> bool:
    """Whether every value of ``b`` is sure to be in ``a``; a bloom ``a`` can only be asked about single values."""
    if not isinstance(a, Bloom):
        return is_empty(subtract(b, a))
    match b:
        case Discrete(places=places):
            return bool(a.contains(places).all())
        case Bitmap(ids=ids):
            return bool(a.contains(ids.ids()).all())
    return is_empty(b) or same(a, b)


def same(a: ValueSet, b: ValueSet) -> bool:
    """Whether two sets hold the same values; blooms are the same when their bits and ranges are."""
    if a.type != b.type or isinstance(a, Bloom) != isinstance(b, Bloom):
        return False
    match a, b:
        case Discrete(), Discrete():
            return bool(np.array_equal(a.places, b.places))
        case Bitmap(), Bitmap():
            return a.ids.same_as(b.ids)
        case Bloom(), Bloom():
            return a.bits.same_as(b.bits) and a.ranges.same_as(b.ranges)
    return a.intervals().same_as(b.intervals())


def _with_members(bloom: Bloom, members: Discrete | Bitmap) -> ValueSet:
    """Add the members of an exact set to a bloom, and their span to its ranges."""
    places = members.places if isinstance(members, Discrete) else members.ids.ids()
    ranges = bloom.ranges.union(span(members).intervals())
    return from_bloom(bloom.type, bloom.bits.add(xxhash64(bloom.type, places)), ranges)


def _keep_ids(bitmap: Bitmap, other: Ranges | Bloom) -> ValueSet:
    ids = bitmap.ids.ids()
    kept = ids[other.contains(ids)]
    return from_ids(bitmap.type, IdBitmap.of(kept)) if len(kept) else no_values(bitmap.type)


def _both_blooms(a: Bloom, b: Bloom) -> ValueSet:
    ranges = a.ranges.intersect(b.ranges)
    if a.bits.same_shape(b.bits):
        return from_bloom(a.type, a.bits.intersect(b.bits), ranges)
    # bits of two shapes cannot be combined: keep those with fewer false positives
    bits = min(a.bits, b.bits, key=lambda bits: (bits.fill**bits.hash_functions, bits.nbytes))
    return from_bloom(a.type, bits, ranges)
