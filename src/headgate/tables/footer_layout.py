"""Listed files whose footers say what lies in them: what is the same for all formats that have footers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.tables.footers import is_as_listed
from headgate.tables.layout import DataFile, FileStatistics

ColumnValues = tuple[Sequence[Any], Sequence[Any], Sequence[int | None]]
"""The least values, the greatest values and the numbers of NULLs of a column, one for each part of a file."""


@dataclass(slots=True)
class FooterLayout(ABC):
    """The files of one relation, as Spark listed them."""

    files: Sequence[DataFile]
    partition_columns: Sequence[tuple[str, str]]
    partitions: Sequence[Sequence[Any]]
    _known: dict[tuple[tuple[str, str], ...], FileStatistics] = field(default_factory=dict, kw_only=True)

    def statistics(self, files: Sequence[int], columns: Sequence[tuple[str, str]]) -> FileStatistics:
        """Return the parts of these files with the statistics of these columns; those of all files are cached.

        A file that has changed since it was listed is one container of which nothing is known.
        """
        changed = {i for i in files if not is_as_listed(self.files[i])}
        if changed or len(files) != len(self.files):
            return self._read(files, columns, changed)
        key = tuple(sorted(columns))
        if key not in self._known:
            self._known[key] = self._read(files, columns, changed)
        return self._known[key]

    def estimates(self, files: Sequence[int], columns: Sequence[tuple[str, str]]) -> FileStatistics:
        """Return the same without a look at each file, if all have been read before."""
        known = self._known.get(tuple(sorted(columns))) if len(files) == len(self.files) else None
        return known if known is not None else self.statistics(files, columns)

    @abstractmethod
    def _read(
        self, files: Sequence[int], columns: Sequence[tuple[str, str]], changed: Container[int]
    ) -> FileStatistics:
        """Read the statistics, or take them from a cache of footers."""


def add_known(
    found: FileStatistics,
    number: int,
    parts: tuple[Sequence[int], Sequence[int], Sequence[int]],
    columns: Mapping[str, ColumnValues],
) -> None:
    """Add the parts of a file (their starts, ends and rows), with what is known of columns."""
    starts, ends, rows = parts
    found.files.extend([number] * len(starts))
    found.starts.extend(starts)
    found.ends.extend(ends)
    found.rows.extend(rows)
    for name, column in columns.items():
        for known, more in zip(found.columns[name], column, strict=True):
            known.extend(more)


def add_unknown(found: FileStatistics, number: int, file: DataFile) -> None:
    """Add a file as one container of which nothing is known."""
    found.files.append(number)
    found.starts.append(0)
    found.ends.append(file.size)
    found.rows.append(None)
    for mins, maxs, nulls in found.columns.values():
        mins.append(None)
        maxs.append(None)
        nulls.append(None)
