"""Hash values exactly as Spark's ``xxhash64`` does, a whole column at a time."""

from __future__ import annotations

import numpy as np

from headgate.domain.arrays import Array, axis_to_floats
from headgate.domain.types import BIGINT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Axis, ValueType

SPARK_SEED = 42
_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)


def xxhash64(type: ValueType, places: Array) -> Array:
    """Return Spark's ``xxhash64(column)`` of values given by their places on the axis, as int64."""
    with np.errstate(over="ignore"):
        if type.axis is Axis.TEXT:
            encoded = [place.encode() for place in places] if type is STRING else list(places)
            return _hash_bytes(encoded)
        if type.axis is Axis.WIDE:
            return _hash_bytes([_big_endian(int(place)) for place in places])
        if type.name == "double":
            return _hash_longs(axis_to_floats(type, places).view(np.uint64))
        if type.name == "float":
            return _hash_ints(axis_to_floats(type, places).view(np.uint32).astype(np.uint64))
        if type in (BIGINT, TIMESTAMP, TIMESTAMP_NTZ) or type.is_decimal:
            return _hash_longs(places.view(np.uint64))
        return _hash_ints(places.astype(np.int32).view(np.uint32).astype(np.uint64))


def _rotate(values: Array, by: int) -> Array:
    return (values << np.uint64(by)) | (values >> np.uint64(64 - by))


def _finish(hashes: Array) -> Array:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _PRIME_2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _PRIME_3
    finished: Array = (hashes ^ (hashes >> np.uint64(32))).view(np.int64)
    return finished


def _hash_ints(words: Array) -> Array:
    hashes = np.uint64(SPARK_SEED) + _PRIME_5 + np.uint64(4) ^ (words * _PRIME_1)
    return _finish(_rotate(hashes, 23) * _PRIME_2 + _PRIME_3)


def _hash_longs(words: Array) -> Array:
    hashes = np.uint64(SPARK_SEED) + _PRIME_5 + np.uint64(8) ^ (_rotate(words * _PRIME_2, 31) * _PRIME_1)
    return _finish(_rotate(hashes, 27) * _PRIME_1 + _PRIME_4)


def _hash_bytes(encoded: list[bytes]) -> Array:
    """Values of one length are hashed together, so the loop is over lengths, not over values."""
    result = np.empty(len(encoded), dtype=np.int64)
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        joined = b"".join([encoded[row] for row in rows])
        result[rows] = _hash_same_length(np.frombuffer(joined, dtype=np.uint8).reshape(len(rows), int(length)))
    return result


def _hash_same_length(block: Array) -> Array:
    rows, length = block.shape
    words = np.ascontiguousarray(block[:, : length & ~7]).view("<u8")
    hashes, used = _hash_stripes(words, length)
    hashes = hashes + np.uint64(length)
    for column in range(used, words.shape[1]):
        hashes = hashes ^ (_rotate(words[:, column] * _PRIME_2, 31) * _PRIME_1)
        hashes = _rotate(hashes, 27) * _PRIME_1 + _PRIME_4
    at = length & ~7
    if at + 4 <= length:
        half = np.ascontiguousarray(block[:, at : at + 4]).view("<u4").reshape(rows).astype(np.uint64)
        hashes = _rotate(hashes ^ (half * _PRIME_1), 23) * _PRIME_2 + _PRIME_3
        at += 4
    for column in range(at, length):
        hashes = _rotate(hashes ^ (block[:, column].astype(np.uint64) * _PRIME_5), 11) * _PRIME_1
    return _finish(hashes)


def _hash_stripes(words: Array, length: int) -> tuple[Array, int]:
    """Return the hash of the 32-byte stripes and how many 8-byte words they used."""
    rows, seed = words.shape[0], np.uint64(SPARK_SEED)
    if length < 32:
        return np.full(rows, seed + _PRIME_5, dtype=np.uint64), 0
    starts = (seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2, seed, seed - _PRIME_1)
    lanes = [np.full(rows, start, dtype=np.uint64) for start in starts]
    stripes = length // 32
    for stripe in range(stripes):
        for lane in range(4):
            mixed = lanes[lane] + words[:, stripe * 4 + lane] * _PRIME_2
            lanes[lane] = _rotate(mixed, 31) * _PRIME_1
    hashes = _rotate(lanes[0], 1) + _rotate(lanes[1], 7) + _rotate(lanes[2], 12) + _rotate(lanes[3], 18)
    for ended in lanes:
        hashes = (hashes ^ (_rotate(ended * _PRIME_2, 31) * _PRIME_1)) * _PRIME_1 + _PRIME_4
    return hashes, stripes * 4


def _big_endian(value: int) -> bytes:
    """Spark hashes a wide decimal by the bytes of its Java BigInteger."""
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)
