"""Build a domain from a column in one pass, with bounded memory.

The builder starts with an exact set. When a limit or the memory budget is exceeded, it keeps what it has seen in the
next cheaper form (see `limits`). No value is forgotten, so the result always holds every value added.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.domain import algebra
from headgate.domain.arrays import Array, axis_column, distinct
from headgate.domain.domain import Domain
from headgate.domain.limits import Limits, cheaper, fits
from headgate.domain.types import ValueType, value_type
from headgate.domain.values import Bloom, Ranges, ValueSet, from_places, is_full, no_values
from headgate.errors import InvalidFilter

_CHUNK = 1 << 18


class MemoryBudget:
    """A number of bytes that several builders share; thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit, self._used, self._lock = limit, 0, Lock()

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self._used

    def resize(self, before: int, after: int) -> bool:
        """Change a reservation from ``before`` to ``after`` bytes; return False, unchanged, if it does not fit."""
        with self._lock:
            if after > before and self._used - before + after > self.limit:
                return False
            self._used += after - before
            return True


class DomainBuilder:
    """Collect the values of one column. Not thread-safe: one builder per task, merged afterwards.

    ``build``, ``close`` and the end of a ``with`` block return the memory to the budget.

    >>> builder = DomainBuilder("bigint")
    >>> builder.add(np.array([3, 1, 3]))
    >>> builder.build().listed()
    [1, 3]
    """

    def __init__(self, type: ValueType | str, limits: Limits | None = None, budget: MemoryBudget | None = None) -> None:
        self._type = value_type(type)
        self._limits, self._budget = limits or Limits(), budget
        self._values: ValueSet = no_values(self._type)
        self._reserved = 0
        self._null = self._gave_up = self._closed = False

    def __enter__(self) -> DomainBuilder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, column: Any) -> None:
        """Add an Arrow or NumPy column, in any order, NULLs included. After a column that raises, the domain is ALL."""
        if self._closed:
            raise InvalidFilter("this builder is closed: it has built its domain; make a new DomainBuilder")
        try:
            for chunk in _chunks(column):
                self._add_chunk(chunk)
        except BaseException:  # part of the column may be missing, and a domain without it would lose rows
            self._gave_up = True
            raise

    def add_nulls(self) -> None:
        """Add a NULL."""
        self._null = True

    def build(self) -> Domain:
        """Return the domain of everything added, NULL included if one was, and return the memory."""
        if self._closed:
            raise InvalidFilter("this builder is closed: it has built its domain; make a new DomainBuilder")
        domain = Domain.all(self._type) if self._gave_up else Domain(self._values, self._null)
        self.close()
        return domain

    def close(self) -> None:
        """Return the memory; closing twice is harmless."""
        self._closed, self._values = True, no_values(self._type)
        self._reserve(0)

    def _add_chunk(self, chunk: Any) -> None:
        places, valid = axis_column(self._type, chunk)
        if not valid.all():
            self._null, places = True, places[valid]
        if len(places) and not self._gave_up:
            self._add_places(places)

    def _add_places(self, places: Array) -> None:
        values = algebra.union(self._values, from_places(self._type, places))
        if isinstance(values, Ranges):
            values = Ranges(self._type, values.ranges.span())
        elif isinstance(values, Bloom):
            values = Bloom(self._type, values.bits, values.ranges.span())
        while not (fits(values, self._limits) and self._reserve(0 if self._gave_up else values.nbytes)):
            values = cheaper(values, self._limits)
            self._gave_up = is_full(values)
        self._values = values

    def _reserve(self, size: int) -> bool:
        if self._budget is None:
            return True
        if granted := self._budget.resize(self._reserved, size):
            self._reserved = size
        return granted


def _chunks(column: Any) -> list[Any]:
    """Split a long column, and let Arrow drop repeats before anything is sorted."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and len(column) > _CHUNK:
        column = pa.array(column.astype(column.dtype.newbyteorder("="), copy=False))
    if isinstance(column, pa.Array | pa.ChunkedArray):
        pieces = [column.slice(i, _CHUNK) for i in range(0, len(column), _CHUNK)]
        return [distinct(piece) if len(piece) > 1024 else piece for piece in pieces]
    return [column]


__all__ = ["DomainBuilder", "Limits", "MemoryBudget"]
