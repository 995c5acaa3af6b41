"""Advise on the layout of tables: `advise` runs the small sides of queries, and says which column to cluster by.

For each join column that a filter goes to, the files are counted that would be left if the table were sorted by it. The
column with the fewest over all queries wins; a table that is read as little already is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.advise.layout import FILE, Files, sample
from headgate.advise.places import Place
from headgate.api import enable
from headgate.catalyst.sentences import SPARK_ERRORS, sentence
from headgate.catalyst.statements import refuse_command
from headgate.domain import Domain
from headgate.errors import BadInput, InvalidFilter
from headgate.query.pipeline import Learned

_STATEMENT = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^;])+""", re.DOTALL)
_WORTH = 0.8  # what is left of the files has to be less than this share of what is read now


@dataclass(frozen=True, slots=True)
class QueryReads:
    """How many files of a table one query reads now, and how many it would read."""

    query: str
    now: int
    then: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with one table; ``column`` is empty where nothing would help, and ``statement`` is what to run."""

    table: str
    path: str
    files: int
    column: str = ""
    reads: tuple[QueryReads, ...] = ()
    reason: str = ""
    statement: str = ""

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
    """One table in the queries: its files, what was found for its columns, and what each query reads of it now.

    A table that counts its files for itself has 0 of them here until it is asked.
    """

    place: Place
    files: int
    rows: int
    bytes: int = 0
    types: dict[str, str] = field(default_factory=dict)
    domains: dict[tuple[str, str], Domain] = field(default_factory=dict)
    now: dict[str, int] = field(default_factory=dict)


def advise(spark: Any, queries: Mapping[str, str]) -> list[Advice]:
    """Return advice on each table of files that the queries (by name) read; the small sides of their joins are run."""
    if not queries:
        raise BadInput("there is no query to advise on; give at least one")
    gate = enable(spark, strategy="always", non_blocking=False)
    seen: dict[str, _Seen] = {}
    for name, text in queries.items():
        refuse_command(spark, text, "to look at it would run it")
        try:
            frame = spark.sql(text)
        except SPARK_ERRORS as error:
            raise BadInput(f"{name}: {sentence(error)}") from error
        for learned in gate.learned(frame):
            _note(seen, name, learned)
    return [_advice(spark, table, found) for table, found in seen.items()]


def _note(seen: dict[str, _Seen], query: str, learned: Learned) -> None:
    place = Place(learned.source, learned.table, learned.path, learned.format.lower())
    found = seen.setdefault(learned.table, _Seen(place, learned.files, learned.rows))
    found.now[query] = max(learned.now, found.now.get(query, 0))
    for column, (type_name, domain) in learned.columns.items():
        found.types[column] = type_name
        known = found.domains.get((query, column))
        found.domains[query, column] = domain if known is None else known | domain


def _advice(spark: Any, table: str, found: _Seen) -> Advice:
    place = found.place
    if not place.has_statistics:
        why = f"{place.format.upper()} has no statistics to skip files by; save it as Parquet, ORC, Delta or Iceberg"
        return Advice(table, place.path, found.files, reason=why)
    if not found.domains:
        return Advice(table, place.path, found.files, reason="no join of the queries narrows it")
    if place.counts_for_itself:
        found.files, found.bytes = place.size(spark)
    if found.files < 2:
        return Advice(table, place.path, found.files, reason="it is one file; there is nothing to skip")
    candidates = _candidates(spark, found)
    if not candidates:
        return Advice(table, place.path, found.files, reason="its join columns have no order that files could follow")
    best = min(candidates, key=lambda column: sum(read.then for read in candidates[column]))
    now, then = (sum(getattr(read, when) for read in candidates[best]) for when in ("now", "then"))
    if then > _WORTH * now:
        best_case = f"clustered by {best}, the queries would read {then} of its files instead of {now}"
        why = f"no layout helps: {best_case}" if then >= now else f"no layout helps much: {best_case}"
        return Advice(table, place.path, found.files, reason=why)
    run = place.statement(best, found.files, found.bytes)
    return Advice(table, place.path, found.files, best, candidates[best], statement=run)


def _candidates(spark: Any, found: _Seen) -> dict[str, tuple[QueryReads, ...]]:
    """Return what each query would read if the table were clustered by one column or another."""
    frame, counts = found.place.read(spark), found.place.counts_for_itself
    rows = frame.count() if counts else found.rows
    some = sample(frame, list(found.types), rows, found.place.file_column if counts else "")
    clustered: dict[str, Files] = {}
    for column, type_name in found.types.items():
        with suppress(InvalidFilter):
            clustered[column] = Files.clustered(some[column], type_name, found.files)
            if counts:
                _read_now(found, column, Files.present(some[column], some[FILE], type_name))
    return {
        column: tuple(_reads(name, column, files, found) for name in found.now) for column, files in clustered.items()
    }


def _read_now(found: _Seen, column: str, files: Files) -> None:
    """Note how many files the table skips none of, by one column more."""
    for query, known in found.now.items():
        domain = found.domains.get((query, column))
        left = found.files if domain is None else files.left_by(domain)
        found.now[query] = min(left, known or found.files)


def _reads(query: str, column: str, files: Files, found: _Seen) -> QueryReads:
    domain = found.domains.get((query, column))
    return QueryReads(query, found.now[query], found.files if domain is None else files.left_by(domain))


def statements(text: str) -> list[str]:
    """Return the statements of SQL, which semicolons separate."""
    return [part for found in _STATEMENT.findall(text) if (part := found.strip())]


def read_queries(files: list[Path]) -> dict[str, str]:
    """Return the queries of SQL files, by the name of the file; several in one file are separated by semicolons."""
    queries = {}
    for file in files:
        if not file.is_file():
            raise BadInput(f"there is no file at {str(file)!r}; give a file with SQL")
        try:
            parts = statements(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{str(file)!r} cannot be read as text: {error}") from error
        name = str(file) if any(other != file and other.stem == file.stem for other in files) else file.stem
        for number, part in enumerate(parts, 1):
            queries[name if len(parts) == 1 else f"{name}-{number}"] = part
    return queries
