"""Estimate how many files a filter leaves to read, as a table lies and as it would lie clustered: `Files`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain import Domain, DomainBuilder

FILE = "headgate_file"
_SAMPLE = 200_000  # rows: enough for the bounds of some thousand files


def sample(frame: Any, columns: Sequence[str], rows: int, file_column: str = "") -> pa.Table:
    """Return some rows of a table, and the file of each where a column says it: as `FILE`."""
    picked = frame.select(*(frame[f"`{column}`"] for column in columns), *_named(frame, file_column))
    share = min(1.0, _SAMPLE / max(rows, 1))
    return (picked if share >= 1.0 else picked.sample(fraction=share, seed=1)).toArrow()


def _named(frame: Any, file_column: str) -> list[Any]:
    return [frame[file_column].alias(FILE)] if file_column else []


class Files:
    """The files of a table by the values of one column that each holds, at least and at most."""

    def __init__(self, bounds: Sequence[Domain]) -> None:
        self._bounds = bounds

    @classmethod
    def clustered(cls, values: pa.ChunkedArray, type: str, files: int) -> Files:
        """Return the files as they would be if the table were sorted by the column and cut into about equal parts."""
        return cls([_span(part, type) for part in _parts(values.combine_chunks(), files)])

    @classmethod
    def present(cls, values: pa.ChunkedArray, names: pa.ChunkedArray, type: str) -> Files:
        """Return the files as they are, each with its name in every row of the sample."""
        ends = pa.table({"v": values, "f": names}).group_by("f").aggregate([("v", "min"), ("v", "max")])
        least, most = ends["v_min"].combine_chunks(), ends["v_max"].combine_chunks()
        return cls([_span(pa.concat_arrays([least[i : i + 1], most[i : i + 1]]), type) for i in range(len(ends))])

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
