"""Read the keys that build tasks and taps pack into bytes, as `Builds.java` and `KeyCollector.java` write them.

builds      count, then for each: number i32, rows i64, rows came along u8, their bytes i64, milliseconds i64,
            length and text of the error, count of keys, count of partitions, then the keys of each partition
key         length i32, form u8, NULL seen u8, and a body that depends on the form
numbers     big-endian i64, as many as there are      texts   length i32 and bytes, as many as there are
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from headgate.domain import Domain, ValueType
from headgate.domain.bitmap import IdBitmap
from headgate.domain.types import BINARY, STRING, from_axis
from headgate.domain.values import from_ids

_BUILD = struct.Struct(">iq?qqi")
_COUNTS = struct.Struct(">ii")
_LENGTH = struct.Struct(">i")


class Form(IntEnum):
    """How the values of a key are packed; any other number means that all values may occur."""

    NUMBERS = 0
    BITMAP = 1
    RANGE = 2
    TEXTS = 3
    TEXT_RANGE = 4
    WIDE_BITMAP = 6


@dataclass(frozen=True, slots=True)
class PackedBuild:
    """What one build gave: its number, its rows, and for each partition the packed keys."""

    number: int
    rows: int
    has_rows: bool
    row_bytes: int
    millis: int
    error: str
    partitions: list[list[bytes]]


def unpack_builds(packed: bytes) -> list[PackedBuild]:
    """Read what the builds of a wave gave, in the order in which they were asked for."""
    (count,) = _LENGTH.unpack_from(packed, 0)
    found, at = [], _LENGTH.size
    for _ in range(count):
        number, rows, has_rows, row_bytes, millis, length = _BUILD.unpack_from(packed, at)
        at += _BUILD.size
        error = packed[at : at + length].decode()
        at += length
        keys, partitions = _COUNTS.unpack_from(packed, at)
        texts, at = _texts(packed, at + _COUNTS.size, keys * partitions)
        split = [texts[i * keys : (i + 1) * keys] for i in range(partitions)]
        found.append(PackedBuild(number, rows, has_rows, row_bytes, millis, error, split))
    return found


def unpack_tap(packed: bytes) -> list[bytes]:
    """Read the packed keys that the tasks of a tapped stage reported."""
    return _texts(packed, 0)[0]


def partial_domain(column_type: ValueType, packed: bytes) -> Domain:
    """Read one task's domain of one key; a string that is not UTF-8 has no place in a domain, so then all may match."""
    try:
        return _read(column_type, packed)
    except UnicodeDecodeError:
        return Domain.all(column_type)


def _read(column_type: ValueType, packed: bytes) -> Domain:
    has_null, body = bool(packed[1]), packed[2:]
    match packed[0]:
        case Form.NUMBERS:
            return Domain.of_array(column_type, _numbers(column_type, body)).with_null(has_null)
        case Form.BITMAP:
            return Domain(from_ids(column_type, IdBitmap.from_bytes(body, 32)), has_null)
        case Form.WIDE_BITMAP:
            return Domain(from_ids(column_type, IdBitmap.from_bytes(body, 64)), has_null)
        case Form.RANGE:
            low, high = (_python(column_type, value) for value in _numbers(column_type, body).tolist())
            return Domain.range(column_type, low, high, null_allowed=has_null)
        case Form.TEXTS:
            return Domain.of(
                column_type, [_text(column_type, raw) for raw in _texts(body, 0)[0]], null_allowed=has_null
            )
        case Form.TEXT_RANGE:
            low, high = (_text(column_type, raw) for raw in _texts(body, 0)[0])
            return Domain.range(column_type, low, high, null_allowed=has_null)
    return Domain.all(column_type)


def _numbers(column_type: ValueType, body: bytes) -> Any:
    raw = np.frombuffer(body, dtype=">i8").astype(np.int64)
    if column_type.is_float:
        return raw.view(np.float64)
    if column_type.name == "boolean":
        return raw.astype(bool)
    if column_type.is_decimal:
        return np.array([_python(column_type, value) for value in raw.tolist()], dtype=object)
    return raw


def _python(column_type: ValueType, value: Any) -> Any:
    return from_axis(column_type, value) if column_type.is_decimal and isinstance(value, int) else value


def _texts(body: bytes, at: int, count: int | None = None) -> tuple[list[bytes], int]:
    """Read some texts, or all up to the end; return them and where they end."""
    found: list[bytes] = []
    while at < len(body) if count is None else len(found) < count:
        (length,) = _LENGTH.unpack_from(body, at)
        found.append(body[at + _LENGTH.size : at + _LENGTH.size + length])
        at += _LENGTH.size + length
    return found, at


def _text(column_type: ValueType, raw: bytes) -> Any:
    if column_type is STRING:
        return raw.decode()
    if column_type is BINARY:
        return raw
    return _python(column_type, int.from_bytes(raw, "big", signed=True))
