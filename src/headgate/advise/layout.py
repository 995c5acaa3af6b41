"""Estimate how many files a filter would leave to read if a table were clustered by a column: `ClusteredFiles`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain import Domain, DomainBuilder

_SAMPLE = 200_000  # values: enough for the bounds of some thousand files


class ClusteredFiles:
    """The files of a table as they would be if it were sorted by one column and cut into parts of about equal size."""

    def __init__(self, bounds: Sequence[Domain]) -> None:
        self._bounds = bounds

    @classmethod
    def of(cls, frame: Any, column: str, type: str, files: int, rows: int) -> ClusteredFiles:
        """Return the files from a sample of the column."""
        share = min(1.0, _SAMPLE / max(rows, 1))
        picked = frame.select(column)
        values = (
            (picked if share >= 1.0 else picked.sample(fraction=share, seed=1)).toArrow().column(0).combine_chunks()
        )
        return cls([_span(part, type) for part in _parts(values, files)])

    def left_by(self, domain: Domain) -> int:
        """Return how many files may hold a value of the domain."""
        return sum(not (bounds & domain).is_none for bounds in self._bounds)


def _parts(values: pa.Array, files: int) -> list[pa.Array]:
    """Cut as Spark's repartitionByRange does: all rows of one value, and all NULLs, go to the same file."""
    ordered = values.take(pc.array_sort_indices(values, null_placement="at_start"))
    ends = pc.run_end_encode(ordered).run_ends.to_pylist()
    parts, low, step = list[pa.Array](), 0, len(ordered) / files
    for end in ends:
        if end >= step * (len(parts) + 1) and len(parts) < files - 1:
            parts.append(ordered[low:end])
            low = end
    return [*parts, ordered[low:]] if low < len(ordered) else parts


def _span(values: pa.Array, type: str) -> Domain:
    builder = DomainBuilder(type)
    builder.add(values)
    return builder.build().span()
