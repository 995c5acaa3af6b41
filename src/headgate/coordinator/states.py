"""Where a query stands, and what became of a report."""

from __future__ import annotations

from enum import StrEnum


class QueryState(StrEnum):
    """Where a query stands; all but RUNNING are ends."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Outcome(StrEnum):
    """What became of a report."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # the partition has reported, or the filter is complete
    STALE = "stale"  # it came from an older attempt of the query
