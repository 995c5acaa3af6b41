"""One query after its way through Headgate, or past it: the plan that was written, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.catalyst import CatalystQuery
from headgate.catalyst.wire import SeenQuery
from headgate.observe import QueryReport
from headgate.plan import Node
from headgate.query.late import LateFilters
from headgate.query.run import QueryRun


class PlannedQuery:
    """A query with its filters in place; ``plan`` is None where nothing was changed.

    A query without late filters has its report at once. One with late filters has it anew each time, until it has
    ended: what they needed is let go then.
    """

    def __init__(self, query: CatalystQuery, run: QueryRun, plan: Any, late: LateFilters | None = None) -> None:
        self.plan, self.late = plan, late
        self.root: Node = run.plan.root
        self.number = query.number
        self._query = query
        self._run: QueryRun | None = run
        self._report = QueryReport()
        if late is None:
            self.conclude()

    def report(self, seen: SeenQuery | None = None) -> QueryReport:
        """Return the report, with what late filters have done by now and whether the filters were used at all.

        ``seen`` is what Spark has told of the query by now.
        """
        if self._run is not None:
            self._report = self._run.report(None if self.late is None else self.late.facts())
        executed = self._query.executed()
        self._report.take_in_executed(executed)
        self._report.take_in_reads(self.root, executed.built)
        unfiltered = f"The query ran unfiltered: {executed.outdated}" if executed.outdated else ""
        return _with_seen(self._report, self.root, unfiltered, seen)

    def follows(self, publication: str) -> bool:
        """Whether the query has a scan that this publication goes to."""
        return any(publication == name for scan in self.root.scans() for name, _ in scan.published)

    @property
    def changes_a_table(self) -> bool:
        """Whether the query finds the rows of a table that a statement changes."""
        return any(scan.is_target for scan in self.root.scans())

    def conclude(self) -> None:
        """Make the last report, and let go of what was needed for it."""
        if self._run is None:
            return
        self._report = self._run.report(None if self.late is None else self.late.facts())
        self._run.stop_following()
        self._run = None
        if self.late is not None:
            self.late.forget()

    def drop_plan(self) -> None:
        """Let go of the plan, which may carry megabytes of collected rows."""
        self.plan = None


@dataclass(frozen=True, slots=True)
class UnfilteredQuery:
    """A query that never left the JVM; ``root`` is None where its plan is no longer there."""

    number: int
    root: Node | None
    note: str
    found: QueryReport

    def report(self, seen: SeenQuery | None = None) -> QueryReport:
        """Return the report, with what Spark has told of the query by now."""
        return _with_seen(self.found, self.root, self.note, seen)


def _with_seen(report: QueryReport, root: Node | None, note: str, seen: SeenQuery | None) -> QueryReport:
    """Return the report of a query with what it says, what Spark counted, and how it ended if that was badly."""
    if seen is not None:
        report.query = seen.text or seen.where
        if root is not None:
            report.take_in_reads(root, seen.scans)
    failed = f"The query failed: {seen.failure}" if seen is not None and seen.failure else ""
    report.note = ". ".join(filter(None, (note, failed)))
    return report
