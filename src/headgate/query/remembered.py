"""The last queries that went through Headgate in one session, and their reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from headgate.catalyst.wire import SeenQuery
from headgate.observe import QueryReport, QueryReports
from headgate.query.planned import PlannedQuery, UnfilteredQuery

_MOST = 100


class RememberedQueries:
    """The last hundred, oldest first.

    ``failures_of`` says what failed inside Headgate in the query of some number, and ``seen`` what Spark told of it.
    """

    def __init__(
        self, failures_of: Callable[[int], list[str]], seen: Callable[[int], SeenQuery | None] = lambda _: None
    ) -> None:
        self._queries: deque[PlannedQuery] = deque(maxlen=_MOST)
        self._failures_of, self._seen = failures_of, seen

    def add(self, planned: PlannedQuery) -> None:
        """Remember a query."""
        self._queries.append(planned)

    def forget(self) -> None:
        """Forget all of them."""
        self._queries.clear()

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[PlannedQuery]:
        return iter(list(self._queries))

    def __getitem__(self, at: int) -> PlannedQuery:
        return self._queries[at]

    def reports(self) -> QueryReports:
        """Return their reports."""
        return QueryReports(self.report_of(planned) for planned in self)

    def report_of(self, planned: PlannedQuery | UnfilteredQuery) -> QueryReport:
        """Return the report of one of them, or of a query that Headgate did not look at, with what failed in it."""
        report = planned.report(self._seen(planned.number))
        report.failures = self._failures_of(planned.number)
        return report

    def last_report(self) -> QueryReport | None:
        """Return the report of the last query, or None where there is none.

        Of a statement that changes a table, that is the part which found what to change: others may follow it.
        """
        if not self:
            return None
        last = self[-1]
        parts = [planned for planned in reversed(list(self)) if planned is last or planned.number == last.number > 0]
        if any(planned.changes_a_table for planned in parts):
            narrowed = (report for report in map(self.report_of, parts) if any(scan.filters for scan in report.scans))
            return next(narrowed, None) or self.report_of(last)
        return self.report_of(last)

    def with_subqueries(self, report: QueryReport) -> list[QueryReport]:
        """Return the report of the last query with those of its subqueries, which were narrowed by themselves."""
        if not self or self.last_report() is not report or not self[-1].number:
            return [report]
        return [self.report_of(planned) for planned in self if planned.number == self[-1].number]

    def report_on(self, publication: str) -> QueryReport | None:
        """Return the report of the last query that a publication narrows, if there is one."""
        following = (planned for planned in reversed(list(self)) if planned.follows(publication))
        return next((self.report_of(planned) for planned in following), None)

    def conclude(self, late: str) -> None:
        """Make the last report of the query with these late filters, which has ended."""
        for planned in self:
            if planned.late is not None and planned.late.id == late:
                planned.conclude()
