"""Say which values a column may take: `Domain` = a value set and whether NULL is allowed.

    NONE ⊂ single value ⊂ set | ranges | bitmap | bloom ⊂ NOT_NULL ⊂ ALL

    >>> ids = Domain.of("bigint", [3, 7])
    >>> 7 in ids, 8 in ids, None in ids
    (True, False, False)
    >>> (ids | Domain.range("bigint", 10, 20)).overlaps(8, 12)
    True

Soundness: a value that may matter is in the domain. Every operation keeps that; blooms and simplified domains may hold
more than the truth, never less. Domains are immutable and safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from headgate.domain import algebra
from headgate.domain.arrays import Array, axis_values, places_of
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.intervals import Intervals, make_interval
from headgate.domain.statistics import ColumnStatistics, Verdict, readable_bounds
from headgate.domain.types import Axis, ValueType, from_axis, to_axis, value_type
from headgate.domain.values import (
    Bitmap,
    Bloom,
    Discrete,
    ValueSet,
    all_values,
    from_bloom,
    from_ids,
    from_intervals,
    from_places,
    is_empty,
    is_full,
    no_values,
)
from headgate.errors import InvalidFilter


class Kind(Enum):
    """The shape of a domain, as reports and EXPLAIN name it."""

    NONE = "none"
    ALL = "all"
    ONLY_NULL = "only null"
    NOT_NULL = "not null"
    SINGLE = "value"
    SET = "set"
    RANGES = "ranges"
    BITMAP = "bitmap"
    BLOOM = "bloom"


@dataclass(frozen=True, eq=False, slots=True)
class Domain:
    """The values that one column may take, and whether it may be NULL."""

    values: ValueSet
    null_allowed: bool = False

    # --- construction -------------------------------------------------------------------------------------------

    @classmethod
    def none(cls, kind: ValueType | str) -> Domain:
        """Nothing matches."""
        return cls(no_values(_typed(kind)))

    @classmethod
    def all(cls, kind: ValueType | str) -> Domain:
        """Everything matches, NULL too."""
        return cls(all_values(_typed(kind)), null_allowed=True)

    @classmethod
    def only_null(cls, kind: ValueType | str) -> Domain:
        """NULL matches and nothing else."""
        return cls(no_values(_typed(kind)), null_allowed=True)

    @classmethod
    def not_null(cls, kind: ValueType | str) -> Domain:
        """Every value but NULL matches."""
        return cls(all_values(_typed(kind)))

    @classmethod
    def single(cls, kind: ValueType | str, value: Any) -> Domain:
        """One value matches."""
        return cls.of(kind, [value])

    @classmethod
    def of(cls, kind: ValueType | str, values: Iterable[Any], *, null_allowed: bool = False) -> Domain:
        """Any of some Python values matches."""
        kind = _typed(kind)
        return cls(from_places(kind, places_of(kind, values)), null_allowed)

    @classmethod
    def of_array(cls, kind: ValueType | str, column: Any) -> Domain:
        """Any value of an Arrow or NumPy column matches; NULL matches when the column holds one."""
        kind = _typed(kind)
        places, has_null = axis_values(kind, column)
        return cls(from_places(kind, places), has_null)

    @classmethod
    def range(
        cls,
        kind: ValueType | str,
        low: Any = None,
        high: Any = None,
        *,
        low_inclusive: bool = True,
        high_inclusive: bool = True,
        null_allowed: bool = False,
    ) -> Domain:
        """Values between two ends match; None is an unbounded end. NaN is above every number, as in Spark."""
        kind = _typed(kind)
        held = make_interval(
            kind,
            None if low is None else to_axis(kind, low),
            None if high is None else to_axis(kind, high),
            low_inclusive=low_inclusive,
            high_inclusive=high_inclusive,
        )
        return cls(from_intervals(kind, held), null_allowed)

    @classmethod
    def ranges(cls, domains: Sequence[Domain]) -> Domain:
        """Values in any of several domains match, as ranges."""
        return union_all(domains)

    @classmethod
    def bitmap(cls, kind: ValueType | str, ids: Any, *, null_allowed: bool = False) -> Domain:
        """Any of some whole numbers matches, held in a roaring bitmap."""
        kind = _typed(kind)
        if not kind.fits_bitmap:
            raise InvalidFilter(f"a bitmap contains whole numbers, not {kind}")
        places, has_null = axis_values(kind, ids if hasattr(ids, "__len__") else list(ids))
        return cls(from_ids(kind, IdBitmap.of(places)), null_allowed or has_null)

    @classmethod
    def bloom(
        cls, kind: ValueType | str, bits: BloomBits, within: Domain | None = None, *, null_allowed: bool = False
    ) -> Domain:
        """Values whose hash may be in a bloom filter match, where they lie within another domain's span."""
        kind = _typed(kind)
        held = Intervals.full(kind) if within is None else within.values.intervals()
        return cls(from_bloom(kind, bits, held), null_allowed)

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def type(self) -> ValueType:
        """The type of the column."""
        return self.values.kind

    @property
    def kind(self) -> Kind:
        """The shape of this domain."""
        if is_empty(self.values):
            return Kind.ONLY_NULL if self.null_allowed else Kind.NONE
        if is_full(self.values):
            return Kind.ALL if self.null_allowed else Kind.NOT_NULL
        match self.values:
            case Discrete(places=places):
                return Kind.SINGLE if len(places) == 1 else Kind.SET
            case Bitmap():
                return Kind.BITMAP
            case Bloom():
                return Kind.BLOOM
        return Kind.RANGES

    @property
    def is_none(self) -> bool:
        """Whether nothing matches."""
        return self.kind is Kind.NONE

    @property
    def is_all(self) -> bool:
        """Whether everything matches."""
        return self.kind is Kind.ALL

    @property
    def is_exact(self) -> bool:
        """Whether the domain holds exactly the values that were put in."""
        return not isinstance(self.values, Bloom)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self.values.nbytes

    def count(self) -> int | None:
        """Return how many values match, or None where that is not known (ranges, blooms)."""
        match self.values:
            case Discrete(places=places):
                return len(places)
            case Bitmap(ids=ids):
                return len(ids)
        return 0 if is_empty(self.values) else None

    def listed(self) -> list[Any]:
        """Return the values of a set or bitmap as Python values, in order."""
        match self.values:
            case Discrete(places=places):
                return [from_axis(self.type, place) for place in places.tolist()]
            case Bitmap(ids=ids):
                return [from_axis(self.type, place) for place in ids.ids().tolist()]
        if is_empty(self.values):
            return []
        raise InvalidFilter(f"a domain of kind {self.kind.value} cannot list its values")

    # --- questions ----------------------------------------------------------------------------------------------

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.null_allowed
        return bool(self.values.contains(_one(self.type, to_axis(self.type, value)))[0])

    def contains_places(self, places: Array) -> Array:
        """Say for each place on the axis whether it matches."""
        return self.values.contains(places)

    def overlaps(self, low: Any, high: Any) -> bool:
        """Whether a value between two ends, both included, may match; None is an unbounded end."""
        return not is_empty(algebra.intersect(self.values, Domain.range(self.type, low, high).values))

    def may_match(self, statistics: ColumnStatistics) -> Verdict:
        """Say whether a container with these statistics can be left unread."""
        rows, nulls = statistics.row_count, statistics.null_count
        if rows == 0 or self.is_none:
            return Verdict.SKIP
        if self.null_allowed and nulls != 0:
            return Verdict.KEEP
        if rows is not None and nulls == rows:
            return Verdict.SKIP
        if self.holds_nan():
            return Verdict.KEEP  # Parquet leaves NaN out of its statistics, so any container may hold one
        low, high, high_inclusive = readable_bounds(self.type, statistics)
        held = Domain.range(self.type, low, high, high_inclusive=high_inclusive)
        if held.is_none:
            return Verdict.KEEP  # the smallest value cannot be above the largest: such statistics say nothing
        matches = not is_empty(algebra.intersect(self.values, held.values))
        return Verdict.KEEP if matches else Verdict.SKIP

    def covers(self, other: Domain) -> bool:
        """Whether everything that matches there surely matches here too."""
        _same_type(self, other)
        return (self.null_allowed or not other.null_allowed) and algebra.covers(self.values, other.values)

    def holds_nan(self) -> bool:
        """Whether NaN matches."""
        return self.type.is_float and bool(self.values.contains(_one(self.type, self.type.high))[0])

    # --- algebra ------------------------------------------------------------------------------------------------

    def union(self, other: Domain) -> Domain:
        """Return what matches in either."""
        _same_type(self, other)
        return Domain(algebra.union(self.values, other.values), self.null_allowed or other.null_allowed)

    def intersect(self, other: Domain) -> Domain:
        """Return what matches in both."""
        _same_type(self, other)
        return Domain(algebra.intersect(self.values, other.values), self.null_allowed and other.null_allowed)

    def subtract(self, other: Domain) -> Domain:
        """Return what matches here and not there; the other must be exact."""
        _same_type(self, other)
        return Domain(algebra.subtract(self.values, other.values), self.null_allowed and not other.null_allowed)

    def complement(self) -> Domain:
        """Return what does not match; the domain must be exact."""
        return Domain(algebra.complement(self.values), not self.null_allowed)

    def span(self) -> Domain:
        """Return the one range from the smallest to the largest value."""
        return Domain(algebra.span(self.values), self.null_allowed)

    def simplify(self, most: int) -> Domain:
        """Return a cover of at most ``most`` ranges."""
        return Domain(algebra.simplify(self.values, most), self.null_allowed)

    def with_null(self, allowed: bool = True) -> Domain:
        """Return the same values with NULL allowed or not."""
        return Domain(self.values, allowed)

    __or__ = union
    __and__ = intersect
    __sub__ = subtract
    __invert__ = complement

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return self.null_allowed == other.null_allowed and algebra.same(self.values, other.values)

    def __hash__(self) -> int:
        held = self.values.intervals()
        return hash((self.type, self.null_allowed, len(held), *map(str, held.lows[:4]), *map(str, held.highs[-4:])))

    def __repr__(self) -> str:
        return f"Domain({self.type}: {describe(self)})"


def union_all(domains: Sequence[Domain]) -> Domain:
    """Return what matches in any of several domains of one type, in one pass."""
    if not domains:
        raise InvalidFilter("a union needs at least one domain; an empty build side is Domain.none(type)")
    for other in domains[1:]:
        _same_type(domains[0], other)
    return Domain(algebra.union_all([d.values for d in domains]), any(d.null_allowed for d in domains))


def describe(domain: Domain) -> str:
    """Return the domain in a few words, whatever its size."""
    with_null = " or NULL" if domain.null_allowed else ""
    match domain.kind:
        case Kind.NONE | Kind.ALL | Kind.ONLY_NULL | Kind.NOT_NULL:
            return str(domain.kind.value)
        case Kind.SINGLE:
            return f"= {domain.listed()[0]!r}{with_null}"
        case Kind.SET | Kind.BITMAP:
            return f"{domain.kind.value} of {domain.count()} values{with_null}"
        case Kind.RANGES:
            return f"{len(domain.values.intervals())} range(s){with_null}"
    return f"bloom of {domain.nbytes} bytes{with_null}"


def _typed(kind: ValueType | str) -> ValueType:
    return kind if isinstance(kind, ValueType) else value_type(kind)


def _one(kind: ValueType, place: Any) -> Array:
    array = np.empty(1, dtype=np.int64 if kind.axis is Axis.ORDINAL else object)
    array[0] = place
    return array


def _same_type(a: Domain, b: Domain) -> None:
    if a.type != b.type:
        raise InvalidFilter(f"domains of {a.type} and {b.type} cannot be combined; coerce one of them first")
