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

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headgate.domain import algebra
from headgate.domain.arrays import axis_array
from headgate.domain.constructors import DomainConstructors, check_same_type
from headgate.domain.types import ValueType, from_axis, to_axis
from headgate.domain.values import Bitmap, Bloom, Discrete, is_empty, is_full
from headgate.errors import InvalidFilter


class Kind(Enum):
    """The form of a domain, as reports and EXPLAIN name it."""

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
class Domain(DomainConstructors):
    """The values that one column may take, and whether it may be NULL.

    ``a | b`` matches what either matches, ``a & b`` what both match, ``a - b`` what only ``a`` matches and ``~a`` what
    ``a`` does not. The right side of ``-`` and the operand of ``~`` must be exact.
    """

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def type(self) -> ValueType:
        """The type of the column."""
        return self.values.type

    @property
    def kind(self) -> Kind:
        """The form of this domain."""
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
        """Memory used, in bytes."""
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
        raise InvalidFilter(
            f"a domain of kind {self.kind.value!r} cannot list its values; only those with a count() can"
        )

    # --- questions ----------------------------------------------------------------------------------------------

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.null_allowed
        return bool(self.values.contains(axis_array(self.type, [to_axis(self.type, value)]))[0])

    def overlaps(self, low: Any, high: Any) -> bool:
        """Whether a value between two ends, both included, may match; None is an unbounded end."""
        return not is_empty(algebra.intersect(self.values, Domain.range(self.type, low, high).values))

    def covers(self, other: Domain) -> bool:
        """Whether everything that matches ``other`` is sure to match this domain too."""
        check_same_type(self, other)
        return (self.null_allowed or not other.null_allowed) and algebra.covers(self.values, other.values)

    # --- algebra ------------------------------------------------------------------------------------------------

    def __or__(self, other: Domain) -> Domain:
        check_same_type(self, other)
        return Domain(algebra.union(self.values, other.values), self.null_allowed or other.null_allowed)

    def __and__(self, other: Domain) -> Domain:
        check_same_type(self, other)
        return Domain(algebra.intersect(self.values, other.values), self.null_allowed and other.null_allowed)

    def __sub__(self, other: Domain) -> Domain:
        check_same_type(self, other)
        return Domain(algebra.subtract(self.values, other.values), self.null_allowed and not other.null_allowed)

    def __invert__(self) -> Domain:
        return Domain(algebra.complement(self.values), not self.null_allowed)

    def span(self) -> Domain:
        """Return the one range from the smallest to the largest value."""
        return Domain(algebra.span(self.values), self.null_allowed)

    def simplify(self, max_ranges: int) -> Domain:
        """Return a cover of at most ``max_ranges`` ranges."""
        return Domain(algebra.simplify(self.values, max_ranges), self.null_allowed)

    def with_null(self, allowed: bool = True) -> Domain:
        """Return the same values with NULL allowed or not."""
        return Domain(self.values, allowed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return self.null_allowed == other.null_allowed and algebra.same(self.values, other.values)

    def __hash__(self) -> int:
        ranges = self.values.intervals()
        ends = *map(str, ranges.lows[:4]), *map(str, ranges.highs[-4:])
        return hash((self.type, self.null_allowed, len(ranges), *ends))

    def __repr__(self) -> str:
        return f"Domain({self.type}: {describe(self)})"


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
