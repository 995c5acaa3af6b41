"""Turn Arrow and NumPy columns into arrays on a type's axis, without a Python loop over ordinal values."""

from __future__ import annotations

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


def floats_to_axis(kind: ValueType, values: Array) -> Array:
    """Map floats to ordinals that sort as Spark sorts floats (the array twin of ``float_to_axis``)."""
    with np.errstate(over="ignore"):
        floats = np.asarray(values, dtype=np.float32 if kind is FLOAT else np.float64)
    if np.any(np.isinf(floats) & np.isfinite(values)):
        raise InvalidFilter(f"a column of {values.dtype} contains numbers outside {kind}")
    if kind is FLOAT:
        bits = np.ascontiguousarray(floats).view(np.int32).astype(np.int64)
        ordinals = np.where(bits < 0, -(bits & (2**31 - 1)), bits)
    else:
        bits = np.ascontiguousarray(floats).view(np.int64)
        ordinals = np.where(bits < 0, -(bits & INT64_MAX), bits)
    ordinals[np.isnan(floats)] = kind.high
    return ordinals


def axis_to_floats(kind: ValueType, ordinals: Array) -> Array:
    """Map ordinals back to float32 or float64, as the type is."""
    if kind is FLOAT:
        floats: Array = np.abs(ordinals).astype(np.int32).view(np.float32)
    else:
        floats = np.abs(ordinals).view(np.float64)
    floats = np.where(ordinals < 0, -floats, floats)
    floats[ordinals == kind.high] = np.nan
    return floats


def axis_column(kind: ValueType, column: Any) -> tuple[Array, Array]:
    """Return ``(places, valid)``: one place per element, and a mask that is False where the element is NULL.

    The place of a NULL is arbitrary. Accepts Arrow arrays, chunked arrays, NumPy arrays and sequences.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.Array):
        return _from_arrow(kind, column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufM":
        return _from_numpy(kind, column)
    return _from_objects(kind, column)


def axis_values(kind: ValueType, column: Any) -> tuple[Array, bool]:
    """Return the sorted distinct places of a column and whether it holds a NULL."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        column = distinct(column)
    places, valid = axis_column(kind, column)
    has_null = not bool(valid.all())
    return sorted_distinct(places[valid] if has_null else places), has_null


def distinct(column: Any) -> Any:
    """Let Arrow hash away the repeats of a column; one that it cannot hash stays as it is."""
    try:
        return pc.unique(column)
    except pa.ArrowNotImplementedError:
        return column


def sorted_distinct(places: Array) -> Array:
    """Sort and deduplicate; a stable sort merges what is sorted already, as places from several domains are."""
    ordered = np.sort(places, kind="stable")
    if len(ordered) < 2:
        return ordered
    fresh = np.empty(len(ordered), dtype=bool)
    fresh[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered[fresh]


def empty_places(kind: ValueType) -> Array:
    """Return an array of no places."""
    return np.empty(0, dtype=np.int64 if kind.axis is Axis.ORDINAL else object)


def places_of(kind: ValueType, values: Any) -> Array:
    """Return the sorted distinct places of an iterable of Python values, or of a column without NULL."""
    if isinstance(values, pa.Array | pa.ChunkedArray | np.ndarray):
        places, has_null = axis_values(kind, values)
        if has_null:
            raise InvalidFilter(f"NULL is not a value of {kind}; allow it with null_allowed=True")
        return places
    listed = list(values)
    places = np.empty(len(listed), dtype=np.int64 if kind.axis is Axis.ORDINAL else object)
    for i, value in enumerate(listed):
        places[i] = to_axis(kind, value)
    return sorted_distinct(places)


def _from_arrow(kind: ValueType, column: pa.Array) -> tuple[Array, Array]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        none = np.zeros(len(column), dtype=bool)
        return np.zeros(len(column), dtype=np.int64 if kind.axis is Axis.ORDINAL else object), none
    valid = np.asarray(pc.is_valid(column)) if column.null_count else np.ones(len(column), dtype=bool)
    try:
        if kind.axis is Axis.TEXT:
            return _texts(kind, column), valid
        if kind.is_decimal:
            return _decimals(kind, column, valid), valid
        if kind.is_float:
            return floats_to_axis(kind, _floats(kind, column)), valid
        return _within(kind, _whole_numbers(kind, column), valid), valid
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InvalidFilter(f"a column of {column.type} does not fit {kind}: {error}") from error


def _texts(kind: ValueType, column: pa.Array) -> Array:
    arrow = column.type
    if kind is STRING:
        fits = pa.types.is_string(arrow) or pa.types.is_large_string(arrow)
    else:
        fits = pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_fixed_size_binary(arrow)
    if not fits:
        raise _wrong(kind, arrow)
    texts: Array = column.to_numpy(zero_copy_only=False)
    return texts


def _floats(kind: ValueType, column: pa.Array) -> Array:
    if not pa.types.is_floating(column.type):
        raise _wrong(kind, column.type)
    return np.asarray(pc.fill_null(column, pa.scalar(0.0, column.type)) if column.null_count else column)


def _whole_numbers(kind: ValueType, column: pa.Array) -> Array:
    arrow = column.type
    if kind is BOOLEAN and pa.types.is_boolean(arrow):
        column = column.cast(pa.int8())
    elif kind is DATE and pa.types.is_date32(arrow):
        column = column.cast(pa.int32())
    elif kind in (TIMESTAMP, TIMESTAMP_NTZ) and pa.types.is_timestamp(arrow):
        if (arrow.tz is None) != (kind is TIMESTAMP_NTZ) or arrow.unit == "ns":
            raise _wrong(kind, arrow)
        column = column.cast(pa.timestamp("us", arrow.tz)).cast(pa.int64())
    elif kind is BOOLEAN or not pa.types.is_integer(arrow):
        raise _wrong(kind, arrow)
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled.cast(pa.int64()))


def _decimals(kind: ValueType, column: pa.Array, valid: Array) -> Array:
    if not pa.types.is_decimal(column.type):
        raise _wrong(kind, column.type)
    column = column.cast(pa.decimal128(38, kind.scale))
    if not len(column):
        return empty_places(kind)
    words = np.frombuffer(column.buffers()[1], dtype=np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[0::2], words[1::2]
    if kind.axis is Axis.ORDINAL:
        if np.any(valid & (high != (low >> 63))):
            raise InvalidFilter(f"values of {column.type} do not fit {kind}")
        return _within(kind, np.where(valid, low, 0), valid)
    places = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return _within(kind, np.where(valid, places, 0), valid)


def _from_numpy(kind: ValueType, column: Array) -> tuple[Array, Array]:
    everything = np.ones(len(column), dtype=bool)
    if kind.is_float and column.dtype.kind == "f":
        return floats_to_axis(kind, column), everything
    if column.dtype.kind == "M":
        return _moments(kind, column)
    whole = column.dtype.kind == ("b" if kind is BOOLEAN else "i") or (column.dtype.kind == "u" and kind is not BOOLEAN)
    if not whole or kind.is_float or kind.axis is not Axis.ORDINAL or kind.is_decimal:
        raise _wrong(kind, column.dtype)
    if column.dtype == np.uint64 and len(column) and column.max() > INT64_MAX:
        raise InvalidFilter(f"{column.max()} is outside {kind}")
    return _within(kind, column.astype(np.int64, copy=False), everything), everything


def _moments(kind: ValueType, column: Array) -> tuple[Array, Array]:
    """NumPy wraps around and cuts off silently when it changes the unit, so look whether the way back is the same."""
    if kind not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        raise _wrong(kind, column.dtype)
    places = column.astype("datetime64[D]" if kind is DATE else "datetime64[us]")
    valid = ~np.isnat(column)
    if np.any(valid & (places.astype(column.dtype) != column)):
        raise InvalidFilter(f"a column of {column.dtype} contains moments that {kind} cannot represent")
    return _within(kind, places.view(np.int64), valid), valid


def _from_objects(kind: ValueType, column: Any) -> tuple[Array, Array]:
    places = np.zeros(len(column), dtype=np.int64 if kind.axis is Axis.ORDINAL else object)
    valid = np.zeros(len(column), dtype=bool)
    for i, value in enumerate(column):
        if value is not None:
            places[i], valid[i] = to_axis(kind, value), True
    return places, valid


def _within(kind: ValueType, places: Array, valid: Array) -> Array:
    """Refuse values that the type cannot hold: they would make a domain that never was."""
    if len(places) and (kind.axis is Axis.WIDE or kind.low > -(2**63) or kind.high < INT64_MAX):
        outside = valid & np.asarray((places < kind.low) | (places > kind.high), dtype=bool)
        if outside.any():
            raise InvalidFilter(f"{places[outside][0]} is outside {kind}, which ranges from {kind.low} to {kind.high}")
    return places


def _wrong(kind: ValueType, found: Any) -> InvalidFilter:
    return InvalidFilter(f"a column of {found} cannot be read as {kind}")


__all__ = [
    "Array",
    "axis_column",
    "axis_to_floats",
    "axis_values",
    "distinct",
    "empty_places",
    "floats_to_axis",
    "places_of",
    "sorted_distinct",
]
