"""Join few edges on the driver, without Spark: paths as rows of a matrix, one column for each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.graph.frontier import Frontier

_PIECE = 1_000_000
Matrix = np.ndarray[Any, np.dtype[np.int64]]


class TooMany(Exception):
    """There are more paths than may be made here."""


def pairs_of(ends: Mapping[int, Frontier]) -> Matrix:
    """Return pairs of vertices, in order, from the ends of the edges of each vertex."""
    starts = sorted(ends)
    if not starts:
        return np.empty((0, 2), dtype=np.int64)
    counts = [len(ends[start]) for start in starts]
    return np.column_stack([np.repeat(np.array(starts), counts), np.concatenate([ends[at].ids.ids() for at in starts])])


def lengthened(paths: Matrix, pairs: Matrix, most: int) -> Matrix:
    """Return each path with each of its next vertices that it has not visited yet."""
    ends = paths[:, -1]
    counts = np.searchsorted(pairs[:, 0], ends, "right") - np.searchsorted(pairs[:, 0], ends, "left")
    found, left = [np.empty((0, paths.shape[1] + 1), dtype=np.int64)], most
    # a piece at a time: most of what could follow may have been visited
    for piece in np.split(paths, _cuts(counts, _PIECE)):
        longer = widened(piece, piece.shape[1] - 1, pairs, len(pairs) + _PIECE)
        found.append(longer[~(longer[:, :-1] == longer[:, -1:]).any(axis=1)])
        left -= len(found[-1])
        if left < 0:
            raise TooMany
    return np.concatenate(found)


def _cuts(counts: np.ndarray[Any, Any], most: int) -> list[int]:
    """Return where to cut so that the counts of a piece add up to at most so much, or are a single one."""
    cuts, total = [], 0
    for at, count in enumerate(counts.tolist()):
        if total and total + count > most:
            cuts.append(at)
            total = 0
        total += count
    return cuts


def widened(rows: Matrix, column: int, pairs: Matrix, most: int) -> Matrix:
    """Return each row with each vertex that is paired with the one in a column; pairs are in order."""
    first = np.searchsorted(pairs[:, 0], rows[:, column], "left")
    counts = np.searchsorted(pairs[:, 0], rows[:, column], "right") - first
    if counts.sum() > most:
        raise TooMany
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([np.repeat(rows, counts, axis=0), pairs[np.repeat(first, counts) + offsets, 1]])


def kept(rows: Matrix, first: int, second: int, pairs: Matrix) -> Matrix:
    """Return the rows that have a pair in two columns."""
    return rows[np.isin(_as_one(rows[:, [first, second]]), _as_one(pairs))]


def cross(rows: Matrix, others: Matrix, most: int) -> Matrix:
    """Return each row with each of the others."""
    if len(rows) * len(others) > most:
        raise TooMany
    return np.column_stack([np.repeat(rows, len(others), axis=0), np.tile(others, (len(rows), 1))])


def _as_one(pairs: Matrix) -> np.ndarray[Any, Any]:
    """Return pairs as single values that are equal where the pairs are."""
    return np.ascontiguousarray(pairs).view([("a", np.int64), ("b", np.int64)]).ravel()
