"""The report of one query: each filter, each scan and each join, what was done with it, and if nothing, why."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from textwrap import shorten
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from headgate.catalyst.wire import Closed, Executed, FilterCounts, SeenScan, ToldRead, Unread
from headgate.observe.rendering import Titled, filled, html_line, html_strip, html_table, rich_table, text_width
from headgate.plan import Node
from headgate.plan.sizes import readable_bytes
from headgate.prune import ScanVerdict
from headgate.prune.strips import Strips


@dataclass(frozen=True, slots=True)
class LateReport:
    """What became of a filter that the query did not wait for. Times are seconds since 1970, or None.

    ``received`` is when the first task had it, whether or not it removed something. ``opened_before`` counts files that
    were opened before it had come, and ``opened_cut_off`` those of them that were opened by executors which could not
    reach the ``coordinator``; the others count what it removed afterwards.
    """

    asked: float | None = None
    published: float | None = None
    received: float | None = None
    applied: float | None = None
    files: int = 0
    row_groups: int = 0
    rows: int = 0
    opened_before: int = 0
    opened_cut_off: int = 0
    coordinator: str = ""

    @classmethod
    def of(
        cls, counts: FilterCounts, closed: Closed, asked: float | None, published: float | None, coordinator: str
    ) -> LateReport:
        """Read what tasks counted for a filter, when it was asked for and published, and where executors ask for it."""
        times = (counts.received / 1000 or None, counts.applied / 1000 or None)
        opened = (counts.opened_before, counts.opened_cut_off)
        return cls(asked, published, *times, closed.files, closed.row_groups, counts.rows, *opened, coordinator)

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
            self.opened_cut_off + other.opened_cut_off,
            self.coordinator or other.coordinator,
        )

    @property
    def removed(self) -> int:
        """How many files, row groups and rows it removed."""
        return self.files + self.row_groups + self.rows

    @property
    def cut_off(self) -> str:
        """A sentence on executors that could not reach the coordinator; empty if all could."""
        if not self.opened_cut_off:
            return ""
        return (
            f"executors could not reach the coordinator at {self.coordinator}, and opened {self.opened_cut_off:,} "
            "files without the filter; let them connect to this address, or set spark.headgate.coordinator.host and "
            "spark.headgate.coordinator.port to one that they can reach"
        )

    @property
    def _arrival(self) -> str:
        """Say whether it arrived: only a task that had it can know."""
        after = "" if self.published is None or self.asked is None else f" after {self.published - self.asked:.2f} s"
        if self.received is not None or self.removed:
            return f"arrived{after}"
        return (
            "did not arrive while the query ran" if self.published is None else f"published{after}, and no task had it"
        )

    def __str__(self) -> str:
        removed = f"{self.files:,} files, {self.row_groups:,} row groups, {self.rows:,} rows removed"
        told = f"{self._arrival}; {self.opened_before:,} files opened without it; {removed}"
        return f"{told}; {self.cut_off}" if self.cut_off else told


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
    """One dynamic filter; ``build`` is the node that its values come from."""

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
    build: int = -1


@dataclass(slots=True)
class ScanReport:
    """One scan of files. Bytes are those of the files and row groups that are left to read, all columns counted.

    ``table`` is the name of the table or view, else the folder; ``path`` is the folder in any case. What late filters
    leave unread counts as soon as the task that met it has ended. A table that skips by its own statistics, and a scan
    that no filter goes to, count their files when the query has run, and so do all scans their rows.

    ``file_runs`` are the files in order, as planning and late filters left them: how many are read, how many are not,
    how many are read again, and so on; ``group_runs`` the same for the row groups of files that were looked into.
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
    file_runs: list[int] = field(default_factory=list)
    group_runs: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What tables and `FilterReport.applied_to` call it: the table or view, else the last part of the folder."""
        return self.table.rsplit("/", 1)[-1]

    def take_in_told(self, read: ToldRead) -> None:
        """Take in what a table that skips files by its own statistics counted while it was read."""
        self.rows_read = read.rows
        if read.bytes is not None:
            self.bytes_read, self.bytes_total = read.bytes, max(read.bytes, _bytes_of_all(read, self.bytes_total))
        if read.files is not None:
            self.files_read, self.files_total = read.files, read.files_total or read.files
            if self.filters and 1 < read.files == read.files_total:
                self.reason = _why_all_files(read)

    def take_in_seen(self, read: SeenScan) -> None:
        """Take in what Spark itself counted while it read: rows, and files that were not listed before."""
        self.rows_read = read.rows if self.rows_read is None else self.rows_read
        if self.files_total or read.files is None:
            return
        self.files_read, self.files_total = read.files, max(read.files, read.files_total or 0)
        if read.bytes is not None:
            is_whole = self.files_read == self.files_total
            self.bytes_read, self.bytes_total = (
                read.bytes,
                read.bytes if is_whole else max(read.bytes, self.bytes_total),
            )

    def take_in(self, planned: ScanVerdict, unread: Unread | None = None, strips: Strips | None = None) -> None:
        """Take in what planning left of the scan, and what late filters left unread of that, counted and by place."""
        unread, strips = unread or Unread(), strips or Strips(planned.file_runs(), planned.group_runs)
        self.files_total, self.files_read = planned.files_total, len(planned.keep) - unread.files
        self.bytes_total, self.bytes_read = planned.bytes_total, planned.bytes_read - unread.bytes
        self.row_groups_total = planned.row_groups_total
        self.row_groups_read = planned.row_groups_read - unread.row_groups
        self.file_runs, self.group_runs = list(strips.files), list(strips.groups)
        if unread.uncounted:
            self.row_groups_total = self.row_groups_read = 0
            self.group_runs = []


@dataclass(slots=True)
class JoinReport:
    """One join, and why it feeds no filter where it feeds none."""

    node: int
    type: str
    condition: str
    filters: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(slots=True, repr=False)
class QueryReport:
    """The story of one query. Times are in milliseconds; ``plan_ms`` is Headgate's own, without its build jobs.

    ``query`` is its SQL where it was written as SQL, or else its description or the line of the program.
    """

    filters: list[FilterReport] = field(default_factory=list)
    scans: list[ScanReport] = field(default_factory=list)
    joins: list[JoinReport] = field(default_factory=list)
    plan_ms: float = 0.0
    build_ms: float = 0.0
    failures: list[str] = field(default_factory=list)
    note: str = ""
    query: str = ""

    @property
    def bytes_total(self) -> int:
        """Bytes of all scanned files."""
        return sum(scan.bytes_total for scan in self.scans)

    @property
    def bytes_read(self) -> int:
        """Bytes left to read."""
        return sum(scan.bytes_read for scan in self.scans)

    @property
    def applied(self) -> int:
        """How many filters were applied, before the query ran or while it did."""
        return sum(f.state in (FilterState.APPLIED, FilterState.APPLIED_LATE) for f in self.filters)

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

    def take_in_reads(self, root: Node, reads: Sequence[SeenScan]) -> None:
        """Take in what Spark counted for the scans of a plan that ran."""
        counted = {read.column: read for read in reversed(reads)}
        columns = {node.id: [column.id for column in node.output] for node in root.scans()}
        for scan in self.scans:
            found = (counted[column] for column in columns[scan.node] if column in counted)
            if (read := next(found, None)) is not None:
                scan.take_in_seen(read)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)

    def __rich__(self) -> Group:
        tables = [rich_table(*table) for table in self._tables() if table[-1]]
        return Group(*tables, *map(Text, self._lines()))

    def _tables(self) -> list[Titled]:
        return [
            filled("Scans", _SCAN_HEADS, [_scan_row(scan) for scan in self.scans]),
            filled("Dynamic filters", _FILTER_HEADS, [_filter_row(f) for f in self.filters]),
            filled("Joins without a filter", ("join", "why"), self._lonely_joins()),
        ]

    def _lonely_joins(self) -> list[tuple[str, ...]]:
        return [(join.condition or join.type, join.reason) for join in self.joins if join.reason]

    def _lines(self) -> list[str]:
        failures = [f"Headgate failed in this query, and went on without: {failure}" for failure in self.failures]
        note = f". {self.note}" if self.note else ""
        nothing = [] if self.scans or self.note else ["The query reads nothing that a filter could narrow."]
        return [*failures, *nothing, f"planning {self.plan_ms:.0f} ms, builds {self.build_ms:.0f} ms{note}"]

    def __repr__(self) -> str:
        """Return one line: a shell shows it for each query."""
        if not self.scans:
            return f"<QueryReport: {self.note or 'no scans'}>"
        files, total = sum(scan.files_read for scan in self.scans), sum(scan.files_total for scan in self.scans)
        size = f"{readable_bytes(self.bytes_read)} of {readable_bytes(self.bytes_total)}"
        read = f", {files} of {total} files" if total else ""  # databases have none
        note = f"; {self.note}" if self.note else ""
        return f"<QueryReport: {self.applied} of {len(self.filters)} filters applied{read}, {size}{note}>"

    def __str__(self) -> str:
        console = Console(width=text_width(140), file=io.StringIO())
        with console.capture() as captured:
            console.print(self)
        return captured.get()

    def _repr_html_(self) -> str:
        strips = (html_strip(_strip_title(scan), scan.file_runs) for scan in self.scans)
        scans, *others = (html_table(*table) for table in self._tables())
        return "".join((scans, *strips, *others, *map(html_line, self._lines())))


class QueryReports(list[QueryReport]):
    """Reports of several queries, oldest first; a notebook shows them as one table."""

    def __repr__(self) -> str:
        """Return one line a query."""
        return "\n".join(map(repr, self)) or "<no reports>"

    def _repr_html_(self) -> str:
        rows = map(_report_row, range(len(self)), self)
        return html_table("Queries", _REPORT_HEADS, rows) or html_line("No reports.")


EVERY_FILE = "every file may hold a match; cluster the table by the column of the filter to let it skip files"
_UNTOLD = "its source took conditions, a limit or an aggregate that Spark does not name, so it cannot be asked anew"
_SCAN_HEADS = ("table", "files", "row groups", "bytes", "filters", "why not")
_REPORT_HEADS = ("number", "query", "filters applied", "files", "bytes", "planning", "builds", "note")
_FILTER_HEADS = ("id", "join", "column", "kind", "values", "state", "applied to", "why not, or when")


def _scan_row(scan: ScanReport) -> tuple[str, ...]:
    groups = f"{scan.row_groups_read} of {scan.row_groups_total}" if scan.row_groups_total else ""
    return (
        scan.name,
        f"{scan.files_read} of {scan.files_total}" if scan.files_total else "",
        groups,
        f"{readable_bytes(scan.bytes_read)} of {readable_bytes(scan.bytes_total)}" if scan.bytes_total else "",
        ", ".join(scan.filters),
        scan.reason,
    )


def _report_row(number: int, report: QueryReport) -> tuple[str, ...]:
    files = sum(scan.files_total for scan in report.scans)
    return (
        str(number),
        shorten(report.query, 80, placeholder=" ..."),
        f"{report.applied} of {len(report.filters)}",
        f"{sum(scan.files_read for scan in report.scans)} of {files}" if files else "",
        f"{readable_bytes(report.bytes_read)} of {readable_bytes(report.bytes_total)}",
        f"{report.plan_ms:.0f} ms",
        f"{report.build_ms:.0f} ms",
        report.note,
    )


def _bytes_of_all(read: ToldRead, estimated: int) -> int:
    """Return the bytes of all files: as the table says, else as those that were read suggest, else Spark's estimate."""
    if read.bytes_total is not None:
        return read.bytes_total
    if read.bytes and read.files and read.files_total:
        return read.bytes * read.files_total // read.files
    return estimated


def _why_all_files(read: ToldRead) -> str:
    if not read.without:
        return EVERY_FILE
    columns = ", ".join(read.without)
    return f"the table keeps no statistics of {columns} for its files; set {read.setting}, and rewrite the files"


def _strip_title(scan: ScanReport) -> str:
    return f"{scan.name}: {scan.files_read:,} of {scan.files_total:,} files read"


def _filter_row(f: FilterReport) -> tuple[str, ...]:
    values = "" if f.values is None else f"{f.values:,}"
    why = f.reason or (str(f.late) if f.late else "")
    return (f.id, f.join, f.column, f.kind, values, f.state, ", ".join(f.applied_to), why)
