"""Keep large sets of whole numbers in a roaring bitmap, 32 bit where the ids allow it and 64 bit otherwise.

Roaring stores unsigned numbers. Ids from 0 to 2^32-1 go in as they are; a set with any other number is stored in a
64-bit bitmap with the sign bit flipped, which keeps the order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyroaring import BitMap, BitMap64

from headgate.domain.arrays import Array
from headgate.errors import InvalidFilter

_FLIP = np.uint64(1 << 63)
_TOP = 2**32 - 1


@dataclass(frozen=True, eq=False, slots=True)
class IdBitmap:
    """An immutable roaring bitmap of int64 ids."""

    bits: BitMap | BitMap64

    @classmethod
    def of(cls, ids: Array) -> IdBitmap:
        """Return the bitmap of int64 ids, in any order."""
        if len(ids) == 0 or (ids.min() >= 0 and ids.max() <= _TOP):
            return cls(_packed(BitMap(array("I", ids.astype(np.uint32).tobytes()))))
        return cls(_packed(_wide(ids)))

    @classmethod
    def from_bytes(cls, data: bytes, width: int) -> IdBitmap:
        """Read the portable roaring format of a 32 or 64 bit bitmap."""
        if width not in (32, 64):
            raise InvalidFilter(f"a bitmap is 32 or 64 bits wide, not {width}")
        try:  # reading checks the order of the ids too; a bitmap out of order would give wrong answers
            bitmap = cls((BitMap if width == 32 else BitMap64).deserialize(data))
        except (ValueError, IndexError, MemoryError, RuntimeError) as error:
            raise InvalidFilter(f"the {len(data)} bytes are not a {width}-bit roaring bitmap: {error}") from error
        if bitmap.to_bytes() != data:
            raise InvalidFilter(f"the {len(data)} bytes are not a {width}-bit roaring bitmap: some are left over")
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

    def ends(self) -> tuple[int, int]:
        """Return the smallest and the largest id; the bitmap must not be empty."""
        bias = 0 if self.width == 32 else 2**63
        return self.bits.min() - bias, self.bits.max() - bias

    def contains(self, ids: Array) -> Array:
        """Return for each int64 id whether it is in the bitmap."""
        if len(ids) > len(self) // 8:
            return self.count_between(ids, ids) > 0
        answer = np.zeros(len(ids), dtype=bool)
        inside = (ids >= 0) & (ids <= _TOP) if self.width == 32 else ~answer
        asked = ids[inside] if self.width == 32 else ids.view(np.uint64) ^ _FLIP
        answer[inside] = np.fromiter(map(self.bits.__contains__, asked.tolist()), dtype=bool, count=len(asked))
        return answer

    def count_between(self, lows: Array, highs: Array) -> Array:
        """Return for each closed interval how many ids it contains."""
        if len(lows) <= len(self) // 8:  # listing the ids would take eight bytes for each
            return self._count_few(lows, highs)
        ids = self.ids()
        counts: Array = np.searchsorted(ids, highs, side="right") - np.searchsorted(ids, lows, side="left")
        return counts

    def _count_few(self, lows: Array, highs: Array) -> Array:
        """Ask the bitmap once for each interval."""
        bias, top = (0, _TOP) if self.width == 32 else (2**63, 2**64 - 1)
        pairs = zip(lows.tolist(), highs.tolist(), strict=True)
        ends = ((max(low + bias, 0), min(high + bias, top)) for low, high in pairs)
        # the end is not included, and 2^64 is no number that it takes: the last id is asked for by itself
        counted = (
            0 if low > high else self.bits.range_cardinality(low, high) + (high in self.bits) for low, high in ends
        )
        return np.fromiter(counted, dtype=np.int64, count=len(lows))

    def union(self, other: IdBitmap) -> IdBitmap:
        """Return the ids in either."""
        return IdBitmap(_packed(_combined(self, other, lambda a, b: a | b)))

    def intersect(self, other: IdBitmap) -> IdBitmap:
        """Return the ids in both."""
        both = _combined(self, other, lambda a, b: a & b)
        return IdBitmap(_packed(both)) if isinstance(both, BitMap) else IdBitmap.narrowest(both)

    def minus(self, other: IdBitmap) -> IdBitmap:
        """Return the ids that the other does not have."""
        left = _combined(self, other, lambda a, b: a - b)
        return IdBitmap(_packed(left)) if isinstance(left, BitMap) else IdBitmap.narrowest(left)

    @classmethod
    def narrowest(cls, bits: BitMap64) -> IdBitmap:
        """Return a 64-bit bitmap in 32 bits where its ids allow it."""
        flip = int(_FLIP)
        if len(bits) and (bits.min() < flip or bits.max() > flip + _TOP):
            return cls(_packed(bits))
        return cls.of(cls(bits).ids())

    def same_as(self, other: IdBitmap) -> bool:
        """Whether both hold the same ids."""
        return bool(_combined(self, other, lambda a, b: a == b))


def _combined(a: IdBitmap, b: IdBitmap, how: Callable[[Any, Any], Any]) -> Any:
    """Apply an operator to two bitmaps of one width, widening the narrow one where they differ."""
    if a.width == b.width:
        return how(a.bits, b.bits)
    return how(_widened(a), _widened(b))


def _widened(bitmap: IdBitmap) -> BitMap | BitMap64:
    return bitmap.bits if bitmap.width == 64 else _wide(bitmap.ids())


def _wide(ids: Array) -> BitMap64:
    return BitMap64(array("Q", (ids.view(np.uint64) ^ _FLIP).tobytes()))


def _packed(bits: BitMap | BitMap64) -> BitMap | BitMap64:
    bits.run_optimize()
    return bits
