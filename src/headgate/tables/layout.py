"""Describe how a table lies in storage, whatever its format: the protocol that pruning works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a table; ``partition`` is the number of the partition it belongs to.

    ``stamp`` distinguishes it from another file of the same path, size and time, where the store has such a thing.
    """

    path: str
    size: int
    modified: int
    partition: int
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The files of a table at one moment; ``partitions`` has the values of ``partition_columns`` for each partition."""

    files: Sequence[DataFile]
    partition_columns: Sequence[tuple[str, str]]
    partitions: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing that is decoded only when its files are needed; two with the same text list the same files."""

    text: bytes
    decode: Callable[[bytes], ListedFiles]

    def files(self) -> ListedFiles:
        """Return what is listed."""
        return self.decode(self.text)


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The row groups of some files, one entry each: where they lie, and what is known of some columns.

    ``columns`` maps a column to ``(mins, maxs, null_counts)``, with None for what is unknown.
    A file whose statistics cannot be read has one entry that spans the whole file, with everything unknown.
    ``prepared`` caches what pruning derives from a column.
    """

    files: list[int]
    starts: list[int]
    ends: list[int]
    rows: list[int | None]
    columns: dict[str, tuple[list[Any], list[Any], list[int | None]]]
    prepared: dict[str, Any] = field(default_factory=dict)


ReadTails = Callable[[Sequence[tuple[str, int, int]]], list[bytes | None]]
"""Reads the last ``count`` bytes of files given as (path, size, count)."""


@dataclass(frozen=True, slots=True)
class OrcFooter:
    """The stripes of one ORC file, or the file as one where it has no statistics of stripes.

    ``columns`` has what was asked for, in order: ``(mins, maxs, null_counts)``, with None for what is unknown.
    """

    starts: Sequence[int]
    ends: Sequence[int]
    rows: Sequence[int]
    columns: Sequence[tuple[Sequence[Any], Sequence[Any], Sequence[int | None]]]


class ReadOrc(Protocol):
    """Reads what ORC files say of some ``(name, type)`` columns; None stands for a file that cannot be read."""

    def __call__(
        self, files: Sequence[DataFile], columns: Sequence[tuple[str, str]], *, case_sensitive: bool
    ) -> list[OrcFooter | None]:
        """Read the files."""
        ...


@dataclass(frozen=True, slots=True)
class FileReads:
    """How one query reads what footers say, for each way in which formats need it."""

    tails: ReadTails
    orc: ReadOrc


class TableLayout(Protocol):
    """The containers of a table, from the coarsest to the finest, with their statistics."""

    @property
    def files(self) -> Sequence[DataFile]:
        """The files, each with the number of its partition."""
        ...

    @property
    def partition_columns(self) -> Sequence[tuple[str, str]]:
        """The columns that partitions are made by, as ``(name, type)``."""
        ...

    @property
    def partitions(self) -> Sequence[Sequence[Any]]:
        """The values of those columns, partition by partition."""
        ...

    def statistics(self, files: Sequence[int], columns: Sequence[tuple[str, str]]) -> FileStatistics:
        """Return the row groups of these files, with the statistics of these ``(name, type)`` columns."""
        ...

    def estimates(self, files: Sequence[int], columns: Sequence[tuple[str, str]]) -> FileStatistics:
        """Return the same as it was when it was read first: good enough to judge by, never to prune by."""
        ...
