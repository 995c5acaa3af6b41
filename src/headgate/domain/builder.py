"""Build a domain from a column in one pass, with bounded memory.

The builder starts with an exact set. When a limit is passed, or the memory budget is gone, it keeps what it has seen in
the next cheaper form (see `limits`); nothing seen is ever forgotten, so the result always holds every value added.
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

    def resize(self, held: int, wanted: int) -> bool:
        """Change a holding from ``held`` to ``wanted`` bytes; False, and no change, when that does not fit."""
        with self._lock:
            if wanted > held and self._used - held + wanted > self.limit:
                return False
            self._used += wanted - held
            return True


class DomainBuilder:
    """Collect the values of one column. Not thread-safe: one builder per task, merged afterwards.

    Memory taken from the budget is given back by ``build`` or ``close``, or at the end of a ``with`` block.

    >>> builder = DomainBuilder("bigint")
    >>> builder.add(np.array([3, 1, 3]))
    >>> builder.build().listed()
    [1, 3]
    """

    def __init__(self, kind: ValueType | str, limits: Limits | None = None, budget: MemoryBudget | None = None) -> None:
        self._kind = value_type(kind) if isinstance(kind, str) else kind
        self._limits, self._budget = limits or Limits(), budget
        self._values: ValueSet = no_values(self._kind)
        self._held = 0
        self._null = self._gave_up = self._closed = False

    def __enter__(self) -> DomainBuilder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, column: Any) -> None:
        """Take in an Arrow or NumPy column, in any order, NULLs included. A column that is refused leaves ALL."""
        if self._closed:
            raise InvalidFilter("this builder has built its domain; start a new one")
        try:
            for chunk in _chunks(column):
                self._take_chunk(chunk)
        except BaseException:  # part of the column may be missing, and a domain without it would lose rows
            self._gave_up = True
            raise

    def add_nulls(self) -> None:
        """Note that a NULL was seen."""
        self._null = True

    def build(self) -> Domain:
        """Return the domain of everything added, NULL allowed when one was seen, and give the memory back."""
        if self._closed:
            raise InvalidFilter("this builder has built its domain; start a new one")
        domain = Domain.all(self._kind) if self._gave_up else Domain(self._values, self._null)
        self.close()
        return domain

    def close(self) -> None:
        """Give the memory back; closing twice is harmless."""
        self._closed, self._values = True, no_values(self._kind)
        self._reserve(0)

    def _take_chunk(self, chunk: Any) -> None:
        places, valid = axis_column(self._kind, chunk)
        if not valid.all():
            self._null, places = True, places[valid]
        if len(places) and not self._gave_up:
            self._take(places)

    def _take(self, places: Array) -> None:
        values = algebra.union(self._values, from_places(self._kind, places))
        if isinstance(values, Ranges):
            values = Ranges(self._kind, values.held.span())
        elif isinstance(values, Bloom):
            values = Bloom(self._kind, values.bits, values.held.span())
        while not (fits(values, self._limits) and self._reserve(0 if self._gave_up else values.nbytes)):
            values = cheaper(values, self._limits)
            self._gave_up = is_full(values)
        self._values = values

    def _reserve(self, wanted: int) -> bool:
        if self._budget is None:
            return True
        if granted := self._budget.resize(self._held, wanted):
            self._held = wanted
        return granted


def _chunks(column: Any) -> list[Any]:
    """Split a long column, and let Arrow hash away repeats before anything is sorted."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and len(column) > _CHUNK:
        column = pa.array(column.astype(column.dtype.newbyteorder("="), copy=False))
    if isinstance(column, pa.Array | pa.ChunkedArray):
        pieces = [column.slice(i, _CHUNK) for i in range(0, len(column), _CHUNK)]
        return [distinct(piece) if len(piece) > 1024 else piece for piece in pieces]
    return [column]


__all__ = ["DomainBuilder", "Limits", "MemoryBudget"]
