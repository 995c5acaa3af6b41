"""A domain knows what it is, and says so."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from headgate.domain import BloomBits, Domain, Kind, describe, union_all, value_type
from headgate.domain.statistics import holds_nan
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, pool

NAN = float("nan")
every_type = pytest.mark.parametrize("name", TYPES)


@every_type
def test_the_named_domains_of_every_type(name: str) -> None:
    """None, all, only NULL, not NULL and a single value are what they are called, for every type (F91).

    Trino tells orderable, equatable and uncomparable types apart; every type that has a domain here is ordered.
    """
    value = pool(name)[0]
    expected = {
        Kind.NONE: (Domain.none(name), False, False),
        Kind.ALL: (Domain.all(name), True, True),
        Kind.ONLY_NULL: (Domain.only_null(name), False, True),
        Kind.NOT_NULL: (Domain.not_null(name), True, False),
        Kind.SINGLE: (Domain.single(name, value), True, False),
    }
    for kind, (domain, has_value, has_null) in expected.items():
        assert domain.kind is kind
        assert (value in domain) == has_value
        assert (None in domain) == domain.null_allowed == has_null
        assert domain.type == value_type(name)
        assert domain.is_none == (kind is Kind.NONE)
        assert domain.is_all == (kind is Kind.ALL)
        assert domain.is_exact
    assert len({domain for domain, _, _ in expected.values()}) == 5


@every_type
def test_nulls_in_every_operation(name: str) -> None:
    """Overlaps, contains, intersect, union and subtract treat NULL as one more value that may be allowed (F92)."""
    value = pool(name)[0]
    single, null = Domain.single(name, value), Domain.only_null(name)
    with_null = single.with_null()
    assert single | null == with_null
    assert with_null & null == null
    assert (single & null).is_none
    assert with_null - null == single
    assert with_null - single == null
    assert ~null == Domain.not_null(name)
    assert ~single == Domain.not_null(name) - single | null
    assert with_null.covers(null)
    assert not single.covers(null)
    assert not (with_null & Domain.all(name)).is_none
    assert single.overlaps(value, value)
    assert not null.overlaps(value, value)
    assert null.overlaps(None, None) is False
    assert with_null.with_null(allowed=False) == single


@pytest.mark.parametrize("name", ["float", "double"])
def test_everything_contains_nan(name: str) -> None:
    """ALL and NOT NULL of a float type hold NaN; so does every range without an upper end, and no other (F93)."""
    assert NAN in Domain.all(name)
    assert NAN in Domain.not_null(name)
    assert NAN in Domain.range(name, 5.0)
    assert NAN not in Domain.range(name, high=math.inf)
    assert NAN not in Domain.range(name, -math.inf, math.inf)
    assert Domain.not_null(name) - Domain.single(name, NAN) == Domain.range(name, high=math.inf)
    assert holds_nan(Domain.all(name))
    assert not holds_nan(Domain.range(name, high=math.inf))
    assert not holds_nan(Domain.all("bigint"))


@pytest.mark.parametrize("name", ["float", "double"])
def test_nan_is_nan_and_zero_is_zero(name: str) -> None:
    """Spark joins NaN to NaN and -0.0 to 0.0, and so does a domain."""
    assert NAN in Domain.single(name, NAN)
    assert -0.0 in Domain.single(name, 0.0)
    assert 0.0 in Domain.single(name, -0.0)
    assert Domain.of(name, [0.0, -0.0]).count() == 1
    assert Domain.of(name, [NAN, -NAN]).count() == 1


def test_kinds_by_construction() -> None:
    """Each way to make a domain gives its kind; what is really less is named as less."""
    bits = BloomBits(1, np.zeros(1, dtype=np.uint64))
    assert Domain.of("int", [1, 2]).kind is Kind.SET
    assert Domain.of("int", []).kind is Kind.NONE
    assert Domain.of("int", [], null_allowed=True).kind is Kind.ONLY_NULL
    assert Domain.range("int", 1, 5).kind is Kind.RANGES
    assert Domain.range("int", 5, 5).kind is Kind.SINGLE
    assert Domain.range("int", 5, 4).kind is Kind.NONE
    assert Domain.range("int").kind is Kind.NOT_NULL
    assert Domain.range("int", null_allowed=True).kind is Kind.ALL
    assert Domain.bitmap("int", [1, 2]).kind is Kind.BITMAP
    assert Domain.bloom("int", bits).kind is Kind.BLOOM
    assert Domain.bloom("int", bits, Domain.none("int")).kind is Kind.NONE
    assert Domain.of("boolean", [True, False]).kind is Kind.NOT_NULL
    assert Domain.ranges([Domain.range("int", 1, 2), Domain.range("int", 5, 9)]).kind is Kind.RANGES
    assert not Domain.bloom("int", bits).is_exact


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("bigint", [1, 5]),
        ("boolean", [True]),
        ("date", [dt.date(2024, 2, 29)]),
        ("timestamp", [dt.datetime(2024, 2, 29, tzinfo=dt.UTC)]),
        ("decimal(7,2)", [Decimal("1.50"), Decimal("2.00")]),
        ("string", ["", "b"]),
        ("binary", [b"", b"b"]),
        ("double", [-math.inf, 1.5]),
    ],
)
def test_sets_list_their_values_in_order(name: str, listed: list[Any]) -> None:
    """A set lists its values as PySpark shows them, in order; so does a bitmap."""
    domain = Domain.of(name, reversed(listed))
    assert domain.listed() == listed
    assert domain.count() == len(listed)
    if value_type(name).fits_bitmap:
        assert Domain.bitmap(name, listed).listed() == listed
        assert Domain.bitmap(name, listed).count() == len(listed)


def test_ranges_and_blooms_cannot_be_listed() -> None:
    """A range holds too many values to list, and a bloom does not know them; NONE has none."""
    bloom = Domain.bloom("int", BloomBits(1, np.zeros(1, dtype=np.uint64)))
    for domain in (Domain.range("int", 1, 5), bloom, Domain.all("int")):
        assert domain.count() is None
        with pytest.raises(InvalidFilter, match="cannot list"):
            domain.listed()
    assert Domain.none("int").listed() == Domain.only_null("int").listed() == []
    assert Domain.none("int").count() == 0


def test_domains_in_a_few_words() -> None:
    """Every kind is described in a few words that name its size, not its values."""
    bloom = Domain.bloom("int", BloomBits(1, np.zeros(4, dtype=np.uint64)), null_allowed=True)
    assert describe(Domain.none("int")) == "none"
    assert describe(Domain.only_null("int")) == "only null"
    assert describe(Domain.single("string", "a")) == "= 'a'"
    assert describe(Domain.of("int", [1, 2], null_allowed=True)) == "set of 2 values or NULL"
    assert describe(Domain.bitmap("int", range(100))) == "bitmap of 100 values"
    assert describe(Domain.range("int", 1, 5)) == "1 range(s)"
    assert describe(bloom).startswith("bloom of ")
    assert describe(bloom).endswith(" bytes or NULL")
    assert repr(Domain.all("decimal(7,2)")) == "Domain(decimal(7,2): all)"


def test_memory_is_counted() -> None:
    """nbytes grows with what is held: values, text, ends of ranges, bits."""
    assert Domain.none("int").nbytes == 0
    assert Domain.of("bigint", range(0, 2000, 2)).nbytes == 8000
    assert Domain.of("string", ["a" * 1000, "b"]).nbytes > 1000
    assert Domain.range("string", "a" * 1000, "b").nbytes > 1000
    assert Domain.of("decimal(38,0)", [10**37]).nbytes > 20
    bits = BloomBits(1, np.zeros(4, dtype=np.uint64))
    assert Domain.bloom("string", bits, Domain.range("string", "a" * 1000, "b")).nbytes > 1032
    assert Domain.bitmap("bigint", range(1000)).nbytes < 100


def test_a_union_needs_something_to_unite() -> None:
    """The union of no domains has no type, so it is refused; an empty build side is NONE of its type."""
    with pytest.raises(InvalidFilter, match=r"Domain\.none"):
        union_all([])
    with pytest.raises(InvalidFilter, match="cannot be combined"):
        union_all([Domain.none("int"), Domain.none("bigint")])


def test_simplify_needs_room_for_one_range() -> None:
    """Zero ranges cannot cover anything."""
    with pytest.raises(InvalidFilter, match="at least 1"):
        Domain.of("int", [1, 2]).simplify(0)


def test_asking_about_a_value_that_cannot_be_is_refused() -> None:
    """A value that the type cannot hold is a mistake of the asker, not a value outside the domain."""
    with pytest.raises(InvalidFilter, match="outside tinyint"):
        300 in Domain.of("tinyint", [1])  # noqa: B015
