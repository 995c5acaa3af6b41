"""A domain over the type of a comparison becomes one over the type of the file, and no row is lost or invented."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain import Domain, Kind, coerce, loses_nothing, value_type
from headgate.domain.bloom import BloomBits
from tests.domain.strategies import TYPES, models, per_type, pool, values

EXTRA = ("decimal(10,0)", "decimal(20,0)", "decimal(20,5)", "decimal(38,10)")
LOSSLESS = [
    (stored, compared)
    for stored in (*TYPES, *EXTRA)
    for compared in (*TYPES, *EXTRA)
    if stored != compared and loses_nothing(value_type(stored), value_type(compared))
]


def cast(value: Any, stored: str, compared: str) -> Any:
    """A stored value as Spark casts it: the same number in the other type."""
    if value is None:
        return None
    column_type = value_type(compared)
    if column_type.is_float:
        return float(value)
    return int(value) if not column_type.is_decimal else Decimal(value)


@pytest.mark.parametrize(("stored", "compared"), LOSSLESS)
@settings(per_type, max_examples=max(1, per_type.max_examples // 2))
@given(data=st.data())
def test_a_stored_value_matches_when_its_cast_does(stored: str, compared: str, data: st.DataObject) -> None:
    """x is in the coerced domain exactly when cast(x) is in the domain; for a bloom, at least then."""
    domain = data.draw(models(compared)).domain
    narrowed = coerce(domain, value_type(stored))
    assert narrowed is not None
    assert narrowed.type == value_type(stored)
    assert narrowed.null_allowed == domain.null_allowed
    for x in (None, *pool(stored), *data.draw(st.lists(values(stored), max_size=3))):
        wanted = cast(x, stored, compared) in domain
        if domain.is_exact:
            assert (x in narrowed) == wanted, x
        elif wanted:
            assert x in narrowed


def test_the_lossless_casts() -> None:
    """The pairs that the law above runs over are those that Spark inserts and that lose nothing."""
    pairs = set(LOSSLESS)
    assert {("int", "bigint"), ("tinyint", "float"), ("int", "double"), ("float", "double")} <= pairs
    assert {("int", "decimal(10,0)"), ("bigint", "decimal(20,0)"), ("decimal(7,2)", "decimal(19,3)")} <= pairs


@pytest.mark.parametrize(
    ("stored", "compared"),
    [
        ("bigint", "int"),
        ("bigint", "double"),
        ("int", "float"),
        ("double", "float"),
        ("decimal(7,2)", "double"),
        ("decimal(19,3)", "decimal(7,2)"),
        ("decimal(38,0)", "decimal(38,10)"),
        ("int", "decimal(7,2)"),
        ("string", "int"),
        ("int", "string"),
        ("string", "binary"),
        ("date", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("boolean", "int"),
    ],
)
def test_casts_that_lose_something_have_no_domain(stored: str, compared: str) -> None:
    """Where values run together, change or depend on the time zone, there is no filter (F99, unsupported).

    Trino's varchar to char is of this sort; Spark's char and varchar columns are strings, compared as they are.
    """
    for domain in (Domain.all(compared), Domain.none(compared), Domain.only_null(compared)):
        assert coerce(domain, value_type(stored)) is None


def test_the_same_type_is_the_same_domain() -> None:
    """No cast, no change (F99, same value)."""
    domain = Domain.of("int", [1, 2])
    assert coerce(domain, value_type("int")) is domain


def test_values_out_of_range_are_dropped() -> None:
    """No stored value casts to them. A domain of only such values is NONE (F99, out of range)."""
    assert coerce(Domain.of("bigint", [1, 2**40]), value_type("int")) == Domain.single("int", 1)
    assert coerce(Domain.of("bigint", [2**40]), value_type("int")) == Domain.none("int")
    assert coerce(Domain.of("bigint", [2**40], null_allowed=True), value_type("int")) == Domain.only_null("int")
    assert coerce(Domain.of("double", [math.inf, 1e10, 5.0]), value_type("int")) == Domain.single("int", 5)


def test_ranges_are_cut_to_what_the_type_holds() -> None:
    """Ends beyond the type are its ends; ends between two values move inwards (F99, truncated)."""
    assert coerce(Domain.range("bigint", -(2**40), 2**40), value_type("int")) == Domain.not_null("int")
    assert coerce(Domain.range("bigint", 2**31), value_type("int")) == Domain.none("int")
    assert coerce(Domain.range("double", 1.5, 3.5), value_type("int")) == Domain.range("int", 2, 3)
    assert coerce(Domain.range("double", 1.2, 1.8), value_type("int")) == Domain.none("int")
    between = Domain.range("decimal(19,3)", Decimal("1.001"), Decimal("1.019"))
    assert coerce(between, value_type("decimal(7,2)")) == Domain.single("decimal(7,2)", Decimal("1.01"))


def test_floats_between_floats_are_dropped() -> None:
    """The double 0.1 is no float, so no stored float equals it; a range around it keeps its neighbour (F99, float)."""
    assert coerce(Domain.of("double", [0.1, 0.5]), value_type("float")) == Domain.single("float", 0.5)
    above = coerce(Domain.range("double", 0.1, 1.0), value_type("float"))
    assert above == Domain.range("float", float(np.float32(0.1)), 1.0)
    below = coerce(Domain.range("double", 0.0, 0.1), value_type("float"))
    assert below is not None
    assert float(np.float32(0.1)) not in below
    assert float(np.nextafter(np.float32(0.1), np.float32(0))) in below
    assert coerce(Domain.range("double", 1e300), value_type("float")) == Domain.range("float", math.inf)
    assert coerce(Domain.range("double", 1.0, 1e300), value_type("float")) == Domain.range("float", 1.0, 3.4028235e38)
    assert coerce(Domain.single("double", math.nan), value_type("float")) == Domain.single("float", math.nan)


def test_bitmaps_stay_bitmaps() -> None:
    """A bitmap over bigint becomes a bitmap over int, and over a decimal of up to 18 digits."""
    ids = Domain.bitmap("bigint", range(0, 1000, 3), null_allowed=True)
    narrowed = coerce(ids, value_type("int"))
    assert narrowed is not None
    assert narrowed.kind is Kind.BITMAP
    assert narrowed == Domain.of("int", range(0, 1000, 3), null_allowed=True)
    scaled = coerce(Domain.bitmap("decimal(10,2)", [Decimal("1.00"), Decimal("1.50")]), value_type("decimal(5,1)"))
    assert scaled == Domain.of("decimal(5,1)", [Decimal("1.0"), Decimal("1.5")])


def test_a_bloom_carries_over_by_its_span() -> None:
    """A bloom hashes the compared type, so for another type only its span says something."""
    bloom = Domain.bloom("bigint", BloomBits(1, np.zeros(1, dtype=np.uint64)), Domain.range("bigint", 5, 2**40))
    assert coerce(bloom, value_type("int")) == Domain.range("int", 5)
