"""Judge filters that drop only rows, while builds run: by what is left of scans, and by how many keys were found."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headgate.config import Settings
from headgate.domain import Domain
from headgate.plan import Consumer, PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed
from headgate.plan.sizes import readable_bytes
from headgate.query.scans import Scans

Found = Callable[[int], Mapping[str, Domain]]  # what the filters so far say of the columns of a scan


class RowFilterCost:
    """What filters by rows are worth in one query."""

    def __init__(self, plan: QueryPlan, scans: Scans, settings: Settings) -> None:
        self._nodes, self._scans, self._settings = plan.nodes(), scans, settings

    def why_not(self, planned: PlannedFilter, found: Found) -> str:
        """Say why a filter is no longer worth its build, or nothing: its scans may be small by now."""
        if self._settings.strategy != "cost" or not all(self._is_by_rows(to) for to in planned.consumers):
            return ""
        reading = sum(self._scans.bytes_left(scan.id, found(scan.id)) for scan in self._nodes[planned.build].scans())
        left = max(self._scans.bytes_left(to.scan, found(to.scan)) for to in planned.consumers)
        if reading <= left:
            return ""
        sizes = f"{readable_bytes(left)}, and the build side reads {readable_bytes(reading)}"
        return f"too little is left of the scan to pay for the build: {sizes}"

    def keeps_few(self, planned: PlannedFilter, keys: int | None, to: Consumer) -> bool:
        """Whether few enough of a scan's rows pass, as far as the number of keys says."""
        if self._settings.strategy == "always" or planned.feed is Feed.PUBLISHED:
            return True
        origins = [s.id for s in self._nodes[planned.build].scans() if s.find_column(planned.build_column)]
        known = [rows for scan in (to.scan, *origins) if (rows := self._scans.rows(scan))]
        return keys is not None and bool(known) and keys <= self._settings.min_selectivity * min(known)

    def _is_by_rows(self, to: Consumer) -> bool:
        """Whether a scan is filtered by rows alone: its row groups do not separate the values of the column."""
        return to.by_rows and not self._scans.clustering(to.scan, to.column).is_useful
