"""Advise on the layout of tables: `advise` runs the small sides of queries, and says which column to cluster by.

For each join column that a filter goes to, the files are counted that would be left if the table were sorted by it. The
column with the fewest over all queries wins; a table that is read as little already is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.advise.layout import ClusteredFiles
from headgate.api import enable
from headgate.domain import Domain
from headgate.errors import BadInput, InvalidFilter
from headgate.query.pipeline import Learned

# Spark finds the bounds of ranges by a sample of 100 rows for each: files of one size need more
_SAMPLING, _SAMPLE = "spark.sql.execution.rangeExchange.sampleSizePerPartition", 10_000
_WORTH = 0.8  # what is left of the files has to be less than this share of what is read now


@dataclass(frozen=True, slots=True)
class QueryReads:
    """How many files of a table one query reads now, and how many it would read."""

    query: str
    now: int
    then: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with one table; ``column`` is empty where nothing would help."""

    table: str
    path: str
    files: int
    column: str = ""
    reads: tuple[QueryReads, ...] = ()
    reason: str = ""

    @property
    def statement(self) -> str:
        """What to run, as a person would write it in PySpark."""
        if not self.column:
            return ""
        sampled = f'spark.conf.set("{_SAMPLING}", {_SAMPLE})'
        ordered = f'.repartitionByRange({self.files}, "{self.column}").sortWithinPartitions("{self.column}")'
        written = f'.write.parquet("{self.path.rstrip("/")}_clustered")'
        return f'{sampled}; spark.read.parquet("{self.path}"){ordered}{written}'

    def __str__(self) -> str:
        if not self.column:
            return f"{self.table}: {self.reason}"
        now, then = sum(read.now for read in self.reads), sum(read.then for read in self.reads)
        each = ", ".join(f"{read.query} {read.then} instead of {read.now}" for read in self.reads)
        return (
            f"{self.table}: cluster it by {self.column}: {then} instead of {now} files would be read ({each}). "
            f"Run: {self.statement}"
        )


@dataclass(slots=True)
class _Seen:
    """One table in the queries: its files, what was found for its columns, and what each query reads of it now."""

    path: str
    files: int
    rows: int
    types: dict[str, str] = field(default_factory=dict)
    domains: dict[tuple[str, str], Domain] = field(default_factory=dict)
    now: dict[str, int] = field(default_factory=dict)


def advise(spark: Any, queries: Mapping[str, str]) -> list[Advice]:
    """Return advice on each Parquet table that the queries (by name) read; the small sides of their joins are run."""
    if not queries:
        raise BadInput("there is no query to advise on; give at least one")
    gate = enable(spark, strategy="always", non_blocking=False)
    seen: dict[str, _Seen] = {}
    for name, text in queries.items():
        for learned in gate.learned(spark.sql(text)):
            _note(seen, name, learned)
    return [_advice(spark, table, found, list(queries)) for table, found in seen.items()]


def _note(seen: dict[str, _Seen], query: str, learned: Learned) -> None:
    found = seen.setdefault(learned.table, _Seen(learned.path, learned.files, learned.rows))
    found.now[query] = max(learned.now, found.now.get(query, 0))
    for column, (type_name, domain) in learned.columns.items():
        found.types[column] = type_name
        known = found.domains.get((query, column))
        found.domains[query, column] = domain if known is None else known | domain


def _advice(spark: Any, table: str, found: _Seen, queries: list[str]) -> Advice:
    if not found.domains:
        return Advice(table, found.path, found.files, reason="no join of the queries narrows it")
    if found.files < 2:
        return Advice(table, found.path, found.files, reason="it is one file; there is nothing to skip")
    frame = spark.read.parquet(found.path)
    candidates = {}
    for column, type_name in found.types.items():
        try:
            files = ClusteredFiles.of(frame, column, type_name, found.files, found.rows)
        except InvalidFilter:
            continue
        candidates[column] = tuple(_reads(name, column, files, found) for name in queries if name in found.now)
    if not candidates:
        return Advice(table, found.path, found.files, reason="its join columns have no order that files could follow")
    best = min(candidates, key=lambda column: sum(read.then for read in candidates[column]))
    now, then = (sum(getattr(read, when) for read in candidates[best]) for when in ("now", "then"))
    if then > _WORTH * now:
        why = f"no layout helps much: at best {then} instead of {now} files, clustered by {best}"
        return Advice(table, found.path, found.files, reason=why)
    return Advice(table, found.path, found.files, best, candidates[best])


def _reads(query: str, column: str, files: ClusteredFiles, found: _Seen) -> QueryReads:
    domain = found.domains.get((query, column))
    return QueryReads(query, found.now[query], found.files if domain is None else files.left_by(domain))


def read_queries(files: list[Path]) -> dict[str, str]:
    """Return the queries of SQL files, by the name of the file; several in one file are separated by semicolons."""
    queries = {}
    for file in files:
        if not file.is_file():
            raise BadInput(f"there is no file at {str(file)!r}; give a file with SQL")
        parts = [part.strip() for part in file.read_text(encoding="utf-8").split(";") if part.strip()]
        for number, part in enumerate(parts, 1):
            queries[file.stem if len(parts) == 1 else f"{file.stem}-{number}"] = part
    return queries
