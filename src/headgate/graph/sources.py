"""Say what a table must offer that takes sets of ids by itself, so that graph operations need not publish to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from headgate.graph.frontier import Frontier


class SourceRead(Protocol):
    """One read of a table: ``frame`` has the rows, and once it has run the numbers say what it took."""

    @property
    def frame(self) -> DataFrame:
        """The rows asked for, and no others."""

    @property
    def rows_read(self) -> int:
        """How many rows were read, whether to be tested or to be given."""

    @property
    def parts_read(self) -> int:
        """How many parts of the table were opened."""


class EdgeSource(Protocol):
    """A table of edges that reads only the rows whose columns are in sets of ids."""

    @property
    def frame(self) -> DataFrame:
        """All rows and columns."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""

    @property
    def part_count(self) -> int:
        """How many parts the table has."""

    def within(self, ids: Mapping[str, Frontier], columns: Sequence[str] | None = None) -> SourceRead:
        """Return the rows whose columns are in the sets: exactly those; NULL is in no set."""

    def advice(self, column: str) -> str:
        """Say in a sentence what makes sets of a column's ids cheaper to find, or nothing."""
