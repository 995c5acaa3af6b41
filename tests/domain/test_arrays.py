"""Arrow and NumPy columns give the places that their single values have."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, value_type
from headgate.domain.arrays import axis_column, axis_to_floats, axis_values, floats_to_axis, places_of, sorted_distinct
from headgate.domain.types import from_axis, to_axis
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, maybe_null, per_type

ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(7,2)": pa.decimal128(7, 2),
    "decimal(18,18)": pa.decimal128(18, 18),
    "decimal(19,3)": pa.decimal128(19, 3),
    "decimal(38,0)": pa.decimal128(38, 0),
    "string": pa.string(),
    "binary": pa.binary(),
}


def arrow_column(name: str, listed: list[Any]) -> pa.Array:
    """The values as Spark would hand them over in Arrow."""
    column_type = value_type(name)
    if name in ("date", "timestamp", "timestamp_ntz"):
        width = pa.int32() if name == "date" else pa.int64()
        return pa.array([None if v is None else to_axis(column_type, v) for v in listed], width).cast(ARROW[name])
    return pa.array(listed, ARROW[name], from_pandas=False)


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_arrow_columns_are_read_as_their_values(name: str, data: st.DataObject) -> None:
    """A column, a slice of one, a chunked and a dictionary column all give each value its place, and NULL none."""
    column_type, listed = value_type(name), data.draw(st.lists(maybe_null(name), max_size=8))
    expected = [None if v is None else to_axis(column_type, v) for v in listed]
    column = arrow_column(name, listed)
    padded = pa.concat_arrays([column[:1], column, column[:1]])[len(column[:1]) :][: len(column)]
    shapes = [column, padded, pa.chunked_array([column, column[:0]], ARROW[name]), column.dictionary_encode()]
    for shape in shapes:
        places, valid = axis_column(column_type, shape)
        assert [p if v else None for p, v in zip(places.tolist(), valid.tolist(), strict=True)] == expected


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_sequences_and_columns_make_the_same_domain(name: str, data: st.DataObject) -> None:
    """Domain.of_array of a column is Domain.of of its values, with NULL allowed when the column holds one."""
    listed = data.draw(st.lists(maybe_null(name), max_size=8))
    expected = Domain.of(name, [v for v in listed if v is not None], null_allowed=None in listed)
    assert Domain.of_array(name, arrow_column(name, listed)) == expected
    assert Domain.of_array(name, listed) == expected


@pytest.mark.parametrize("name", TYPES)
def test_empty_columns_are_nothing(name: str) -> None:
    """No values make NONE, however they are given; a column of the null type makes only NULL."""
    empties: list[Any] = [pa.array([], ARROW[name]), pa.chunked_array([], ARROW[name]), [], pa.array([], pa.null())]
    for empty in empties:
        assert Domain.of_array(name, empty) == Domain.none(name)
    assert Domain.of_array(name, pa.nulls(3)) == Domain.only_null(name)
    assert Domain.of_array(name, pa.nulls(3, ARROW[name])) == Domain.only_null(name)


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("bigint", np.array([3, 1, 3], dtype=np.uint32), [1, 3]),
        ("bigint", np.array([3, 1], dtype=np.uint64), [1, 3]),
        ("tinyint", np.array([-1, 5]), [-1, 5]),
        ("boolean", np.array([True, True]), [True]),
        ("date", np.array(["2024-02-29"], dtype="datetime64[D]"), [dt.date(2024, 2, 29)]),
        ("date", np.array(["2024-02-29"], dtype="datetime64[us]"), [dt.date(2024, 2, 29)]),
        ("timestamp", np.array([1], dtype="datetime64[s]"), [1_000_000]),
        ("timestamp_ntz", np.array([1000], dtype="datetime64[ns]"), [1]),
        ("float", np.array([1.5], dtype=np.float64), [1.5]),
        ("double", np.array([1.5], dtype=np.float16), [1.5]),
        ("string", np.array(["b", "a"], dtype=object), ["a", "b"]),
        ("binary", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        ("string", pa.array(["a"], pa.large_string()), ["a"]),
        ("binary", pa.array([b"a"], pa.large_binary()), [b"a"]),
        ("decimal(7,2)", pa.array([Decimal("1.5")], pa.decimal128(38, 1)), [Decimal("1.5")]),
        ("decimal(7,2)", pa.array([Decimal("1.5")], pa.decimal256(40, 10)), [Decimal("1.5")]),
        ("timestamp_ntz", pa.array([1], pa.timestamp("ms")), [1000]),
        ("bigint", np.array([1, 3], dtype=">i8"), [1, 3]),
        ("double", np.array([1.5], dtype=">f8"), [1.5]),
    ],
)
def test_other_widths_and_units_are_read(name: str, column: Any, expected: list[Any]) -> None:
    """Columns of another width or unit are read where every value is exact in the type."""
    assert Domain.of_array(name, column) == Domain.of(name, expected)
    assert Domain.of(name, column) == Domain.of(name, expected)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("bigint", pa.array([1.0])),
        ("bigint", pa.array(["1"])),
        ("bigint", pa.array([True])),
        ("bigint", pa.array([2**63], pa.uint64())),
        ("bigint", np.array([2**63], dtype=np.uint64)),
        ("tinyint", pa.array([200])),
        ("tinyint", np.array([200])),
        ("bigint", pa.RunEndEncodedArray.from_arrays([2], [5])),
        ("boolean", pa.array([1])),
        ("boolean", np.array([1])),
        ("double", pa.array([1])),
        ("double", np.array([1])),
        ("float", pa.array([1e300])),
        ("float", np.array([1e300])),
        ("string", pa.array([b"a"])),
        ("string", pa.array([b"ab"], pa.binary(2))),
        ("string", pa.array([b"\xff"]).view(pa.string())),
        ("binary", pa.array(["a"])),
        ("date", pa.array([0], pa.timestamp("us"))),
        ("date", np.array(["2024-02-29T12"], dtype="datetime64[h]")),
        ("timestamp", pa.array([0], pa.timestamp("us"))),
        ("timestamp_ntz", pa.array([0], pa.timestamp("us", "UTC"))),
        ("timestamp_ntz", pa.array([0], pa.timestamp("ns"))),
        ("timestamp_ntz", pa.array([2**62], pa.timestamp("s"))),
        ("timestamp_ntz", np.array([2**62], dtype="datetime64[s]")),
        ("timestamp_ntz", np.array([1], dtype="datetime64[ns]")),
        ("bigint", np.array([1], dtype="datetime64[us]")),
        ("decimal(7,2)", pa.array([1])),
        ("decimal(7,2)", np.array([1])),
        ("decimal(7,2)", pa.array([Decimal("1.555")])),
        ("decimal(7,2)", pa.array([Decimal(100000)])),
        ("decimal(7,2)", pa.array([Decimal(10) ** 30])),
        ("decimal(19,3)", pa.array([Decimal(10) ** 20])),
    ],
)
def test_columns_that_do_not_fit_are_refused(name: str, column: Any) -> None:
    """A column of another type, or with a value that the type cannot hold, is an InvalidFilter and never a guess."""
    with pytest.raises(InvalidFilter):
        Domain.of_array(name, column)


def test_null_values_may_not_be_listed() -> None:
    """Domain.of takes values; a NULL among them is refused in a list and in a column alike."""
    for column in ([1, None], pa.array([1, None])):
        with pytest.raises(InvalidFilter, match="null_allowed"):
            Domain.of("bigint", column)


@given(st.lists(st.floats(), max_size=10), st.lists(st.floats(width=32), max_size=10))
def test_floats_and_their_columns_agree(doubles: list[float], floats: list[float]) -> None:
    """The array twins of the float mappings do what the single ones do, there and back."""
    for name, listed, width in (("double", doubles, np.float64), ("float", floats, np.float32)):
        column_type = value_type(name)
        places = floats_to_axis(column_type, np.array(listed, dtype=width))
        assert places.tolist() == [to_axis(column_type, v) for v in listed]
        back = axis_to_floats(column_type, places)
        assert back.dtype == width
        assert np.array_equal(back, [from_axis(column_type, p) for p in places.tolist()], equal_nan=True)
        assert not np.signbit(back[back == 0]).any()


def test_a_column_of_numpy_does_not_share_its_memory_with_the_domain() -> None:
    """Writing into a column after the domain was made does not change the domain."""
    column = np.array([1, 2, 3])
    domain = Domain.of_array("bigint", column)
    column[:] = 9
    assert domain.listed() == [1, 2, 3]


@given(st.lists(st.integers(-5, 5), max_size=20))
def test_sorted_distinct_is_sorted_and_distinct(listed: list[int]) -> None:
    """Every value is there once, in order, for numbers and for objects."""
    for dtype in (np.int64, object):
        assert sorted_distinct(np.array(listed, dtype=dtype)).tolist() == sorted(set(listed))


def test_axis_values_says_whether_there_was_null() -> None:
    """The distinct places come with the NULL flag, and NaN is a value, not a NULL."""
    places, has_null = axis_values(value_type("double"), pa.array([math.nan, None, math.nan]))
    assert has_null
    assert places.tolist() == [value_type("double").high]
    assert places_of(value_type("double"), [math.nan, math.nan]).tolist() == [value_type("double").high]
