"""What is kept of a query, a stream and a graph walk: numbers and text, as JSON. No values of filters.

The page and the event log have the same records. A record that comes again under the same id replaces the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from headgate.catalyst.wire import SeenQuery, SeenScan
from headgate.observe import FilterReport, JoinReport, PlanLine, QueryReport, ScanReport, plan_lines
from headgate.plan import Node


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record; what has its default value is left out."""


class PartRecord(_Record, frozen=True, kw_only=True):
    """A query, or one of its subqueries, as Headgate saw it: its plan, and what became of it."""

    plan: list[PlanLine]
    filters: list[FilterReport] = []
    scans: list[ScanReport] = []
    joins: list[JoinReport] = []
    plan_ms: float = 0.0
    build_ms: float = 0.0
    note: str = ""


class QueryRecord(_Record, frozen=True, kw_only=True, tag_field="record", tag="query"):
    """One query; times are seconds since 1970. The last part is the query itself, those before are its subqueries."""

    id: str
    state: str
    started: float
    ended: float | None = None
    text: str = ""
    where: str = ""
    failure: str = ""
    note: str = ""
    reads: list[SeenScan] = []
    parts: list[PartRecord] = []


class StreamRecord(_Record, frozen=True, kw_only=True, tag_field="record", tag="stream"):
    """The last micro-batches of one streaming query, as its report has them."""

    id: str
    story: Any


class GraphRecord(_Record, frozen=True, kw_only=True, tag_field="record", tag="graph"):
    """One walk over a graph: what was asked, and what each hop published and read."""

    id: str
    started: float
    text: str
    hops: list[Any] = []


Record = QueryRecord | StreamRecord | GraphRecord


class Reported(Protocol):
    """A query that went through Headgate, or a subquery."""

    root: Node

    def report(self, seen: SeenQuery | None = None) -> QueryReport:
        """Return the report as it stands now, with what Spark has told of the query."""


def record_of(id: str, seen: SeenQuery, parts: Sequence[Reported]) -> QueryRecord:
    """Return the record of a query from what Spark says of it and from the parts that Headgate narrowed."""
    ended = seen.ended
    return QueryRecord(
        id=id,
        state=seen.state,
        started=seen.started / 1000,
        ended=None if ended is None else ended / 1000,
        text=seen.text,
        where=seen.where,
        failure=seen.failure,
        note="" if parts else seen.note,
        reads=[msgspec.structs.replace(scan, column=None) for scan in seen.scans],
        parts=[_part(planned, seen) for planned in parts],
    )


def _part(planned: Reported, seen: SeenQuery) -> PartRecord:
    report = planned.report(seen)
    return PartRecord(
        plan=plan_lines(planned.root, report),
        filters=report.filters,
        scans=report.scans,
        joins=report.joins,
        plan_ms=report.plan_ms,
        build_ms=report.build_ms,
        note=report.note,
    )
