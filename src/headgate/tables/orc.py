"""ORC files in Hive layout as a `TableLayout`: partition values from paths, statistics of stripes from footers.

`OrcFooters.java` reads the footers, and says which of them are to be believed. What it said is kept here, by file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from headgate.tables.footer_layout import ColumnValues, FooterLayout, add_known, add_unknown
from headgate.tables.layout import DataFile, FileReads, FileStatistics, Listing, OrcFooter, ReadOrc

_Asked = tuple[str, str, bool]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is known of one file: its stripes, and the columns that were asked for so far; None: it cannot be read."""

    footer: OrcFooter | None
    columns: Mapping[_Asked, ColumnValues]

    @property
    def size(self) -> int:
        """How many values are kept, about."""
        return 4 + (0 if self.footer is None else 3 * len(self.footer.rows) * (1 + len(self.columns)))


class OrcFooterCache:
    """Statistics by (path, size, modified, stamp), about ``max_values`` at most; the least recently used go first.

    Thread-safe.
    """

    def __init__(self, max_values: int = 4_000_000) -> None:
        self._max_values, self._values = max_values, 0
        self._kept: OrderedDict[DataFile, _Kept] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(
        self, files: Sequence[DataFile], columns: Sequence[tuple[str, str]], read: ReadOrc, *, case_sensitive: bool
    ) -> list[OrcFooter | None]:
        """Return the footers of the files with these columns, reading those that are not kept."""
        asked: list[_Asked] = [(name, type_name, case_sensitive) for name, type_name in columns]
        keys = [replace(file, partition=0) for file in files]
        with self._lock:
            found = {key: self._kept[key] for key in keys if self._has(key, asked)}
            for key in found:
                self._kept.move_to_end(key)
        missing = [key for key in keys if key not in found]
        if missing:
            for key, footer in zip(missing, read(missing, columns, case_sensitive=case_sensitive), strict=True):
                found[key] = self._add(key, footer, asked)
        return [_with(found[key], asked) for key in keys]

    def _has(self, key: DataFile, asked: Sequence[_Asked]) -> bool:
        kept = self._kept.get(key)
        return kept is not None and (kept.footer is None or all(column in kept.columns for column in asked))

    def _add(self, key: DataFile, footer: OrcFooter | None, asked: Sequence[_Asked]) -> _Kept:
        fresh = {} if footer is None else dict(zip(asked, footer.columns, strict=True))
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._values -= before.size
                same = footer is not None and before.footer is not None and before.footer.rows == footer.rows
                fresh = {**before.columns, **fresh} if same else fresh
            self._kept[key] = kept = _Kept(footer, fresh)
            self._values += kept.size
            while self._values > self._max_values and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._values -= dropped.size
        return kept


def _with(kept: _Kept, asked: Sequence[_Asked]) -> OrcFooter | None:
    return None if kept.footer is None else replace(kept.footer, columns=[kept.columns[column] for column in asked])


def read_no_orc(
    files: Sequence[DataFile],
    columns: Sequence[tuple[str, str]],  # noqa: ARG001 - the columns do not matter
    *,
    case_sensitive: bool,  # noqa: ARG001 - nor do their names
) -> list[OrcFooter | None]:
    """Read nothing: without Spark there is no reader of ORC footers."""
    return [None] * len(files)


@dataclass(slots=True)
class OrcLayout(FooterLayout):
    """The files of one ORC relation, as Spark listed them."""

    footers: OrcFooterCache = field(default_factory=OrcFooterCache)
    read: ReadOrc = read_no_orc
    case_sensitive: bool = False

    def reading(self, reads: FileReads) -> OrcLayout:
        """Return the same layout with its caches, reading new footers in another way."""
        return replace(self, read=reads.orc)

    def _read(
        self, files: Sequence[int], columns: Sequence[tuple[str, str]], changed: Container[int]
    ) -> FileStatistics:
        found = FileStatistics([], [], [], [], {name: ([], [], []) for name, _ in columns})
        chosen = [self.files[i] for i in files]
        footers = self.footers.get(chosen, columns, self.read, case_sensitive=self.case_sensitive)
        for number, file, footer in zip(files, chosen, footers, strict=True):
            if footer is None or number in changed:
                add_unknown(found, number, file)
                continue
            known = {name: column for (name, _), column in zip(columns, footer.columns, strict=True)}
            add_known(found, number, (footer.starts, footer.ends, footer.rows), known)
        return found


def orc_layout(
    listing: Listing, footers: OrcFooterCache, read: ReadOrc = read_no_orc, *, case_sensitive: bool = False
) -> OrcLayout:
    """Make the layout of the files that were listed."""
    found = listing.files()
    return OrcLayout(found.files, found.partition_columns, found.partitions, footers, read, case_sensitive)
