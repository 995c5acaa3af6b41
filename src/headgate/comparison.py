"""Run one query with Headgate off and on, and tell whether the rows are the same and what was read: `compare`."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from rich.console import Group

from headgate.api import disable, enable, filter_marked_only, gate_of, has_marked_only, report
from headgate.catalyst.bridge import reads_of
from headgate.catalyst.wire import SeenScan
from headgate.errors import BadInput
from headgate.observe import QueryReport
from headgate.observe.rendering import html_line, html_table, rich_table
from headgate.plan.sizes import readable_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADS = ("", "seconds", "files", "row groups", "bytes", "same answer")
_SHOWN = 20
_LAST_DIGITS = 1e-9


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """One query, off and on: seconds, the rows with Headgate on, whether both are the same, and the report.

    ``inexact`` are columns of floating-point numbers that are the same but for their last digits: a sum depends on the
    order of its rows. ``difference`` has a row of each that the other lacks, where the rows are not the same.
    ``off_reads`` is what Spark alone read, and ``parts`` are the reports of the query and its subqueries.
    """

    off_seconds: float
    on_seconds: float
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_same: bool
    report: QueryReport
    inexact: Sequence[str] = ()
    difference: str = ""
    off_reads: Sequence[SeenScan] = ()
    parts: Sequence[QueryReport] = ()

    def __repr__(self) -> str:
        """Return one line for a shell."""
        same = f"the same rows{self._but()}" if self.is_same else f"OTHER ROWS ({self.difference})"
        return f"<Comparison: {same}, {self.off_seconds:.2f} s off, {self.on_seconds:.2f} s on, {self.report!r}>"

    def __rich__(self) -> Group:
        shown = rich_table("", self.columns, self._shown())
        return Group(shown, *self._cut(), rich_table("", _HEADS, self._lines()), self.report)

    def _repr_html_(self) -> str:
        rows = html_table("Rows", self.columns, self._shown()) or html_line("No rows.")
        cut = "".join(map(html_line, self._cut()))
        return rows + cut + html_table("Headgate off and on", _HEADS, self._lines()) + self.report._repr_html_()

    def _shown(self) -> list[tuple[str, ...]]:
        return [tuple("NULL" if value is None else str(value) for value in row) for row in self.rows[:_SHOWN]]

    def _but(self) -> str:
        return f", but for the last digits of {', '.join(self.inexact)}" if self.inexact else ""

    def _cut(self) -> list[str]:
        return [f"only the first {_SHOWN} rows are shown"] if len(self.rows) > _SHOWN else []

    def _lines(self) -> list[tuple[str, ...]]:
        scans = [scan for part in self.parts or [self.report] for scan in part.scans]
        files = _share(sum(s.files_read for s in scans), sum(s.files_total for s in scans))
        groups = _share(sum(s.row_groups_read for s in scans), sum(s.row_groups_total for s in scans))
        sizes = (sum(s.bytes_read for s in scans), sum(s.bytes_total for s in scans))
        read = " of ".join(map(readable_bytes, sizes))
        same = f"yes{self._but()}" if self.is_same else "NO"
        alone = [scan for scan in self.off_reads if scan.files is not None]
        counted = str(sum(scan.files or 0 for scan in alone)) if alone else ""
        size = readable_bytes(sum(scan.bytes or 0 for scan in alone)) if alone else ""
        off = ("off", f"{self.off_seconds:.2f}", counted, "", size, "")
        return [off, ("on", f"{self.on_seconds:.2f}", files, groups, read, same)]


def _share(read: int, total: int) -> str:
    """A database has no files, and a scan that no filter goes to no count of row groups."""
    return f"{read} of {total}" if total else ""


def compare(spark: SparkSession, make: Callable[[], DataFrame], *, rounds: int = 2, **options: Any) -> Comparison:
    """Run the query that ``make`` returns with Headgate off and on, some rounds; the last counts.

    The first round also pays for Spark's own warming up. The query runs several times, so it should have no other
    effect. ``options`` are settings. Headgate is enabled afterwards if it was before.
    """
    if not callable(make):
        raise BadInput(f"compare needs a function that makes the DataFrame anew each time, not {type(make).__name__}")
    if rounds < 1:
        raise BadInput(f"compare needs at least one round, not {rounds}")
    for _ in range(rounds - 1):
        _once(spark, make, options)
    return _once(spark, make, options)


def _once(spark: SparkSession, make: Callable[[], DataFrame], options: dict[str, Any]) -> Comparison:
    with _switched(spark, off=True, options=options):
        off, expected, alone = _timed(make)
    with _switched(spark, off=False, options=options):
        on, rows, frame = _timed(make)
        told, gate = report(spark), gate_of(spark)
        parts = gate.queries.with_subqueries(told) if gate is not None else [told]
    columns = frame.columns
    same, inexact = _are_same(expected, rows, columns)
    difference = "" if same else _difference(expected, rows)
    return Comparison(off, on, columns, rows, same, told, inexact, difference, reads_of(alone), parts)


def _are_same(expected: Sequence[Any], found: Sequence[Any], columns: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Whether two answers have the same rows, and which columns differ in the last digits of floating-point numbers."""
    if sorted(map(repr, expected)) == sorted(map(repr, found)):
        return True, ()
    inexact: dict[str, None] = {}
    for row, other in zip(sorted(expected, key=_rounded), sorted(found, key=_rounded), strict=False):
        for column, a, b in zip(columns, row, other, strict=True):
            if repr(a) == repr(b):
                continue
            if not (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=_LAST_DIGITS)):
                return False, ()
            inexact[column] = None
    return len(expected) == len(found), tuple(inexact)


def _rounded(row: Sequence[Any]) -> str:
    return repr([f"{value:.8e}" if isinstance(value, float) else value for value in row])


def _difference(expected: Sequence[Any], found: Sequence[Any]) -> str:
    """Return a row of each answer that the other lacks."""
    off, on = Counter(map(repr, expected)), Counter(map(repr, found))
    only = (("off", off - on), ("on", on - off))
    return "; ".join(f"only {where}: {next(iter(rows))}" for where, rows in only if rows)


@contextmanager
def _switched(spark: SparkSession, *, off: bool, options: dict[str, Any]) -> Iterator[None]:
    """Leave the session as it was: enabled with its settings, or not enabled at all."""
    gate = gate_of(spark)
    if gate is None:
        had_marked = has_marked_only(spark)
        disable(spark) if off else enable(spark, **options)
        try:
            yield
        finally:
            disable(spark)
            if had_marked:
                filter_marked_only(spark)
        return
    before = gate.configured("enabled", *options)
    gate.configure(enabled=not off, **options)
    try:
        yield
    finally:
        gate.configure(**before)


def _timed(make: Callable[[], DataFrame]) -> tuple[float, list[Any], DataFrame]:
    started = time.perf_counter()
    frame = make()
    if not isinstance(frame, DataFrame):
        raise BadInput(f"compare needs a function that makes a DataFrame, not {type(frame).__name__}")
    rows = frame.collect()
    return time.perf_counter() - started, rows, frame
