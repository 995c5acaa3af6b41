"""Define the story of a query in `/v1/queries`: its filters, their sizes, and what happened when. No values."""

from __future__ import annotations

import msgspec

from headgate.coordinator.states import QueryState


class FilterEvents(msgspec.Struct, frozen=True, rename="camel"):
    """What happened to one filter; a time is None until it has happened."""

    asked: float
    collected: float | None
    published: float | None
    received: float | None
    last_received: float | None
    applied: float | None
    receivers: int
    files: int
    row_groups: int
    rows: int


class FilterStory(msgspec.Struct, frozen=True, rename="camel"):
    """One filter: its columns, the kind of domain of each, its size, and how many partitions have reported."""

    id: str
    columns: list[str]
    version: int
    complete: bool
    none: bool
    kinds: dict[str, str]
    bytes: int
    expected: int | None
    reported: int
    events: FilterEvents


class QueryStory(msgspec.Struct, frozen=True, rename="camel"):
    """One query and its filters."""

    query: str
    attempt: int
    state: QueryState
    version: int
    registered: float
    memory_bytes: int
    memory_peak_bytes: int
    filters: list[FilterStory]
