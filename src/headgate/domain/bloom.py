"""Keep a bloom filter in the format that Spark's ``BloomFilterMightContain`` reads.

Members are added by their ``xxhash64``, so that Spark can test ``xxhash64(column)``. The format is version 1 of
Spark's sketch library, which every Spark 3 and 4 reads: big-endian ``version=1, hash functions, words`` and then the
words. Spark 4.1 and later write version 2 themselves, which sets other bits and is not read here.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np

from headgate.domain.arrays import Array
from headgate.errors import InvalidFilter

_HEADER = struct.Struct(">iii")
_VERSION = 1
MAX_HASH_FUNCTIONS = 64


@dataclass(frozen=True, eq=False, slots=True)
class BloomBits:
    """An immutable bloom filter over 64-bit hashes, with false positives and no false negatives."""

    hash_functions: int
    words: Array

    def __post_init__(self) -> None:
        if not 1 <= self.hash_functions <= MAX_HASH_FUNCTIONS:
            raise InvalidFilter(
                f"a bloom filter has 1 to {MAX_HASH_FUNCTIONS} hash functions, not {self.hash_functions}"
            )
        if self.words.dtype != np.uint64 or not len(self.words):
            raise InvalidFilter("a bloom filter needs at least one 64-bit word")

    @classmethod
    def sized_for(cls, items: int, bits: int) -> BloomBits:
        """Return an empty filter of about ``bits`` bits with the best number of hash functions for ``items`` items."""
        words = max(1, (bits + 63) // 64)
        functions = max(1, min(MAX_HASH_FUNCTIONS, round(words * 64 / max(1, items) * math.log(2))))
        return cls(functions, np.zeros(words, dtype=np.uint64))

    @classmethod
    def from_spark(cls, data: bytes) -> BloomBits:
        """Read Spark's serialized form."""
        if len(data) < _HEADER.size:
            raise InvalidFilter(
                f"a bloom filter has at least {_HEADER.size} bytes, got {len(data)}; the message is cut off"
            )
        version, functions, count = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise InvalidFilter(f"unknown bloom filter version {version}; expected {_VERSION}")
        if count < 1 or len(data) != _HEADER.size + 8 * count:
            raise InvalidFilter(
                f"a bloom filter of {count} words has {_HEADER.size + 8 * count} bytes, got {len(data)}"
            )
        return cls(functions, np.frombuffer(data, dtype=">u8", offset=_HEADER.size).astype(np.uint64))

    def to_spark(self) -> bytes:
        """Return the bytes that Spark reads."""
        return _HEADER.pack(_VERSION, self.hash_functions, len(self.words)) + self.words.astype(">u8").tobytes()

    @property
    def nbytes(self) -> int:
        """Size of the words in bytes."""
        return int(self.words.nbytes)

    @property
    def fill(self) -> float:
        """Share of bits that are set; above one half the filter rules out little."""
        return float(np.bitwise_count(self.words).sum()) / (len(self.words) * 64)

    def add(self, hashes: Array) -> BloomBits:
        """Return a filter that also holds these hashes."""
        if len(hashes) * 64 < len(self.words):
            words = self.words.copy()
            for bits in self._positions(hashes):
                np.bitwise_or.at(words, bits >> 6, np.uint64(1) << (bits & 63).astype(np.uint64))
            return BloomBits(self.hash_functions, words)
        touched = np.zeros(
            len(self.words) * 64, dtype=bool
        )  # needs eight times the memory for a moment, and is far faster
        for bits in self._positions(hashes):
            touched[bits] = True
        return BloomBits(self.hash_functions, self.words | np.packbits(touched, bitorder="little").view("<u8"))

    def might_contain(self, hashes: Array) -> Array:
        """Return for each hash whether it may be in the filter."""
        answer = np.ones(len(hashes), dtype=bool)
        for bits in self._positions(hashes):
            answer &= ((self.words[bits >> 6] >> (bits & 63).astype(np.uint64)) & np.uint64(1)).astype(bool)
        return answer

    def same_shape(self, other: BloomBits) -> bool:
        """Whether the bits of both mean the same."""
        return self.hash_functions == other.hash_functions and len(self.words) == len(other.words)

    def same_as(self, other: BloomBits) -> bool:
        """Whether the two are bit for bit equal."""
        return self.same_shape(other) and bool(np.array_equal(self.words, other.words))

    def folds_with(self, other: BloomBits) -> bool:
        """Whether the larger can be folded onto the smaller: bit ``p`` of one is bit ``p % size`` of the other."""
        small, large = sorted((len(self.words), len(other.words)))
        return self.hash_functions == other.hash_functions and large % small == 0

    def union(self, other: BloomBits) -> BloomBits:
        """Return a filter of both, as large as the smaller; they must fold (``folds_with``)."""
        size = min(len(self.words), len(other.words))
        return BloomBits(self.hash_functions, self._folded(size) | other._folded(size))

    def intersect(self, other: BloomBits) -> BloomBits:
        """Return a filter of what is in both; the shapes must be the same."""
        return BloomBits(self.hash_functions, self.words & other.words)

    def _folded(self, size: int) -> Array:
        folded: Array = np.bitwise_or.reduce(self.words.reshape(-1, size), axis=0)
        return folded

    def _positions(self, hashes: Array) -> list[Array]:
        size = np.int64(len(self.words) * 64)
        first = _murmur3_long(hashes, np.zeros(len(hashes), dtype=np.uint32))
        second = _murmur3_long(hashes, first)
        positions = []
        with np.errstate(over="ignore"):
            for i in range(1, self.hash_functions + 1):
                combined = (first + np.uint32(i) * second).view(np.int32)
                positions.append(np.where(combined < 0, ~combined, combined).astype(np.int64) % size)
        return positions


def _murmur3_long(values: Array, seed: Array) -> Array:
    words = np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        low, high = words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)
        hashes = _murmur3_mix(_murmur3_mix(seed, low), high) ^ np.uint32(8)
        hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return hashes ^ (hashes >> np.uint32(16))


def _murmur3_mix(hashes: Array, word: Array) -> Array:
    word = word * np.uint32(0xCC9E2D51)
    word = ((word << np.uint32(15)) | (word >> np.uint32(17))) * np.uint32(0x1B873593)
    mixed = hashes ^ word
    return ((mixed << np.uint32(13)) | (mixed >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
