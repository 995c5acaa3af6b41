"""Types know their values, their order, and what they cannot hold."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import decimal_type, value_type
from headgate.domain.types import NAMED_TYPES, axis_to_float, float_to_axis, from_axis, short_repr, to_axis
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, order_key, per_type, pool, values

TOO_LONG_TO_PRINT = 10**5000


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_the_axis_has_the_order_of_the_type(name: str, data: st.DataObject) -> None:
    """Places sort as Spark sorts values, and two values share a place exactly when Spark calls them equal."""
    column_type = value_type(name)
    a, b = data.draw(values(name)), data.draw(values(name))
    places = to_axis(column_type, a), to_axis(column_type, b)
    keys = order_key(name, a), order_key(name, b)
    assert (places[0] < places[1]) == (keys[0] < keys[1])
    assert (places[0] == places[1]) == (keys[0] == keys[1])


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_a_place_leads_back_to_its_value(name: str, data: st.DataObject) -> None:
    """from_axis gives the value back, as Spark would compare it."""
    column_type, value = value_type(name), data.draw(values(name))
    back = from_axis(column_type, to_axis(column_type, value))
    assert order_key(name, back) == order_key(name, value)
    assert to_axis(column_type, back) == to_axis(column_type, value)


def test_values_come_back_as_pyspark_shows_them() -> None:
    """Dates, timestamps, decimals and booleans come back as the Python types of PySpark."""
    assert from_axis(value_type("date"), 19782) == dt.date(2024, 2, 29)
    assert from_axis(value_type("timestamp"), 0) == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert from_axis(value_type("timestamp_ntz"), 1) == dt.datetime(1970, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001
    assert str(from_axis(value_type("decimal(7,2)"), -5)) == "-0.05"
    assert from_axis(value_type("boolean"), 1) is True
    assert math.isnan(from_axis(value_type("float"), value_type("float").high))


def test_moments_beyond_the_calendar_of_python_stay_numbers() -> None:
    """Spark has dates and timestamps that Python's calendar lacks; they come back as days and microseconds."""
    for name in ("date", "timestamp", "timestamp_ntz"):
        column_type = value_type(name)
        assert from_axis(column_type, column_type.high) == column_type.high
        assert from_axis(column_type, column_type.low) == column_type.low


@pytest.mark.parametrize(("name", "width"), [("float", np.float32), ("double", np.float64)])
@given(data=st.data())
def test_neighbours_on_the_axis_are_neighbours_among_floats(name: str, width: type, data: st.DataObject) -> None:
    """The place after a float is the next float of that width: an open end loses no value."""
    column_type = value_type(name)
    value = data.draw(st.floats(width=32 if name == "float" else 64, allow_nan=False, allow_infinity=False))
    with np.errstate(over="ignore"):
        following = float(np.nextafter(width(value), width(math.inf)))
    assert float_to_axis(column_type, following) == float_to_axis(column_type, value) + 1
    assert axis_to_float(column_type, float_to_axis(column_type, value) + 1) == following


def test_zero_has_one_place_and_nan_the_highest() -> None:
    """-0.0 is 0.0, and every NaN is the same value above infinity."""
    for name in ("float", "double"):
        column_type = value_type(name)
        assert float_to_axis(column_type, -0.0) == float_to_axis(column_type, 0.0) == 0
        assert float_to_axis(column_type, math.nan) == column_type.high == float_to_axis(column_type, math.inf) + 1
        assert float_to_axis(column_type, -math.nan) == column_type.high
        assert float_to_axis(column_type, -math.inf) == column_type.low


def test_numbers_become_the_nearest_float() -> None:
    """0.1 in a float column is the float nearest to 0.1, and a number that no float is near is refused."""
    column_type = value_type("float")
    assert axis_to_float(column_type, to_axis(column_type, 0.1)) == float(np.float32(0.1))
    assert to_axis(column_type, np.float32(0.1)) == to_axis(column_type, 0.1)
    assert to_axis(column_type, -1e-60) == 0
    with pytest.raises(InvalidFilter, match="outside float"):
        to_axis(column_type, 1e39)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tinyint", 128),
        ("smallint", -32769),
        ("int", 2**31),
        ("bigint", 2**63),
        pytest.param("bigint", TOO_LONG_TO_PRINT, id="bigint-long"),
        ("date", 2**31),
        ("timestamp", -(2**63) - 1),
        ("double", 10**400),
        pytest.param("double", TOO_LONG_TO_PRINT, id="double-long"),
        ("decimal(7,2)", 100000),
        ("decimal(7,2)", Decimal("99999.995")),
        ("decimal(7,2)", Decimal("1E+999999")),
        ("decimal(7,2)", Decimal("1E-999999")),
        ("decimal(38,0)", 10**38),
        pytest.param("decimal(38,0)", TOO_LONG_TO_PRINT, id="decimal(38,0)-long"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(name: str, value: object) -> None:
    """A value out of range, or with more decimals than the type has, is an InvalidFilter and never another value."""
    with pytest.raises(InvalidFilter):
        to_axis(value_type(name), value)


def test_decimals_are_read_to_the_last_digit() -> None:
    """No digit is rounded away: a one in the seventieth place is too much for two decimals."""
    column_type = value_type("decimal(7,2)")
    assert to_axis(column_type, Decimal("1.10000")) == 110
    assert to_axis(column_type, Decimal("-0.00")) == 0
    assert to_axis(column_type, Decimal("0E+50")) == 0
    assert to_axis(column_type, Decimal("1E+2")) == 10000
    with pytest.raises(InvalidFilter, match="more than 2 decimals"):
        to_axis(column_type, Decimal("1." + "0" * 69 + "1"))
    with pytest.raises(InvalidFilter, match="more than 2 decimals"):
        to_axis(column_type, Decimal("0." + "1" * 5000))
    wide = value_type("decimal(38,10)")
    assert to_axis(wide, Decimal("9999999999999999999999999999.9999999999")) == 10**38 - 1
    assert to_axis(wide, np.int64(2**62)) == 2**62 * 10**10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bigint", True),
        ("bigint", 1.0),
        ("bigint", "1"),
        ("boolean", 1),
        ("double", "1"),
        ("double", True),
        ("double", Decimal(1)),
        ("date", dt.datetime(2024, 1, 1)),  # noqa: DTZ001
        ("timestamp", dt.datetime(2024, 1, 1)),  # noqa: DTZ001
        ("timestamp_ntz", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        ("decimal(7,2)", 1.5),
        ("decimal(7,2)", True),
        ("decimal(7,2)", Decimal("NaN")),
        ("decimal(7,2)", Decimal("Infinity")),
        ("string", b"a"),
        ("string", "\ud800"),
        ("binary", "a"),
    ],
)
def test_values_of_other_types_are_refused(name: str, value: object) -> None:
    """A value of another Python type is refused, with what was expected; nothing is guessed."""
    with pytest.raises(InvalidFilter):
        to_axis(value_type(name), value)


@pytest.mark.parametrize("name", TYPES)
def test_null_is_not_a_value(name: str) -> None:
    """NULL has no place on any axis; it is allowed apart."""
    with pytest.raises(InvalidFilter, match="null_allowed"):
        to_axis(value_type(name), None)


def test_numpy_scalars_are_values() -> None:
    """NumPy's integers, floats and booleans are taken as Python's."""
    assert to_axis(value_type("bigint"), np.int32(7)) == 7
    assert to_axis(value_type("double"), np.float64(1.5)) == to_axis(value_type("double"), 1.5)
    assert to_axis(value_type("boolean"), np.True_) == 1


def test_type_names_are_sparks() -> None:
    """Every type is found by Spark's name for it, and equals itself after pickling."""
    for name in (*NAMED_TYPES, "decimal(38,18)"):
        column_type = value_type(name)
        assert str(column_type) == name
        assert pickle.loads(pickle.dumps(column_type)) == column_type
    assert value_type("decimal(7, 2)") == decimal_type(7, 2)
    assert pickle.loads(pickle.dumps(value_type("string"))) is value_type("string")


@pytest.mark.parametrize(
    "name", ["varchar", "decimal(39,0)", "decimal(0,0)", "decimal(5,6)", "decimal(x)", "", "BIGINT"]
)
def test_unknown_types_are_refused(name: str) -> None:
    """A type with no domain is an InvalidFilter that names it."""
    with pytest.raises(InvalidFilter):
        value_type(name)


def test_messages_stay_short() -> None:
    """A huge value does not make a huge message."""
    assert len(short_repr("x" * 10_000)) <= 60
    assert "bits" in short_repr(TOO_LONG_TO_PRINT)
    assert len(short_repr([TOO_LONG_TO_PRINT])) <= 60


def test_the_pool_is_ordered_as_the_axis_is() -> None:
    """Sorted by the axis, each pool is sorted by Spark's order: the two orders are one."""
    for name in TYPES:
        column_type = value_type(name)
        ordered = sorted(pool(name), key=lambda value, column_type=column_type: to_axis(column_type, value))
        keys = [order_key(name, value) for value in ordered]
        assert all(a <= b for a, b in pairwise(keys))


@pytest.mark.parametrize("name", ["boolean", "bigint", "date", "double", "float", "string", "binary", "decimal(19,3)"])
def test_spark_sorts_as_the_axis_does(name: str, spark) -> None:
    """Spark's own ORDER BY puts the pool of a type in the order of its axis."""
    column_type = value_type(name)
    low, high = dt.date(1970, 1, 1).toordinal() - 1, dt.date(9999, 12, 31).toordinal() - dt.date(1970, 1, 1).toordinal()
    listed = [v for v in pool(name) if name != "date" or not isinstance(v, int) or -low <= v <= high]
    python = [from_axis(column_type, to_axis(column_type, v)) for v in listed]
    frame = spark.createDataFrame([(v,) for v in python], f"v {name}")
    ordered = [
        to_axis(column_type, bytes(row.v) if name == "binary" else row.v) for row in frame.orderBy("v").collect()
    ]
    assert ordered == sorted(to_axis(column_type, v) for v in python)
