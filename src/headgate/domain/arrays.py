"""Turn Arrow and NumPy columns into arrays on a type's axis, without a Python loop over ordinal values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INT64_MAX,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Axis,
    ValueType,
    to_axis,
)
from headgate.errors import InvalidFilter

Array = npt.NDArray[Any]


def floats_to_axis(type: ValueType, values: Array) -> Array:
    """Map floats to ordinals that sort as Spark sorts floats: ``float_to_axis`` for arrays."""
    with np.errstate(over="ignore"):
        floats = np.asarray(values, dtype=np.float32 if type is FLOAT else np.float64)
    if np.any(np.isinf(floats) & np.isfinite(values)):
        raise InvalidFilter(
            f"a column of {values.dtype} contains numbers that {type} cannot hold; cast the column or use a wider type"
        )
    if type is FLOAT:
        bits = np.ascontiguousarray(floats).view(np.int32).astype(np.int64)
        ordinals = np.where(bits < 0, -(bits & (2**31 - 1)), bits)
    else:
        bits = np.ascontiguousarray(floats).view(np.int64)
        ordinals = np.where(bits < 0, -(bits & INT64_MAX), bits)
    ordinals[np.isnan(floats)] = type.high
    return ordinals


def axis_to_floats(type: ValueType, ordinals: Array) -> Array:
    """Map ordinals back to float32 or float64, as the type is."""
    if type is FLOAT:
        floats: Array = np.abs(ordinals).astype(np.int32).view(np.float32)
    else:
        floats = np.abs(ordinals).view(np.float64)
    floats = np.where(ordinals < 0, -floats, floats)
    floats[ordinals == type.high] = np.nan
    return floats


def axis_column(type: ValueType, column: Any) -> tuple[Array, Array]:
    """Return ``(places, valid)``: one place per element, and a mask that is False where the element is NULL.

    The place of a NULL is arbitrary. Accepts Arrow arrays, chunked arrays, NumPy arrays and sequences.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.Array):
        return _from_arrow(type, column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufM":
        return _from_numpy(type, column)
    return _from_objects(type, column)


def axis_values(type: ValueType, column: Any) -> tuple[Array, bool]:
    """Return the sorted distinct places of a column and whether it holds a NULL."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        column = distinct(column)
    places, valid = axis_column(type, column)
    has_null = not bool(valid.all())
    return sorted_distinct(places[valid] if has_null else places), has_null


def distinct(column: Any) -> Any:
    """Let Arrow drop the repeats of a column; a column that it cannot hash is returned as it is."""
    try:
        return pc.unique(column)
    except pa.ArrowNotImplementedError:
        return column


def sorted_distinct(places: Array) -> Array:
    """Sort and deduplicate. A stable sort is fast on sorted runs, such as the places of several domains."""
    ordered = np.sort(places, kind="stable")
    if len(ordered) < 2:
        return ordered
    fresh = np.empty(len(ordered), dtype=bool)
    fresh[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered[fresh]


def axis_array(type: ValueType, items: Sequence[Any]) -> Array:
    """Return places, or bounds, as an array: int64 on the ordinal axis, Python objects on the others."""
    array = np.empty(len(items), dtype=np.int64 if type.axis is Axis.ORDINAL else object)
    array[:] = items
    return array


def empty_places(type: ValueType) -> Array:
    """Return an empty array of places."""
    return axis_array(type, [])


def places_of(type: ValueType, values: Any) -> Array:
    """Return the sorted distinct places of an iterable of Python values, or of a column without NULL."""
    if isinstance(values, pa.Array | pa.ChunkedArray | np.ndarray):
        places, has_null = axis_values(type, values)
        if has_null:
            raise InvalidFilter(f"NULL is not a value of {type}; allow it with null_allowed=True")
        return places
    return sorted_distinct(axis_array(type, [to_axis(type, value) for value in values]))


def _from_arrow(type: ValueType, column: pa.Array) -> tuple[Array, Array]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        none = np.zeros(len(column), dtype=bool)
        return np.zeros(len(column), dtype=np.int64 if type.axis is Axis.ORDINAL else object), none
    valid = np.asarray(pc.is_valid(column)) if column.null_count else np.ones(len(column), dtype=bool)
    try:
        if type.axis is Axis.TEXT:
            return _texts(type, column), valid
        if type.is_decimal:
            return _decimals(type, column, valid), valid
        if type.is_float:
            return floats_to_axis(type, _floats(type, column)), valid
        return _within(type, _whole_numbers(type, column), valid), valid
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InvalidFilter(f"a column of {column.type} does not fit {type}: {error}") from error


def _texts(type: ValueType, column: pa.Array) -> Array:
    arrow = column.type
    if type is STRING:
        fits = pa.types.is_string(arrow) or pa.types.is_large_string(arrow)
    else:
        fits = pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_fixed_size_binary(arrow)
    if not fits:
        raise _wrong(type, arrow)
    texts: Array = column.to_numpy(zero_copy_only=False)
    return texts


def _floats(type: ValueType, column: pa.Array) -> Array:
    if not pa.types.is_floating(column.type):
        raise _wrong(type, column.type)
    return np.asarray(pc.fill_null(column, pa.scalar(0.0, column.type)) if column.null_count else column)


def _whole_numbers(type: ValueType, column: pa.Array) -> Array:
    arrow = column.type
    if type is BOOLEAN and pa.types.is_boolean(arrow):
        column = column.cast(pa.int8())
    elif type is DATE and pa.types.is_date32(arrow):
        column = column.cast(pa.int32())
    elif type in (TIMESTAMP, TIMESTAMP_NTZ) and pa.types.is_timestamp(arrow):
        if (arrow.tz is None) != (type is TIMESTAMP_NTZ) or arrow.unit == "ns":
            raise _wrong(type, arrow)
        column = column.cast(pa.timestamp("us", arrow.tz)).cast(pa.int64())
    elif type is BOOLEAN or not pa.types.is_integer(arrow):
        raise _wrong(type, arrow)
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled.cast(pa.int64()))


def _decimals(type: ValueType, column: pa.Array, valid: Array) -> Array:
    if not pa.types.is_decimal(column.type):
        raise _wrong(type, column.type)
    column = column.cast(pa.decimal128(38, type.scale))
    if not len(column):
        return empty_places(type)
    words = np.frombuffer(column.buffers()[1], dtype=np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[0::2], words[1::2]
    if type.axis is Axis.ORDINAL:
        if np.any(valid & (high != (low >> 63))):
            raise InvalidFilter(
                f"a column of {column.type} contains values that {type} cannot hold; use a wider decimal"
            )
        return _within(type, np.where(valid, low, 0), valid)
    places = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return _within(type, np.where(valid, places, 0), valid)


def _from_numpy(type: ValueType, column: Array) -> tuple[Array, Array]:
    everything = np.ones(len(column), dtype=bool)
    if type.is_float and column.dtype.kind == "f":
        return floats_to_axis(type, column), everything
    if column.dtype.kind == "M":
        return _moments(type, column)
    whole = column.dtype.kind == ("b" if type is BOOLEAN else "i") or (column.dtype.kind == "u" and type is not BOOLEAN)
    if not whole or type.is_float or type.axis is not Axis.ORDINAL or type.is_decimal:
        raise _wrong(type, column.dtype)
    if column.dtype == np.uint64 and len(column) and column.max() > INT64_MAX:
        raise InvalidFilter(f"{column.max()} is outside {type}, which holds {type.low} to {type.high}")
    return _within(type, column.astype(np.int64, copy=False), everything), everything


def _moments(type: ValueType, column: Array) -> tuple[Array, Array]:
    """Convert moments. Changing the unit, NumPy truncates silently, and before 2.5 it wraps: check the way back."""
    if type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        raise _wrong(type, column.dtype)
    valid = ~np.isnat(column)
    inexact = InvalidFilter(
        f"a column of {column.dtype} contains moments that {type} cannot hold exactly; round or drop them first"
    )
    try:
        places = column.astype("datetime64[D]" if type is DATE else "datetime64[us]")
    except OverflowError as error:
        raise inexact from error
    if np.any(valid & (places.astype(column.dtype) != column)):
        raise inexact
    return _within(type, places.view(np.int64), valid), valid


def _from_objects(type: ValueType, column: Any) -> tuple[Array, Array]:
    places = np.zeros(len(column), dtype=np.int64 if type.axis is Axis.ORDINAL else object)
    valid = np.zeros(len(column), dtype=bool)
    for i, value in enumerate(column):
        if value is not None:
            places[i], valid[i] = to_axis(type, value), True
    return places, valid


def _within(type: ValueType, places: Array, valid: Array) -> Array:
    """Refuse values that the type cannot hold: no stored value could equal them."""
    if len(places) and (type.axis is Axis.WIDE or type.low > -(2**63) or type.high < INT64_MAX):
        outside = valid & np.asarray((places < type.low) | (places > type.high), dtype=bool)
        if outside.any():
            raise InvalidFilter(f"{places[outside][0]} is outside {type}, which holds {type.low} to {type.high}")
    return places


def _wrong(type: ValueType, found: Any) -> InvalidFilter:
    return InvalidFilter(f"a column of {found} cannot be read as {type}; cast it first")


__all__ = [
    "Array",
    "axis_array",
    "axis_column",
    "axis_to_floats",
    "axis_values",
    "distinct",
    "empty_places",
    "floats_to_axis",
    "places_of",
    "sorted_distinct",
]
