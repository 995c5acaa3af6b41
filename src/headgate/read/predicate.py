"""Write sets of ids the way Lance's scanner takes them: as a predicate in its SQL, or as a mask of row ids."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate.domain.arrays import Array
from headgate.domain.bitmap import IdBitmap

_LISTED = 10_000  # ids up to which they are listed: Lance reads a list of so many in some hundredths of a second
_RANGES = 64  # ranges that stand for more ids than that
_TOO_MANY = 1 << 22  # ids from which even their gaps are not looked at: listed they would take eight bytes each
_COUNT, _ENTRY = struct.Struct("<I"), struct.Struct("<II")


def id_limits(kind: pa.DataType) -> tuple[int, int] | None:
    """Return the smallest and the largest id that a column of this type can hold, or None if it holds no ids."""
    if pa.types.is_signed_integer(kind):
        return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    if pa.types.is_unsigned_integer(kind):
        return 0, min(2**kind.bit_width - 1, 2**63 - 1)
    return None


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition in Lance's SQL that holds for every row whose column is in a set, and perhaps for others.

    ``is_tight`` says that there are few others: then an index of the column is worth asking.
    """

    sql: str
    is_tight: bool = True


def predicate_of(column: str, kind: pa.DataType, ids: IdBitmap) -> Predicate:
    """Return the condition for a set of ids: few are listed, many become ranges, cut where gaps are widest."""
    low, high = id_limits(kind) or (0, -1)
    if len(ids) > _TOO_MANY:
        first, last = ids.ends()
        first, last = max(first, low), min(last, high)
        return Predicate(_between(f"`{column}`", first, last) if first <= last else "false", is_tight=False)
    listed = ids.ids()
    listed = listed[(listed >= low) & (listed <= high)]  # Lance refuses a number that the column cannot hold
    if not len(listed):
        return Predicate("false")
    name = f"`{column}`"
    if len(listed) <= _LISTED and listed[0] != -(2**63):  # Lance's SQL cannot write that number
        return Predicate(f"{name} IN ({','.join(map(str, listed.tolist()))})")
    ranges = _ranges(listed)
    width = sum(last - first + 1 for first, last in ranges)
    sql = " OR ".join(_between(name, first, last) for first, last in ranges)
    return Predicate(sql, is_tight=width <= 2 * len(listed))


def united(predicates: Sequence[Predicate]) -> Predicate:
    """Return a condition that holds where all of some hold: that of the tight ones, if there are any.

    Rows are tested after it anyway, and wide ranges make Lance collect most of an index for nothing.
    """
    tight = [one for one in predicates if one.is_tight]
    return Predicate(" AND ".join(f"({one.sql})" for one in tight or predicates), is_tight=bool(tight))


def mask_of(ids: IdBitmap) -> bytes:
    """Return row ids as the mask that Lance's scanner takes: for each upper half of 32 bits a roaring bitmap.

    Row ids are not negative; others are no rows.
    """
    if ids.width == 32:
        return _masked([(0, ids.to_bytes())] if len(ids) else [])
    listed = ids.ids()
    listed = listed[listed >= 0]
    if not len(listed):
        return _masked([])
    halves, starts = np.unique(listed >> 32, return_index=True)
    parts = np.split(listed & 0xFFFFFFFF, starts[1:])
    bitmaps = [IdBitmap.of(part).to_bytes() for part in parts]
    return _masked(list(zip(halves.tolist(), bitmaps, strict=True)))


def _masked(entries: list[tuple[int, bytes]]) -> bytes:
    return _COUNT.pack(len(entries)) + b"".join(_ENTRY.pack(half, len(bits)) + bits for half, bits in entries)


def _ranges(listed: Array) -> list[tuple[int, int]]:
    """Return at most some ranges that contain all of the sorted ids."""
    gaps = np.diff(listed.view(np.uint64))  # unsigned, since a gap may be wider than 2^63
    cuts = np.sort(np.argsort(gaps)[-(_RANGES - 1) :]) if len(gaps) >= _RANGES else np.arange(len(gaps))
    cuts = cuts[gaps[cuts] > 1]
    firsts = listed[np.concatenate([[0], cuts + 1])]
    lasts = listed[np.concatenate([cuts, [len(listed) - 1]])]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _between(name: str, first: int, last: int) -> str:
    upper = f"{name} <= {last}" if last != -(2**63) else f"{name} < {last + 1}"
    return upper if first == -(2**63) else f"({name} >= {first} AND {upper})"
