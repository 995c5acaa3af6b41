"""Combine value sets: union, intersection, complement, difference, and cheaper covers of them.

Exact kinds combine exactly, whatever their kinds. With a bloom the result may only be larger than the truth:

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
            return from_places(a.kind, np.concatenate((a.places, b.places)))
        case Bitmap(), Bitmap():
            return from_ids(a.kind, a.ids.union(b.ids))
        case Bitmap(), Discrete():
            return from_ids(a.kind, a.ids.union(IdBitmap.of(b.places)))
        case Discrete(), Bitmap():
            return from_ids(a.kind, IdBitmap.of(a.places).union(b.ids))
        case Bloom(), Bloom() if a.bits.folds_with(b.bits):
            return from_bloom(a.kind, a.bits.union(b.bits), a.held.union(b.held))
        case (Bloom(), Discrete() | Bitmap()):
            return _with_members(a, b)
        case (Discrete() | Bitmap(), Bloom()):
            return _with_members(b, a)
    return from_intervals(a.kind, a.intervals().union(b.intervals()))


def union_all(sets: Sequence[ValueSet]) -> ValueSet:
    """Return the values in any of the sets; many discrete sets, and many ranges, are merged in one sort."""
    kind = sets[0].kind
    rest: list[ValueSet] = [s for s in sets if not isinstance(s, Discrete | Ranges)]
    if discrete := [s for s in sets if isinstance(s, Discrete)]:
        rest.append(from_places(kind, np.concatenate([s.places for s in discrete])))
    rest.append(from_intervals(kind, Intervals.union_of(kind, [s.held for s in sets if isinstance(s, Ranges)])))
    return reduce(union, rest)


def intersect(a: ValueSet, b: ValueSet) -> ValueSet:
    """Return the values in both sets."""
    if is_empty(a) or is_full(b):
        return a
    if is_empty(b) or is_full(a):
        return b
    match a, b:
        case Discrete(), _:
            return from_places(a.kind, a.places[b.contains(a.places)])
        case _, Discrete():
            return from_places(a.kind, b.places[a.contains(b.places)])
        case Bitmap(), Bitmap():
            return from_ids(a.kind, a.ids.intersect(b.ids))
        case Bitmap(), Ranges() | Bloom():
            return _keep_ids(a, b)
        case Ranges() | Bloom(), Bitmap():
            return _keep_ids(b, a)
        case Bloom(), Bloom():
            return _both_blooms(a, b)
        case (Bloom(bits=bits), _) | (_, Bloom(bits=bits)):
            return from_bloom(a.kind, bits, a.intervals().intersect(b.intervals()))
    return from_intervals(a.kind, a.intervals().intersect(b.intervals()))


def complement(values: ValueSet) -> ValueSet:
    """Return every other value; a bloom has no exact complement."""
    if isinstance(values, Bloom):
        raise InvalidFilter("a bloom filter has no exact complement; take its span first")
    return from_intervals(values.kind, values.intervals().complement())


def subtract(a: ValueSet, b: ValueSet) -> ValueSet:
    """Return the values of ``a`` that are not in ``b``, which must be exact."""
    if isinstance(a, Discrete) and not isinstance(b, Bloom):
        return from_places(a.kind, a.places[~b.contains(a.places)])
    return intersect(a, complement(b))


def span(values: ValueSet) -> ValueSet:
    """Return the one range from the smallest to the largest value."""
    kind = values.kind
    if isinstance(values, Ranges | Bloom):
        return from_intervals(kind, values.held.span())
    if isinstance(values, Discrete):
        ends = bounds_at(kind, values.places[[0, -1]])
    else:
        ends = np.array(values.ids.ends(), dtype=np.int64)
    return from_intervals(kind, Intervals(kind, ends[:1], ends[1:]))


def simplify(values: ValueSet, most: int) -> ValueSet:
    """Return a cover of at most ``most`` ranges; a set that needs no more is returned as it is."""
    if most < 1:
        raise InvalidFilter(f"a domain is simplified to at least 1 range, not {most}")
    if isinstance(values, Discrete) and len(values.places) <= most:
        return values
    held = values.intervals()
    if isinstance(values, Bloom | Ranges) and len(held) <= most:
        return values
    if isinstance(values, Bloom):
        return from_bloom(values.kind, values.bits, held.simplify(most))
    return from_intervals(values.kind, held.simplify(most))


def covers(a: ValueSet, b: ValueSet) -> bool:
    """Whether every value of ``b`` is surely in ``a``; of a bloom that can be said of single values only."""
    if not isinstance(a, Bloom):
        return is_empty(subtract(b, a))
    match b:
        case Discrete(places=places):
            return bool(a.contains(places).all())
        case Bitmap(ids=ids):
            return bool(a.contains(ids.ids()).all())
    return is_empty(b) or same(a, b)


def same(a: ValueSet, b: ValueSet) -> bool:
    """Whether two sets hold the same values; blooms are the same when their bits and spans are."""
    if a.kind != b.kind or isinstance(a, Bloom) != isinstance(b, Bloom):
        return False
    match a, b:
        case Discrete(), Discrete():
            return bool(np.array_equal(a.places, b.places))
        case Bitmap(), Bitmap():
            return a.ids.same_as(b.ids)
        case Bloom(), Bloom():
            return a.bits.same_as(b.bits) and a.held.same_as(b.held)
    return a.intervals().same_as(b.intervals())


def _with_members(bloom: Bloom, members: Discrete | Bitmap) -> ValueSet:
    """Put the members of an exact set into a bloom, whose span grows to hold theirs."""
    places = members.places if isinstance(members, Discrete) else members.ids.ids()
    held = bloom.held.union(span(members).intervals())
    return from_bloom(bloom.kind, bloom.bits.add(xxhash64(bloom.kind, places)), held)


def _keep_ids(bitmap: Bitmap, other: Ranges | Bloom) -> ValueSet:
    ids = bitmap.ids.ids()
    kept = ids[other.contains(ids)]
    return from_ids(bitmap.kind, IdBitmap.of(kept)) if len(kept) else no_values(bitmap.kind)


def _both_blooms(a: Bloom, b: Bloom) -> ValueSet:
    held: Intervals = a.held.intersect(b.held)
    if a.bits.same_shape(b.bits):
        return from_bloom(a.kind, a.bits.intersect(b.bits), held)
    # two shapes cannot be combined: keep the one that says no more often
    return from_bloom(a.kind, min(a.bits, b.bits, key=lambda bits: (bits.fill**bits.hash_functions, bits.nbytes)), held)
