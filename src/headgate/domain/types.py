"""Define the column types that a domain can describe, and how each one is ordered.

Every type has an *axis*: the values of the column in a form whose order is Spark's own order.

| axis | types | form |
|---|---|---|
| ordinal | boolean, integers, date, timestamps, decimal up to 18 digits, float, double | int64 |
| wide | decimal of 19 to 38 digits | Python int (unscaled) |
| text | string, binary | str or bytes; code point order is UTF-8 byte order |

Floats reach the ordinal axis by their bits, with -0.0 folded into 0.0 and NaN as the largest value, as Spark SQL
compares them. So one interval algebra serves all fixed-width types, and an open end is the closed end next to it.
Neighbours on the axis are neighbours in the type: float and double have an axis each.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import re
import struct
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from headgate.errors import InvalidFilter

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_DOUBLE_INFINITY, _FLOAT_INFINITY = 0x7FF0000000000000, 0x7F800000
_EPOCH_DATE = dt.date(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_NTZ = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamp_ntz has no zone by definition


class Axis(Enum):
    """How the values of a type are stored and ordered."""

    ORDINAL = "ordinal"
    WIDE = "wide"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ValueType:
    """One Spark column type; ``name`` is Spark's own spelling, such as ``bigint`` or ``decimal(7,2)``.

    ``low`` and ``high`` are the ends of the axis; of a float type the high end is the place of NaN.
    """

    name: str
    axis: Axis
    low: Any
    high: Any
    scale: int = 0
    precision: int = 0

    @property
    def is_float(self) -> bool:
        """Whether values are floating point, where NaN exists and Parquet statistics leave it out."""
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        """Whether values are decimals, stored by their unscaled value."""
        return self.precision > 0

    @property
    def fits_bitmap(self) -> bool:
        """Whether values are whole numbers that a roaring bitmap can hold."""
        return self.axis is Axis.ORDINAL and not self.is_float

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return value_type, (self.name,)


def _ordinal(name: str, low: int, high: int) -> ValueType:
    return ValueType(name, Axis.ORDINAL, low, high)


BOOLEAN = _ordinal("boolean", 0, 1)
TINYINT = _ordinal("tinyint", -(2**7), 2**7 - 1)
SMALLINT = _ordinal("smallint", -(2**15), 2**15 - 1)
INT = _ordinal("int", -(2**31), 2**31 - 1)
BIGINT = _ordinal("bigint", INT64_MIN, INT64_MAX)
DATE = _ordinal("date", -(2**31), 2**31 - 1)
TIMESTAMP = _ordinal("timestamp", INT64_MIN, INT64_MAX)
TIMESTAMP_NTZ = _ordinal("timestamp_ntz", INT64_MIN, INT64_MAX)
FLOAT = _ordinal("float", -_FLOAT_INFINITY, _FLOAT_INFINITY + 1)
DOUBLE = _ordinal("double", -_DOUBLE_INFINITY, _DOUBLE_INFINITY + 1)
STRING = ValueType("string", Axis.TEXT, "", None)
BINARY = ValueType("binary", Axis.TEXT, b"", None)

NAMED_TYPES = {
    t.name: t
    for t in (
        BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, DOUBLE, STRING, BINARY,
    )
}  # fmt: skip


def decimal_type(precision: int, scale: int) -> ValueType:
    """Return the type ``decimal(precision,scale)``."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise InvalidFilter(
            f"decimal({precision},{scale}) is not a Spark decimal; use precision 1 to 38 and scale 0 to precision"
        )
    top = 10**precision - 1
    axis = Axis.ORDINAL if precision <= 18 else Axis.WIDE
    return ValueType(f"decimal({precision},{scale})", axis, -top, top, scale, precision)


def value_type(name: ValueType | str) -> ValueType:
    """Return the type that Spark calls ``name``; a type is returned as it is."""
    if isinstance(name, ValueType):
        return name
    if (found := NAMED_TYPES.get(name)) is not None:
        return found
    if match := re.fullmatch(r"decimal\((\d{1,2}),\s*(\d{1,2})\)", name):
        return decimal_type(int(match[1]), int(match[2]))
    known = ", ".join(sorted(NAMED_TYPES))
    raise InvalidFilter(f"no domain over type {name!r}; use one of {known} or decimal(p,s)")


def to_axis(type: ValueType, value: Any) -> Any:
    """Turn one Python value of a column into its place on the axis; refuse what the type cannot hold."""
    if value is None:
        raise InvalidFilter(f"NULL is not a value of {type}; allow it with null_allowed=True")
    if type.axis is Axis.TEXT:
        return _text(type, value)
    if type.is_float:
        return float_to_axis(type, _number(type, value))
    place = _unscaled(type, value) if type.is_decimal else _whole(type, value)
    if not type.low <= place <= type.high:
        raise _outside(type, value)
    return place


def from_axis(type: ValueType, place: Any) -> Any:
    """Turn a place on the axis back into the Python value that PySpark would show for it."""
    match type.name:
        case "boolean":
            return bool(place)
        case "float" | "double":
            return axis_to_float(type, place)
        case "date" | "timestamp" | "timestamp_ntz":
            return _moment(type, place)
    return decimal.Decimal(place).scaleb(-type.scale, _EXACT) if type.is_decimal else place


_EXACT = decimal.Context(prec=60)


def float_to_axis(type: ValueType, value: float) -> int:
    """Map a number to the ordinal of the nearest float of the type; ordinals sort as Spark sorts floats."""
    if math.isnan(value):
        return int(type.high)
    try:
        raw = struct.pack("<f" if type is FLOAT else "<d", value)
    except OverflowError:
        raise _outside(type, value) from None
    bits = int.from_bytes(raw, "little", signed=True)
    return bits if bits >= 0 else -(bits & _sign_mask(type))


def axis_to_float(type: ValueType, place: int) -> float:
    """Map the ordinal of a float back to the float."""
    if place == type.high:
        return math.nan
    width = 4 if type is FLOAT else 8
    value: float = struct.unpack("<f" if type is FLOAT else "<d", abs(place).to_bytes(width, "little"))[0]
    return -value if place < 0 else value


def _sign_mask(type: ValueType) -> int:
    return 2**31 - 1 if type is FLOAT else INT64_MAX


def short_repr(value: Any) -> str:
    """Return the repr of a value, cut to a length that fits a message."""
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python will print
        return f"a number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _outside(type: ValueType, value: Any) -> InvalidFilter:
    ends = f", which holds {type.low} to {type.high}" if type.fits_bitmap and not type.is_decimal else ""
    return InvalidFilter(f"{short_repr(value)} is outside {type}{ends}")


def _text(type: ValueType, value: Any) -> str | bytes:
    if type is STRING and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidFilter(f"{short_repr(value)} is not valid text: {error.reason}") from error
        return value
    if type is BINARY and isinstance(value, bytes | bytearray):
        return bytes(value)
    raise InvalidFilter(f"{short_repr(value)} is not a {type}; expected {'str' if type is STRING else 'bytes'}")


def _number(type: ValueType, value: Any) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise InvalidFilter(f"{short_repr(value)} is not a {type}; expected a float")
    try:
        return float(value)
    except OverflowError:
        raise _outside(type, value) from None


def _whole(type: ValueType, value: Any) -> int:
    match type.name, value:
        case "boolean", bool() | np.bool_():
            return int(value)
        case "date", dt.date() if not isinstance(value, dt.datetime):
            return (value - _EPOCH_DATE).days
        case "timestamp", dt.datetime() if value.tzinfo is not None:
            return (value - _EPOCH_UTC) // dt.timedelta(microseconds=1)
        case "timestamp_ntz", dt.datetime() if value.tzinfo is None:
            return (value - _EPOCH_NTZ) // dt.timedelta(microseconds=1)
        case ("boolean", _) | (_, bool()):
            pass
        case _, numbers.Integral():
            return int(value)
    raise InvalidFilter(f"{short_repr(value)} is not a {type}; expected {_EXPECTED.get(type.name, 'int')}")


_EXPECTED = {
    "boolean": "bool",
    "date": "datetime.date, or int days since 1970",
    "timestamp": "datetime with a zone, or int microseconds since 1970",
    "timestamp_ntz": "datetime without a zone, or int microseconds since 1970",
}


def _unscaled(type: ValueType, value: Any) -> int:
    if not isinstance(value, numbers.Integral | decimal.Decimal) or isinstance(value, bool):
        raise InvalidFilter(f"{short_repr(value)} is not a {type}; expected Decimal or int")
    if isinstance(value, numbers.Integral):
        return int(value) * int(10**type.scale)
    if not value.is_finite():
        raise InvalidFilter(f"{short_repr(value)} is not a {type}; expected a finite Decimal")
    if not value:
        return 0
    if value.adjusted() > 38:
        raise _outside(type, value)
    sign, digits, exponent = value.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    shift = int(exponent) + len(digits) - len(significant) + type.scale
    if shift < 0:
        raise InvalidFilter(f"{short_repr(value)} has more than {type.scale} decimals, which {type} cannot hold")
    unscaled = int(f"{significant}{'0' * shift}")
    return -unscaled if sign else unscaled


def _moment(type: ValueType, place: int) -> Any:
    """Return a moment; one outside Python's calendar stays a number."""
    try:
        if type is DATE:
            return _EPOCH_DATE + dt.timedelta(days=place)
        return (_EPOCH_UTC if type is TIMESTAMP else _EPOCH_NTZ) + dt.timedelta(microseconds=place)
    except OverflowError:
        return place
