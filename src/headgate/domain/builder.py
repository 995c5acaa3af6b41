"""Build a domain from a column in one pass, with bounded memory: set, then bitmap, then bloom and range, then range.

The builder starts with an exact set. When a limit is passed it keeps what it has seen in the next cheaper form; nothing
seen is ever forgotten, so the result always holds every value added.

    set        up to ``max_distinct`` values (the limit itself is still a set) and ``max_bytes``
    bitmap     whole numbers, while its bytes stay within ``max_bytes``
    bloom      with the range of the values, while at most half of its bits are set
    range      smallest to largest
    ALL        when ranges are switched off or the memory budget is gone
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain.arrays import Array, axis_column, empty_places, sorted_distinct
from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.domain import Domain
from headgate.domain.hashing import xxhash64
from headgate.domain.intervals import Intervals, bounds_at
from headgate.domain.types import ValueType, value_type
from headgate.domain.values import Discrete, from_bloom, from_ids, from_intervals, from_places
from headgate.errors import InvalidFilter

_CHUNK = 1 << 18
_BLOOM_BITS_PER_ITEM = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a domain may grow before it is kept in a cheaper form (DESIGN: spark.headgate.*)."""

    max_distinct: int = 10_000
    max_bytes: int = 10 * 1024 * 1024
    ranges: bool = True
    bloom_items: int = 1_000_000


class MemoryBudget:
    """A number of bytes that several builders share; thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit, self._used, self._lock = limit, 0, Lock()

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self._used

    def resize(self, held: int, wanted: int) -> bool:
        """Change a holding from ``held`` to ``wanted`` bytes; False, and no change, when that does not fit."""
        with self._lock:
            if wanted > held and self._used - held + wanted > self.limit:
                return False
            self._used += wanted - held
            return True


class _Stage(IntEnum):
    SET = 0
    BITMAP = 1
    BLOOM = 2
    RANGE = 3
    ALL = 4


class DomainBuilder:
    """Collect the values of one column. Not thread-safe: one builder per task, merged afterwards.

    >>> builder = DomainBuilder("bigint")
    >>> builder.add(np.array([3, 1, 3]))
    >>> builder.build().listed()
    [1, 3]
    """

    def __init__(
        self, kind: ValueType | str, limits: Limits | None = None, budget: MemoryBudget | None = None
    ) -> None:
        self._kind = value_type(kind) if isinstance(kind, str) else kind
        self._limits, self._budget = limits or Limits(), budget
        self._stage, self._held = _Stage.SET, 0
        self._places = empty_places(self._kind)
        self._ids: IdBitmap | None = None
        self._bloom: BloomBits | None = None
        self._span = Intervals.none(self._kind)
        self._null = self._built = False

    def add(self, column: Any) -> None:
        """Take in an Arrow or NumPy column, in any order, NULLs included."""
        if self._built:
            raise InvalidFilter("this builder has built its domain; start a new one")
        for chunk in _chunks(column):
            places, valid = axis_column(self._kind, chunk)
            if not valid.all():
                self._null, places = True, places[valid]
            if len(places) and self._stage is not _Stage.ALL:
                self._take(places)

    def add_nulls(self) -> None:
        """Note that a NULL was seen."""
        self._null = True

    def build(self) -> Domain:
        """Return the domain of everything added, NULL allowed when one was seen, and free the memory."""
        domain = self._result()
        self._built = True
        self._reserve(0)
        return domain

    def _result(self) -> Domain:
        kind = self._kind
        match self._stage:
            case _Stage.SET:
                return Domain(from_places(kind, self._places), self._null)
            case _Stage.BITMAP:
                assert self._ids is not None
                return Domain(from_ids(kind, self._ids), self._null)
            case _Stage.BLOOM:
                assert self._bloom is not None
                return Domain(from_bloom(kind, self._bloom, self._span), self._null)
            case _Stage.RANGE:
                return Domain(from_intervals(kind, self._span), self._null)
        return Domain.all(kind)

    def _take(self, places: Array) -> None:
        match self._stage:
            case _Stage.SET:
                self._places = sorted_distinct(np.concatenate((self._places, places)))
            case _Stage.BITMAP:
                assert self._ids is not None
                self._ids = self._ids.union(IdBitmap.of(places))
            case _Stage.BLOOM:
                assert self._bloom is not None
                self._bloom = self._bloom.add(xxhash64(self._kind, places))
                self._widen(places)
            case _Stage.RANGE:
                self._widen(places)
        while not self._fits():
            self._degrade()

    def _fits(self) -> bool:
        limits = self._limits
        match self._stage:
            case _Stage.SET:
                size = Discrete(self._kind, self._places).nbytes
                fits = len(self._places) <= limits.max_distinct and size <= limits.max_bytes
            case _Stage.BITMAP:
                assert self._ids is not None
                size = len(self._ids.to_bytes())
                fits = size <= limits.max_bytes
            case _Stage.BLOOM:
                assert self._bloom is not None
                size, fits = self._bloom.nbytes, self._bloom.fill <= 0.5
            case _Stage.RANGE:
                size, fits = 64, limits.ranges
            case _:
                size, fits = 0, True
        return fits and self._reserve(size)

    def _degrade(self) -> None:
        seen = self._ids.ids() if self._ids is not None else self._places
        self._places, self._ids = empty_places(self._kind), None
        bits = min(self._limits.max_bytes * 8, max(self._limits.bloom_items, len(seen)) * _BLOOM_BITS_PER_ITEM)
        if self._stage is _Stage.SET and self._kind.fits_bitmap:
            self._stage, self._ids = _Stage.BITMAP, IdBitmap.of(seen)
        elif self._stage < _Stage.BLOOM and bits >= 64:
            empty = BloomBits.sized_for(max(1, bits // _BLOOM_BITS_PER_ITEM), bits)
            self._stage, self._bloom = _Stage.BLOOM, empty.add(xxhash64(self._kind, seen))
            self._widen(seen)
        elif self._stage < _Stage.RANGE:
            self._stage, self._bloom = _Stage.RANGE, None
            self._widen(seen)
        else:
            self._stage, self._span = _Stage.ALL, Intervals.none(self._kind)

    def _widen(self, places: Array) -> None:
        if len(places):
            ends = np.array([places.min(), places.max()], dtype=places.dtype)
            ends = bounds_at(self._kind, ends)
            self._span = self._span.union(Intervals.merge(self._kind, ends[:1], ends[1:])).span()

    def _reserve(self, wanted: int) -> bool:
        if self._budget is None:
            return True
        if granted := self._budget.resize(self._held, wanted):
            self._held = wanted
        return granted


def _chunks(column: Any) -> list[Any]:
    """Split a long column, and let Arrow hash away repeats before anything is sorted."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and len(column) > _CHUNK:
        column = pa.array(column)
    if isinstance(column, pa.Array | pa.ChunkedArray):
        pieces = [column.slice(i, _CHUNK) for i in range(0, len(column), _CHUNK)]
        return [pc.unique(piece) if len(piece) > 1024 else piece for piece in pieces]
    return [column]


__all__ = ["DomainBuilder", "Limits", "MemoryBudget"]
