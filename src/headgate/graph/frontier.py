"""The vertices that an operation has reached: `Frontier`, a roaring bitmap of ids."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

import numpy as np

from headgate.domain import Domain, coerce, value_type
from headgate.domain.bitmap import IdBitmap
from headgate.domain.values import from_ids, from_places
from headgate.errors import BadInput

_LISTED = 10_000  # a filter of so few ids lists them, as the filters of joins do
_LOW, _HIGH = -(2**63), 2**63 - 1


class Frontier:
    """An immutable set of vertex ids, from -2^63 to 2^63-1. Sets are combined in C, however many ids they hold.

    >>> reached = Frontier([3, 1, 3]) | Frontier([-7])
    >>> len(reached), 3 in reached, list(reached - Frontier([1]))
    (3, True, [-7, 3])
    """

    __slots__ = ("ids",)

    def __init__(self, ids: Iterable[int] | IdBitmap = ()) -> None:
        self.ids = ids if isinstance(ids, IdBitmap) else IdBitmap.of(_checked(ids))

    @classmethod
    def of(cls, vertices: Frontier | int | Iterable[int]) -> Frontier:
        """Return the frontier of one vertex, of several, or of a frontier."""
        if isinstance(vertices, Frontier):
            return vertices
        if isinstance(vertices, str | bytes):
            raise BadInput(_no_id(vertices))
        return cls(vertices if isinstance(vertices, Iterable) else [vertices])

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, vertex: object) -> bool:
        try:
            whole = operator.index(vertex)  # type: ignore[arg-type]
        except TypeError:
            return False
        if isinstance(vertex, bool) or not _LOW <= whole <= _HIGH:
            return False
        return bool(self.ids.contains(np.array([whole], dtype=np.int64))[0])

    def __iter__(self) -> Iterator[int]:
        """Yield the ids in order."""
        return iter(self.ids.ids().tolist())

    def __or__(self, other: Frontier) -> Frontier:
        return Frontier(self.ids.union(other.ids))

    def __and__(self, other: Frontier) -> Frontier:
        return Frontier(self.ids.intersect(other.ids))

    def __sub__(self, other: Frontier) -> Frontier:
        return Frontier(self.ids.minus(other.ids))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frontier) and self.ids.same_as(other.ids)

    def __hash__(self) -> int:
        return hash((len(self), self.ends() if len(self) else ()))

    def __repr__(self) -> str:
        if len(self) <= 5:
            return f"Frontier({list(self)})"
        low, high = self.ends()
        return f"Frontier({len(self):,} vertices from {low} to {high})"

    def ends(self) -> tuple[int, int]:
        """Return the smallest and the largest id; the frontier must not be empty."""
        return self.ids.ends()

    def to_bytes(self) -> bytes:
        """Return the ids in roaring's portable format; 64 bits wide, with the sign bit flipped, where 32 do not do."""
        return self.ids.to_bytes()

    def domain(self, type_name: str) -> Domain:
        """Return the values that a column of this type may have to be in the frontier."""
        wide, stored = value_type("bigint"), value_type(type_name)
        if len(self) <= _LISTED:
            found = coerce(Domain(from_places(wide, self.ids.ids())), stored)
        elif stored.low <= self.ends()[0] and self.ends()[1] <= stored.high:
            found = Domain(from_ids(stored, self.ids))
        else:
            found = coerce(Domain(from_ids(wide, self.ids)), stored)
        return found if found is not None else Domain.all(type_name)


def _checked(ids: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return ids as an array; None is no id, as NULL matches nothing."""
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        if ids.ndim > 1:
            raise BadInput(f"an array of shape {ids.shape} is no list of vertex ids; give one with a single dimension")
        ids = ids.reshape(1)
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.dtype != np.uint64:
        return ids.astype(np.int64)
    listed = []
    for vertex in ids:
        if vertex is None:
            continue
        try:
            whole = operator.index(vertex)
        except TypeError:
            raise BadInput(_no_id(vertex)) from None
        if isinstance(vertex, bool) or not _LOW <= whole <= _HIGH:
            raise BadInput(_no_id(vertex))
        listed.append(whole)
    return np.array(listed, dtype=np.int64)


def _no_id(vertex: object) -> str:
    return (
        f"{vertex!r} is no vertex id: ids are whole numbers from -2^63 to 2^63-1; "
        "give texts numbers first, for example with xxhash64 or a table of names"
    )
