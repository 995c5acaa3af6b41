"""Keep a domain within limits by giving it a cheaper form: set, bitmap, bloom and range, range, ALL.

    set        up to ``max_distinct`` values (the limit itself is still a set) and ``max_bytes``
    bitmap     whole numbers, while its bytes stay within ``max_bytes``
    bloom      with the range of the values, while at most half of its bits are set
    range      smallest to largest
    ALL        when ranges are switched off, or even one range is too large

Soundness: every form holds everything that the form before it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.domain import algebra
from headgate.domain.arrays import Array
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.domain import Domain
from headgate.domain.hashing import xxhash64
from headgate.domain.types import ValueType
from headgate.domain.values import (
    Bitmap,
    Bloom,
    Discrete,
    Ranges,
    ValueSet,
    all_values,
    from_bloom,
    from_ids,
    is_empty,
    is_full,
)

_BLOOM_BITS_PER_ITEM = 8
_FULLEST_BLOOM = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a domain may grow before it takes a cheaper form; set with spark.headgate.*."""

    max_distinct: int = 10_000
    max_bytes: int = 10 * 1024 * 1024
    ranges: bool = True
    bloom_items: int = 1_000_000


def within(domain: Domain, limits: Limits) -> Domain:
    """Return the domain, or the first cheaper form of it that respects the limits."""
    values = domain.values
    while not fits(values, limits):
        values = cheaper(values, limits)
        if is_full(values):
            return Domain.all(domain.type)
    return Domain(values, domain.null_allowed)


def fits(values: ValueSet, limits: Limits) -> bool:
    """Whether a value set respects the limits; nothing and everything always do."""
    if is_empty(values) or is_full(values):
        return True
    match values:
        case Discrete(places=places) if len(places) > limits.max_distinct:
            return False
        case Bloom(bits=bits) if bits.fill > _FULLEST_BLOOM:
            return False
        case Ranges() if not limits.ranges:
            return False
    return values.nbytes <= limits.max_bytes


def cheaper(values: ValueSet, limits: Limits) -> ValueSet:
    """Return the next cheaper form, which holds everything that this one does."""
    if isinstance(values, Discrete) and values.type.fits_bitmap:
        return from_ids(values.type, IdBitmap.of(values.places))
    if isinstance(values, Discrete | Bitmap):
        places = values.places if isinstance(values, Discrete) else values.ids.ids()
        ends = Ranges(values.type, algebra.span(values).intervals())
        bits = _bloom_of(values.type, places, max(0, limits.max_bytes - ends.nbytes), limits.bloom_items)
        if bits is not None:
            return from_bloom(values.type, bits, ends.ranges)
    if isinstance(values, Ranges) and len(values.ranges) == 1:
        return all_values(values.type)
    return Ranges(values.type, algebra.span(values).intervals())


def _bloom_of(type: ValueType, places: Array, max_bytes: int, items: int) -> BloomBits | None:
    """Return a bloom of values, or None without room for one. Its size is a power of two, so any two fold together."""
    wanted = max(items, len(places)) * _BLOOM_BITS_PER_ITEM // 64
    words = min(1 << wanted.bit_length(), (1 << (max_bytes // 8).bit_length()) // 2)
    if words < 1:
        return None
    return BloomBits.sized_for(words * 64 // _BLOOM_BITS_PER_ITEM, words * 64).add(xxhash64(type, places))
