"""Hold large sets of whole numbers as a roaring bitmap, 32 bit where the ids allow it and 64 bit otherwise.

Roaring stores unsigned numbers. Ids from 0 to 2^32-1 go in as they are; a set with any other number is stored in a
64-bit bitmap with the sign bit flipped, which keeps the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap, BitMap64

from headgate.domain.arrays import Array
from headgate.errors import InvalidFilter

_FLIP = np.uint64(1 << 63)
_WIDE_BIAS = 1 << 63


@dataclass(frozen=True, eq=False, slots=True)
class IdBitmap:
    """An immutable roaring bitmap of int64 ids."""

    bits: BitMap | BitMap64

    @classmethod
    def of(cls, ids: Array) -> IdBitmap:
        """Return the bitmap of int64 ids, in any order."""
        if len(ids) == 0 or (ids.min() >= 0 and ids.max() < 2**32):
            return cls(_packed(BitMap(np.ascontiguousarray(ids.astype(np.uint32)))))
        return cls(_packed(BitMap64(np.ascontiguousarray(ids.view(np.uint64) ^ _FLIP))))

    @classmethod
    def from_bytes(cls, data: bytes, width: int) -> IdBitmap:
        """Read the portable roaring format of a 32 or 64 bit bitmap."""
        if width not in (32, 64):
            raise InvalidFilter(f"a bitmap is 32 or 64 bit wide, not {width}")
        try:
            bitmap = cls((BitMap if width == 32 else BitMap64).deserialize(data))
        except (ValueError, MemoryError, RuntimeError) as error:
            raise InvalidFilter(f"not a roaring bitmap of {width} bit") from error
        ids = bitmap.ids()
        # a damaged bitmap may load and still be out of order, and then its answers are wrong: look before use
        if bitmap.bits.serialize() != data or np.any(ids[1:] <= ids[:-1]):
            raise InvalidFilter(f"not a roaring bitmap of {width} bit: its {len(data)} bytes are damaged")
        return bitmap

    def to_bytes(self) -> bytes:
        """Return the portable roaring format."""
        data: bytes = self.bits.serialize()
        return data

    @property
    def width(self) -> int:
        """32 or 64."""
        return 32 if isinstance(self.bits, BitMap) else 64

    def __len__(self) -> int:
        return len(self.bits)

    def ids(self) -> Array:
        """Return the ids as sorted int64."""
        raw = np.asarray(self.bits.to_array())
        if self.width == 32:
            return raw.astype(np.int64)
        return (raw.astype(np.uint64) ^ _FLIP).view(np.int64)

    def contains(self, ids: Array) -> Array:
        """Say for each int64 id whether it is in the bitmap."""
        if len(ids) > len(self) // 8:
            held = self.ids()
            at = np.searchsorted(held, ids)
            at[at == len(held)] = 0
            return held[at] == ids if len(held) else np.zeros(len(ids), dtype=bool)
        bits, bias = self.bits, 0 if self.width == 32 else _WIDE_BIAS
        top = (1 << self.width) - 1
        return np.array([0 <= i + bias <= top and i + bias in bits for i in ids.tolist()], dtype=bool)

    def count_between(self, lows: Array, highs: Array) -> Array:
        """Say for each closed interval how many ids it holds."""
        held = self.ids()
        return np.searchsorted(held, highs, side="right") - np.searchsorted(held, lows, side="left")

    def union(self, other: IdBitmap) -> IdBitmap:
        """Return the ids in either."""
        left, right = _same_width(self, other)
        return IdBitmap(_packed(left | right))

    def intersect(self, other: IdBitmap) -> IdBitmap:
        """Return the ids in both."""
        left, right = _same_width(self, other)
        return IdBitmap.of(IdBitmap(left & right).ids())

    def same_as(self, other: IdBitmap) -> bool:
        """Whether both hold the same ids."""
        left, right = _same_width(self, other)
        return bool(left == right)


def _same_width(a: IdBitmap, b: IdBitmap) -> tuple[BitMap | BitMap64, BitMap | BitMap64]:
    if a.width == b.width:
        return a.bits, b.bits
    return _widened(a), _widened(b)


def _widened(bitmap: IdBitmap) -> BitMap64:
    return bitmap.bits if bitmap.width == 64 else BitMap64(bitmap.ids().view(np.uint64) ^ _FLIP)


def _packed(bits: BitMap | BitMap64) -> BitMap | BitMap64:
    bits.run_optimize()
    return bits
