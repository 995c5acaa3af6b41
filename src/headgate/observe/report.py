"""The report of one query: each filter, each scan and each join, what was done with it, and if nothing, why."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from headgate.catalyst.wire import Closed, Executed, FilterCounts, ToldRead, Unread
from headgate.plan.sizes import readable_bytes
from headgate.prune import ScanVerdict


@dataclass(frozen=True, slots=True)
class LateReport:
    """What became of a filter that the query did not wait for. Times are seconds since 1970, or None.

    ``opened_before`` counts files that were opened before it had come; the others count what it removed afterwards.
    """

    asked: float | None = None
    published: float | None = None
    received: float | None = None
    applied: float | None = None
    files: int = 0
    row_groups: int = 0
    rows: int = 0
    opened_before: int = 0

    @classmethod
    def of(cls, counts: FilterCounts, closed: Closed, asked: float | None, published: float | None) -> LateReport:
        """Read what tasks counted for a filter, and when it was asked for and published."""
        times = (counts.received / 1000 or None, counts.applied / 1000 or None)
        return cls(asked, published, *times, closed.files, closed.row_groups, counts.rows, counts.opened_before)

    def with_(self, other: LateReport) -> LateReport:
        """Return both together: one filter may go to columns of several types."""
        return LateReport(
            _first(self.asked, other.asked),
            _first(self.published, other.published),
            _first(self.received, other.received),
            _first(self.applied, other.applied),
            self.files + other.files,
            self.row_groups + other.row_groups,
            self.rows + other.rows,
            self.opened_before + other.opened_before,
        )

    def __str__(self) -> str:
        removed = f"{self.files:,} files, {self.row_groups:,} row groups, {self.rows:,} rows removed"
        after = "" if self.published is None or self.asked is None else f" after {self.published - self.asked:.2f} s"
        return f"arrived{after}; {self.opened_before:,} files opened before that; {removed}"


def _first(a: float | None, b: float | None) -> float | None:
    known = [time for time in (a, b) if time is not None]
    return min(known) if known else None


class FilterState(StrEnum):
    """What became of a filter: not used, built but not needed, applied, awaited while the query runs, or both."""

    DROPPED = "dropped"
    COLLECTED = "collected"
    APPLIED = "applied"
    LATE = "late"
    APPLIED_LATE = "applied late"


@dataclass(slots=True)
class FilterReport:
    """One dynamic filter."""

    id: str
    join: str
    column: str
    kind: str = ""
    state: FilterState = FilterState.DROPPED
    values: int | None = None
    bytes: int = 0
    collect_ms: int = 0
    applied_to: list[str] = field(default_factory=list)
    reason: str = ""
    late: LateReport | None = None


@dataclass(slots=True)
class ScanReport:
    """One scan of files. Bytes are those of the files and row groups that are left to read, all columns counted.

    ``table`` is the name of the table or view, else the folder; ``path`` is the folder in any case. What late filters
    leave unread counts as soon as the task that met it has ended. A table that skips by its own statistics counts its
    files, and all sources that are told conditions their rows, when the query has run.
    """

    table: str
    node: int = -1
    files_total: int = 0
    files_read: int = 0
    row_groups_total: int = 0
    row_groups_read: int = 0
    bytes_total: int = 0
    bytes_read: int = 0
    filters: list[str] = field(default_factory=list)
    reason: str = ""
    path: str = ""
    rows_read: int | None = None

    def take_in_told(self, read: ToldRead) -> None:
        """Take in what a table that skips files by its own statistics counted while it was read."""
        self.rows_read = read.rows
        if read.files is not None:
            self.files_read, self.files_total = read.files, read.files_total or read.files

    def take_in(self, planned: ScanVerdict, unread: Unread | None = None) -> None:
        """Take in what planning left of the scan, and what late filters left unread of that."""
        unread = unread or Unread()
        self.files_total, self.files_read = planned.files_total, len(planned.keep) - unread.files
        self.bytes_total, self.bytes_read = planned.bytes_total, planned.bytes_read - unread.bytes
        self.row_groups_total = planned.row_groups_total
        self.row_groups_read = planned.row_groups_read - unread.row_groups
        if unread.uncounted:
            self.row_groups_total = self.row_groups_read = 0


@dataclass(slots=True)
class JoinReport:
    """One join, and why it feeds no filter where it feeds none."""

    node: int
    type: str
    condition: str
    filters: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(slots=True)
class QueryReport:
    """The story of one query. Times are in milliseconds; ``plan_ms`` is Headgate's own, without its build jobs."""

    filters: list[FilterReport] = field(default_factory=list)
    scans: list[ScanReport] = field(default_factory=list)
    joins: list[JoinReport] = field(default_factory=list)
    plan_ms: float = 0.0
    build_ms: float = 0.0
    failures: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def bytes_total(self) -> int:
        """Bytes of all scanned files."""
        return sum(scan.bytes_total for scan in self.scans)

    @property
    def bytes_read(self) -> int:
        """Bytes left to read."""
        return sum(scan.bytes_read for scan in self.scans)

    def take_in_executed(self, executed: Executed) -> None:
        """Take in what showed when the query was written and executed."""
        for scan in self.scans:
            if scan.node in executed.scans:
                scan.take_in_told(executed.scans[scan.node])
            if scan.node in executed.untold and scan.filters:
                scan.filters, scan.reason = [], _UNTOLD
        for applied in self.filters:
            if applied.state is FilterState.APPLIED and not any(applied.id in scan.filters for scan in self.scans):
                applied.state, applied.applied_to, applied.reason = FilterState.COLLECTED, [], _UNTOLD

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)

    def __rich__(self) -> Group:
        parts: list[Any] = [_table("Scans", _SCAN_HEADS, (_scan_row(scan) for scan in self.scans))]
        parts.append(_table("Dynamic filters", _FILTER_HEADS, (_filter_row(f) for f in self.filters)))
        lonely = [join for join in self.joins if join.reason]
        if lonely:
            rows = ((join.condition or join.type, join.reason) for join in lonely)
            parts.append(_table("Joins without a filter", ("join", "why"), rows))
        parts += [Text(f"Headgate failed and left the query unfiltered: {failure}") for failure in self.failures]
        note = f". {self.note}" if self.note else ""
        parts.append(Text(f"planning {self.plan_ms:.0f} ms, builds {self.build_ms:.0f} ms{note}"))
        return Group(*parts)

    def __str__(self) -> str:
        console = Console(width=140, file=io.StringIO())
        with console.capture() as captured:
            console.print(self)
        return captured.get()

    def _repr_html_(self) -> str:
        return "".join(
            (
                _html_table("Scans", _SCAN_HEADS, (_scan_row(scan) for scan in self.scans)),
                _html_table("Dynamic filters", _FILTER_HEADS, (_filter_row(f) for f in self.filters)),
            )
        )


_UNTOLD = "its source took conditions, a limit or an aggregate that Spark does not name, so it cannot be asked anew"
_SCAN_HEADS = ("table", "files", "row groups", "bytes", "filters", "why not")
_FILTER_HEADS = ("id", "join", "column", "kind", "values", "state", "applied to", "why not, or when")


def _scan_row(scan: ScanReport) -> tuple[str, ...]:
    groups = f"{scan.row_groups_read} of {scan.row_groups_total}" if scan.row_groups_total else ""
    return (
        scan.table.rsplit("/", 1)[-1],
        f"{scan.files_read} of {scan.files_total}" if scan.files_total else "",
        groups,
        f"{readable_bytes(scan.bytes_read)} of {readable_bytes(scan.bytes_total)}" if scan.bytes_total else "",
        ", ".join(scan.filters),
        scan.reason,
    )


def _filter_row(f: FilterReport) -> tuple[str, ...]:
    values = "" if f.values is None else f"{f.values:,}"
    why = f.reason or (str(f.late) if f.late else "")
    return (f.id, f.join, f.column, f.kind, values, f.state, ", ".join(f.applied_to), why)


def _table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(*heads, title=title, title_justify="left", expand=False)
    for row in rows:
        table.add_row(*row)
    return table


def _html_table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<h4>{html.escape(title)}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
