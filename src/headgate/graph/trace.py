"""What each step of a graph operation read: `Trace`, for people and for pictures."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.observe import QueryReport

_HEADS = ("step", "publishes", "reaches", "row groups", "files", "seconds")


@dataclass(frozen=True, slots=True)
class Publication:
    """One set of ids that narrows a scan: which column, how many ids, and in how many bytes."""

    column: str
    vertices: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.column}: {self.vertices:,}"


@dataclass(frozen=True, slots=True)
class Step:
    """One job: what was published to its scans, how many vertices it reached, and what it read.

    ``row_groups_total`` is 0 where nothing is known of the table: it is read whole then. A table that takes ids by
    itself tells its rows instead.
    """

    what: str
    publications: tuple[Publication, ...]
    reached: int
    seconds: float
    files_read: int = 0
    files_total: int = 0
    row_groups_read: int = 0
    row_groups_total: int = 0
    note: str = ""
    rows_read: int = 0
    rows_total: int = 0

    @classmethod
    def of(
        cls,
        what: str,
        publications: tuple[Publication, ...],
        reached: int,
        seconds: float,
        report: QueryReport | None,
    ) -> Step:
        """Read from a query's report what its scans read."""
        scans = [] if report is None else report.scans
        return cls(
            what,
            publications,
            reached,
            seconds,
            sum(scan.files_read for scan in scans),
            sum(scan.files_total for scan in scans),
            sum(scan.row_groups_read for scan in scans),
            sum(scan.row_groups_total for scan in scans),
            "; ".join(dict.fromkeys(scan.reason for scan in scans if scan.reason)),
        )

    def cells(self) -> tuple[str, ...]:
        """Return the step as the cells of a row."""
        published = ", ".join(map(str, self.publications))
        groups = f"{self.row_groups_read:,} of {self.row_groups_total:,}" if self.row_groups_total else "all"
        if self.rows_total:
            groups = f"{self.rows_read:,} of {self.rows_total:,} rows"
        files = f"{self.files_read:,} of {self.files_total:,}" if self.files_total else "all"
        return self.what, published, f"{self.reached:,}", groups, files, f"{self.seconds:.2f}"


@dataclass(slots=True)
class Trace:
    """The steps of one operation, in order; ``answer`` says in a sentence how it ended."""

    operation: str
    steps: list[Step] = field(default_factory=list)
    answer: str = ""

    @property
    def seconds(self) -> float:
        """The time that all steps took."""
        return sum(step.seconds for step in self.steps)

    def __str__(self) -> str:
        rows = [_HEADS, *(step.cells() for step in self.steps)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.operation, *lines, *([self.answer] if self.answer else [])])
