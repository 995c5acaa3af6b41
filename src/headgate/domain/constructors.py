"""Make domains: from values, columns, ranges, bitmaps, blooms and other domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from headgate.domain import algebra
from headgate.domain.arrays import axis_values, places_of
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.intervals import Intervals, make_interval
from headgate.domain.types import ValueType, to_axis, value_type
from headgate.domain.values import ValueSet, all_values, from_bloom, from_ids, from_intervals, from_places, no_values
from headgate.errors import InvalidFilter


@dataclass(frozen=True, eq=False, slots=True)
class DomainConstructors:
    """What a domain consists of, and the ways to make one; users call them on `Domain`."""

    values: ValueSet
    null_allowed: bool = False

    @classmethod
    def none(cls, type: ValueType | str) -> Self:
        """Nothing matches."""
        return cls(no_values(value_type(type)))

    @classmethod
    def all(cls, type: ValueType | str) -> Self:
        """Everything matches, NULL too."""
        return cls(all_values(value_type(type)), null_allowed=True)

    @classmethod
    def only_null(cls, type: ValueType | str) -> Self:
        """NULL matches and nothing else."""
        return cls(no_values(value_type(type)), null_allowed=True)

    @classmethod
    def not_null(cls, type: ValueType | str) -> Self:
        """Every value but NULL matches."""
        return cls(all_values(value_type(type)))

    @classmethod
    def single(cls, type: ValueType | str, value: Any) -> Self:
        """One value matches."""
        return cls.of(type, [value])

    @classmethod
    def of(cls, type: ValueType | str, values: Iterable[Any], *, null_allowed: bool = False) -> Self:
        """Any of the Python values matches."""
        column_type = value_type(type)
        return cls(from_places(column_type, places_of(column_type, values)), null_allowed)

    @classmethod
    def of_array(cls, type: ValueType | str, column: Any) -> Self:
        """Any value of an Arrow or NumPy column matches; NULL matches if the column contains one."""
        column_type = value_type(type)
        places, has_null = axis_values(column_type, column)
        return cls(from_places(column_type, places), has_null)

    @classmethod
    def range(
        cls,
        type: ValueType | str,
        low: Any = None,
        high: Any = None,
        *,
        low_inclusive: bool = True,
        high_inclusive: bool = True,
        null_allowed: bool = False,
    ) -> Self:
        """Values between two ends match; None is an unbounded end. NaN is above every number, as in Spark."""
        column_type = value_type(type)
        interval = make_interval(
            column_type,
            None if low is None else to_axis(column_type, low),
            None if high is None else to_axis(column_type, high),
            low_inclusive=low_inclusive,
            high_inclusive=high_inclusive,
        )
        return cls(from_intervals(column_type, interval), null_allowed)

    @classmethod
    def ranges(cls, domains: Sequence[Self]) -> Self:
        """Values in any of several ranges, or other domains of one type, match."""
        return union_all(domains)

    @classmethod
    def bitmap(cls, type: ValueType | str, ids: Any, *, null_allowed: bool = False) -> Self:
        """Any of the whole numbers matches, kept in a roaring bitmap."""
        column_type = value_type(type)
        if not column_type.fits_bitmap:
            raise InvalidFilter(f"a bitmap holds whole numbers, not {column_type}; make a set with Domain.of")
        places, has_null = axis_values(column_type, ids if hasattr(ids, "__len__") else list(ids))
        return cls(from_ids(column_type, IdBitmap.of(places)), null_allowed or has_null)

    @classmethod
    def bloom(
        cls, type: ValueType | str, bits: BloomBits, within: Self | None = None, *, null_allowed: bool = False
    ) -> Self:
        """Values that a bloom filter may contain match, if they also lie in the ranges of ``within``."""
        column_type = value_type(type)
        ranges = Intervals.full(column_type) if within is None else within.values.intervals()
        return cls(from_bloom(column_type, bits, ranges), null_allowed)


AnyDomain = TypeVar("AnyDomain", bound=DomainConstructors)


def union_all(domains: Sequence[AnyDomain]) -> AnyDomain:
    """Return what matches in any of several domains of one type, in one pass."""
    if not domains:
        raise InvalidFilter("a union needs at least one domain; an empty build side is Domain.none(type)")
    first = domains[0]
    for other in domains[1:]:
        check_same_type(first, other)
    return type(first)(algebra.union_all([d.values for d in domains]), any(d.null_allowed for d in domains))


def check_same_type(a: DomainConstructors, b: DomainConstructors) -> None:
    """Refuse to combine domains of two types."""
    if a.values.type != b.values.type:
        raise InvalidFilter(
            f"domains of {a.values.type} and {b.values.type} cannot be combined; coerce one of them first"
        )
