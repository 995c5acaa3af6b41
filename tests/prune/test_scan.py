"""A scan is narrowed by partitions, files and row groups, and only where no row of what is left out could match."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.domain import Domain, value_type
from headgate.prune import ColumnBounds, PruneLevels, clustering_depth, prune_scan
from headgate.tables import DataFile, ParquetLayout

INT = value_type("bigint")


def _layout(folder: Path, files: list[list[Any]], partitions: list[int] | None = None) -> ParquetLayout:
    """Write each list as one file of row groups of ten rows; partitions are given by a column ``p``."""
    found = []
    for number, values in enumerate(files):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"k": pa.array(values, pa.int64())}), path, row_group_size=10)
        status = path.stat()
        modified = status.st_mtime_ns // 1_000_000
        found.append(DataFile(f"file:{path}", status.st_size, modified, number if partitions else 0))
    return ParquetLayout(found, [("p", "int")] if partitions else [], [[p] for p in partitions] if partitions else [[]])


def test_files_and_row_groups_without_a_match_are_left_out(tmp_path: Path) -> None:
    """Of a sorted table only the row groups with the keys remain, with the byte ranges to read."""
    layout = _layout(tmp_path, [list(range(i * 100, i * 100 + 100)) for i in range(5)])

    verdict = prune_scan({"k": Domain.of("bigint", [105, 311, 312])}, layout)

    assert verdict.keep == [1, 3]
    assert {number: len(ranges) for number, ranges in verdict.row_groups.items()} == {1: 2, 3: 2}
    assert (verdict.files_total, verdict.row_groups_total, verdict.row_groups_read) == (5, 50, 2)
    assert 0 < verdict.bytes_read < verdict.bytes_total
    assert verdict.removes_something


def test_a_filter_that_removes_nothing_says_so(tmp_path: Path) -> None:
    """When every row group may match there is nothing to apply."""
    layout = _layout(tmp_path, [list(range(100))] * 2)

    verdict = prune_scan({"k": Domain.range("bigint", 0, 99)}, layout)

    assert not verdict.removes_something
    assert verdict.keep == [0, 1]
    assert verdict.bytes_read == verdict.bytes_total


def test_nothing_matches(tmp_path: Path) -> None:
    """An empty build side leaves no file."""
    assert prune_scan({"k": Domain.none("bigint")}, _layout(tmp_path, [[1], [2]])).keep == []


@pytest.mark.parametrize(
    ("levels", "files", "groups"),
    [
        (PruneLevels(files=False, row_groups=False), 5, 0),
        (PruneLevels(row_groups=False), 1, 0),
        (PruneLevels(files=False), 5, 1),
    ],
)
def test_levels_can_be_switched_off(tmp_path: Path, levels: PruneLevels, files: int, groups: int) -> None:
    """Each level prunes only when it is on."""
    layout = _layout(tmp_path, [list(range(i * 100, i * 100 + 100)) for i in range(5)])

    verdict = prune_scan({"k": Domain.single("bigint", 205)}, layout, levels)

    assert (len(verdict.keep), len(verdict.row_groups)) == (files, groups)


def test_partitions_are_pruned_by_their_value(tmp_path: Path) -> None:
    """A partition column has one value in a whole directory; NULL is a value of its own."""
    layout = _layout(tmp_path, [[1], [2], [3]], partitions=[7, 8, None])  # type: ignore[list-item]

    assert prune_scan({"p": Domain.of("int", [8, 9])}, layout).keep == [1]
    assert prune_scan({"p": Domain.of("int", [8], null_allowed=True)}, layout).keep == [1, 2]
    assert prune_scan({"p": Domain.of("int", [8]), "k": Domain.of("bigint", [1])}, layout).keep == []
    assert prune_scan({"p": Domain.of("int", [8])}, layout, PruneLevels(partitions=False)).keep == [0, 1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_no_row_that_matches_is_lost(tmp_path: Path, seed: int) -> None:
    """Whatever the layout, every row group with a matching row survives."""
    rng = random.Random(seed)
    files = [[rng.choice([None, rng.randrange(60)]) for _ in range(rng.randrange(1, 45))] for _ in range(6)]
    if seed % 2:
        files = [sorted(values, key=lambda v: (v is not None, v or 0)) for values in files]
    layout = _layout(tmp_path, files)
    domain = Domain.of("bigint", rng.sample(range(60), rng.randrange(0, 6)), null_allowed=seed % 3 == 0)

    verdict = prune_scan({"k": domain}, layout)

    statistics = layout.statistics(range(6), [("k", "bigint")])
    for number, start, end in zip(statistics.files, statistics.starts, statistics.ends, strict=True):
        first = 10 * [i for i, f in enumerate(statistics.files) if f == number].index(
            next(i for i, s in enumerate(statistics.starts) if s == start and statistics.files[i] == number)
        )
        rows = files[number][first : first + 10]
        if any(row in domain for row in rows):
            assert number in verdict.keep
            ranges = verdict.row_groups.get(number)
            assert ranges is None or (start, end) in set(zip(ranges[::2], ranges[1::2], strict=True))


def test_clustering_depth() -> None:
    """Sorted containers overlap only themselves, mixed ones all; unknown ones count as overlapping all."""
    starts = list(range(0, 100, 10))
    ends = [s + 9 for s in starts]

    assert clustering_depth(ColumnBounds.of(INT, starts, ends)) == pytest.approx(0.1)
    assert clustering_depth(ColumnBounds.of(INT, [0] * 10, [99] * 10)) == 1.0
    # the edges of a mixed column differ from one container to the next, and still none can be told apart
    assert clustering_depth(ColumnBounds.of(INT, list(range(10)), [90 + i for i in range(10)])) == 1.0
    assert clustering_depth(ColumnBounds.of(INT, [None] * 4, [None] * 4)) == 1.0
