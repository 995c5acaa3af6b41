"""Parquet files in Hive layout as a `TableLayout`: partition values from paths, row-group statistics from footers.

A footer is trusted only where it is sure to mean what Spark will read: a column found by name, of a type that has a
domain. Dates and timestamps before 1900 are not trusted, since old writers used another calendar.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from headgate.tables.footer_layout import FooterLayout, add_known, add_unknown
from headgate.tables.footers import Footer, FooterCache, read_local_tails
from headgate.tables.layout import DataFile, FileReads, FileStatistics, Listing, ReadTails

# OldCalendar.java says the same, and why.
_OLDEST: dict[str, dt.date] = {
    "date": dt.date(1900, 1, 1),
    "timestamp": dt.datetime(1900, 1, 3, tzinfo=dt.UTC),
    "timestamp_ntz": dt.datetime(1900, 1, 3),  # noqa: DTZ001 - timestamp_ntz has no zone by definition
}


@dataclass(slots=True)
class ParquetLayout(FooterLayout):
    """The files of one Parquet relation, as Spark listed them."""

    footers: FooterCache = field(default_factory=FooterCache)
    read_tails: ReadTails = read_local_tails
    case_sensitive: bool = False

    def reading(self, reads: FileReads) -> ParquetLayout:
        """Return the same layout with its caches, reading new footers in another way."""
        return replace(self, read_tails=reads.tails)

    def _read(
        self, files: Sequence[int], columns: Sequence[tuple[str, str]], changed: Container[int]
    ) -> FileStatistics:
        found = FileStatistics([], [], [], [], {name: ([], [], []) for name, _ in columns})
        chosen = [self.files[i] for i in files]
        for number, file, footer in zip(files, chosen, self.footers.get(chosen, self.read_tails), strict=True):
            starts = _row_group_starts(footer, file) if footer else None
            if footer is None or starts is None or number in changed:
                add_unknown(found, number, file)
                continue
            ends = [*starts[1:], file.size] if starts else []
            rows = [footer.metadata.row_group(i).num_rows for i in range(len(starts))]
            known = {name: self._column(footer, name, type_name) for name, type_name in columns}
            add_known(found, number, (starts, ends, rows), known)
        return found

    def _column(self, footer: Footer, name: str, type_name: str) -> tuple[list[Any], list[Any], list[int | None]]:
        key = (name, type_name, self.case_sensitive)
        if key not in footer.columns:
            footer.columns[key] = _column_statistics(footer, name, type_name, self.case_sensitive)
        result: tuple[list[Any], list[Any], list[int | None]] = footer.columns[key]
        return result


def layout_from_listing(
    listing: Listing, footers: FooterCache, read_tails: ReadTails = read_local_tails, *, case_sensitive: bool = False
) -> ParquetLayout:
    """Make the layout of the files that were listed."""
    found = listing.files()
    return ParquetLayout(found.files, found.partition_columns, found.partitions, footers, read_tails, case_sensitive)


def _row_group_starts(footer: Footer, file: DataFile) -> list[int] | None:
    """Return where each row group begins, or None where they do not lie one after another."""
    metadata, starts = footer.metadata, []
    for i in range(metadata.num_row_groups):
        first = metadata.row_group(i).column(0)
        offsets = [o for o in (first.dictionary_page_offset, first.data_page_offset) if o]
        starts.append(min(offsets) if offsets else -1)
    rising = all(a < b for a, b in pairwise(starts))
    return starts if rising and all(0 < start < file.size for start in starts) else None


def _column_statistics(
    footer: Footer, name: str, type_name: str, case_sensitive: bool
) -> tuple[list[Any], list[Any], list[int | None]]:
    metadata = footer.metadata
    unknown: list[Any] = [None] * metadata.num_row_groups
    index = _find_column(metadata, name, case_sensitive)
    if index is None:
        return unknown, unknown, unknown
    mins, maxs, nulls = [], [], []
    for i in range(metadata.num_row_groups):
        statistics = metadata.row_group(i).column(index).statistics
        low = high = None
        if statistics is not None and statistics.has_min_max:
            low, high = _bounds(statistics, type_name)
        mins.append(low)
        maxs.append(high)
        nulls.append(statistics.null_count if statistics is not None and statistics.has_null_count else None)
    return mins, maxs, nulls


def _find_column(metadata: Any, name: str, case_sensitive: bool) -> int | None:
    """Find a top-level column as Spark does: by its exact name, or by the only one that matches without case."""
    if "." in name:  # could also be a field of a struct
        return None
    schema = metadata.schema
    paths = [schema.column(i).path for i in range(len(schema))]
    exact = [i for i, path in enumerate(paths) if path == name]
    alike = [i for i, path in enumerate(paths) if path.lower() == name.lower()]
    if case_sensitive:
        return exact[0] if len(exact) == 1 else None
    return alike[0] if len(alike) == 1 else None


def _bounds(statistics: Any, type_name: str) -> tuple[Any, Any]:
    """Return min and max as values of the column's Spark type, or None where they may mean something else."""
    low: Any
    high: Any
    try:
        low, high = statistics.min, statistics.max
    except (ValueError, OverflowError, NotImplementedError, UnicodeDecodeError):
        return None, None
    expected = _PYTHON_TYPES.get(type_name.split("(")[0])
    if expected is None or type(low) is not expected or type(high) is not expected:
        return None, None
    if type_name in _OLDEST and not _recent(low, _OLDEST[type_name]):
        return None, None
    return low, high


def _recent(low: Any, oldest: dt.date) -> bool:
    """Whether a bound is recent enough to trust; with an unexpected or missing zone it cannot be compared."""
    try:
        return bool(low >= oldest)
    except TypeError:
        return False


_PYTHON_TYPES: dict[str, type] = {
    "boolean": bool,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "float": float,
    "double": float,
    "decimal": decimal.Decimal,
    "string": str,
    "binary": bytes,
    "date": dt.date,
    "timestamp": dt.datetime,
    "timestamp_ntz": dt.datetime,
}
