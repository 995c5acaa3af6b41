"""Join few edges on the driver, without Spark: paths as rows of a matrix, one column for each place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.graph.frontier import Frontier

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
    first = np.searchsorted(pairs[:, 0], paths[:, -1], "left")
    counts = np.searchsorted(pairs[:, 0], paths[:, -1], "right") - first
    if counts.sum() > most:
        raise TooMany
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    before = np.repeat(paths, counts, axis=0)
    ends = pairs[np.repeat(first, counts) + offsets, 1]
    fresh = ~(before == ends[:, None]).any(axis=1)
    return np.column_stack([before[fresh], ends[fresh]])
