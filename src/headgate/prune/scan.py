"""Narrow one scan with all its filters at once, cheapest level first: partitions, then files, then row groups.

The verdict says which files remain, and which row groups of the files that are read in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from headgate.domain import Domain, TupleDomain, value_type
from headgate.domain.arrays import Array
from headgate.errors import InvalidFilter
from headgate.prune.survivors import ColumnBounds, survivors
from headgate.tables.layout import FileStatistics, TableLayout


@dataclass(frozen=True, slots=True)
class PruneLevels:
    """Which levels may be pruned."""

    partitions: bool = True
    files: bool = True
    row_groups: bool = True


@dataclass(frozen=True, slots=True)
class ScanVerdict:
    """What is left of a scan. ``row_groups`` maps a file read in part to the byte ranges of row groups to read.

    ``group_runs`` are the row groups of the files that were looked into, in order: how many are read, how many are
    not, how many are read again, and so on. ``unread_groups`` counts those that are not read of files that are.
    ``looked_into`` are the numbers of those files.
    """

    keep: list[int]
    row_groups: dict[int, list[int]] = field(default_factory=dict)
    files_total: int = 0
    row_groups_total: int = 0
    row_groups_read: int = 0
    bytes_total: int = 0
    bytes_read: int = 0
    group_runs: tuple[int, ...] = ()
    unread_groups: dict[int, int] = field(default_factory=dict)
    looked_into: Sequence[int] = ()

    def file_runs(self) -> tuple[int, ...]:
        """Return the files in order: how many are read (also in part), how many are not, how many are read again."""
        mask = np.zeros(self.files_total, dtype=bool)
        mask[self.keep] = True
        return runs_of(mask)

    @property
    def removes_something(self) -> bool:
        """Whether the scan reads less than everything."""
        return len(self.keep) < self.files_total or bool(self.row_groups)


def prune_scan(domains: Mapping[str, Domain], layout: TableLayout, levels: PruneLevels | None = None) -> ScanVerdict:
    """Say which files and row groups may hold rows that satisfy every domain, given by column name."""
    levels = levels or PruneLevels()
    partition_names = {name for name, _ in layout.partition_columns}
    by_partition = {name: d for name, d in domains.items() if name in partition_names}
    by_file = {name: d for name, d in domains.items() if name not in partition_names}
    nothing = any(domain.is_none for domain in domains.values())
    files = list(range(len(layout.files)))
    if levels.partitions and by_partition:
        alive = surviving_partitions(by_partition, layout)
        files = [i for i in files if alive[layout.files[i].partition]]
    if nothing and levels.files:
        files = []
    sizes = [file.size for file in layout.files]
    if not by_file or not files or not (levels.files or levels.row_groups):
        read = sum(sizes[i] for i in files)
        return ScanVerdict(files, {}, len(sizes), 0, 0, sum(sizes), read)
    statistics = layout.statistics(files, [(name, d.type.name) for name, d in by_file.items()])
    return _surviving_row_groups(TupleDomain(by_file), statistics, layout, levels)


def surviving_partitions(domains: Mapping[str, Domain], layout: TableLayout) -> Array:
    """Return a mask over the partitions: a partition column has one value in all of its rows."""
    columns = {}
    for position, (name, type_name) in enumerate(layout.partition_columns):
        if name in domains:
            values = [partition[position] for partition in layout.partitions]
            nulls = [1 if value is None else 0 for value in values]
            with suppress(InvalidFilter):  # some values could not be read: nothing is known of the column
                columns[name] = ColumnBounds.of(value_type(type_name), values, values, nulls, [1] * len(values))
    return survivors(TupleDomain(domains), columns, len(layout.partitions))


def bounds_of(statistics: FileStatistics, name: str, type_name: str) -> ColumnBounds:
    """Return the statistics of one column over all row groups, prepared once."""
    if name not in statistics.prepared:
        statistics.prepared[name] = _prepared(statistics, name, type_name)
    bounds: ColumnBounds = statistics.prepared[name]
    return bounds


def _prepared(statistics: FileStatistics, name: str, type_name: str) -> ColumnBounds:
    mins, maxs, nulls = statistics.columns[name]
    try:
        return ColumnBounds.of(value_type(type_name), mins, maxs, nulls, statistics.rows)
    except InvalidFilter:  # a file has values that the table's type cannot hold: nothing is known of the column
        nothing = [None] * len(mins)
        return ColumnBounds.of(value_type(type_name), nothing, nothing, nulls, statistics.rows)


def clustering_depth(bounds: ColumnBounds) -> float:
    """Return the share of containers whose values an average container overlaps: 1/n when sorted, 1 when all mixed."""
    count, bounded = len(bounds), bounds.known & ~bounds.open_ended
    lows, highs = bounds.mins[bounded], bounds.maxs[bounded]
    unknown = count - len(lows)
    if not len(lows):
        return 1.0
    touching = np.searchsorted(np.sort(lows), highs, "right") - np.searchsorted(np.sort(highs), lows, "left")
    return float(touching.sum() + unknown * count + len(lows) * unknown) / count**2


def _surviving_row_groups(
    domain: TupleDomain, statistics: FileStatistics, layout: TableLayout, levels: PruneLevels
) -> ScanVerdict:
    domains = domain.domains or {}
    columns = {name: bounds_of(statistics, name, column.type.name) for name, column in domains.items()}
    mask = survivors(domain, columns, len(statistics.files))
    files = np.asarray(statistics.files)
    whole, some = _by_file(files, mask)
    if not levels.row_groups:
        whole, some = sorted({*whole, *some}), []
    if not levels.files:
        whole = sorted({*whole, *(set(files.tolist()) - set(some))})
    ranges = {number: _ranges(statistics, np.flatnonzero((files == number) & mask)) for number in some}
    groups_of = np.bincount(files, minlength=1)
    unread = {number: int(groups_of[number]) - len(kept) // 2 for number, kept in ranges.items()}
    keep = sorted([*whole, *some])
    sizes = [file.size for file in layout.files]
    read = sum(sizes[i] for i in whole) + sum(_length(kept) for kept in ranges.values())
    groups = np.isin(files, whole) | (mask & np.isin(files, some))
    read_groups = int(groups.sum())
    total = sum(sizes)
    return ScanVerdict(
        keep,
        ranges,
        len(sizes),
        len(files),
        read_groups,
        total,
        read,
        runs_of(groups),
        unread,
        np.unique(files).tolist(),
    )


def _by_file(files: Array, mask: Array) -> tuple[list[int], list[int]]:
    """Return the files whose row groups all survive, and the files of which only some do."""
    numbers, inverse = np.unique(files, return_inverse=True)
    alive = np.bincount(inverse, weights=mask, minlength=len(numbers))
    total = np.bincount(inverse, minlength=len(numbers))
    return numbers[alive == total].tolist(), numbers[(alive > 0) & (alive < total)].tolist()


def runs_of(mask: Array) -> tuple[int, ...]:
    """Return the lengths of runs of True and False in turn, beginning with True (which may be 0 long)."""
    if not len(mask):
        return ()
    ends = np.flatnonzero(np.diff(mask)) + 1
    lengths = np.diff([0, *ends.tolist(), len(mask)]).tolist()
    return tuple(lengths if mask[0] else [0, *lengths])


def _ranges(statistics: FileStatistics, rows: Sequence[int] | Array) -> list[int]:
    return [offset for i in rows for offset in (statistics.starts[i], statistics.ends[i])]


def _length(ranges: list[int]) -> int:
    return sum(end - start for start, end in zip(ranges[::2], ranges[1::2], strict=True))
