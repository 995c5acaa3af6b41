"""Name the states of a query and the outcomes of a report."""

from __future__ import annotations

from enum import StrEnum


class QueryState(StrEnum):
    """The state of a query; all but RUNNING are final."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Outcome(StrEnum):
    """What happened to a report."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # the partition has reported, or the filter is complete
    STALE = "stale"  # it came from an older attempt of the query
