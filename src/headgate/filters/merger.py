"""Merge the partial domains of a build side's partitions into one filter, published only when all have reported.

UNION over partitions: a probe row may match a key from any of them, so a filter made from some of them would lose rows.
Nothing is visible before the last expected partition has reported, with one exception that is safe: when a partition
reports ALL the union is ALL whatever the others say. Reports of a partition that has reported already (a retry, a
speculative twin) are ignored. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from headgate.domain import Limits, TupleDomain, ValueType, column_wise_union, within
from headgate.errors import InvalidFilter
from headgate.filters.dynamic_filter import DynamicFilter


class FilterMerger:
    """Collects one report per partition and completes a `DynamicFilter` when the last is in.

    Partitions are numbered from 0. ``expected`` may be told late, after reports have come in. A broadcast build is
    complete on its first report, since each task of it holds the whole build side. Zero expected partitions is an empty
    build side: NONE. Columns that the filter does not have are left out of the reports. ``fit`` may give a merged
    domain a wider form, where the memory that filters share has no room for it.
    """

    def __init__(
        self,
        target: DynamicFilter,
        expected: int | None = None,
        *,
        broadcast: bool = False,
        limits: Limits | None = None,
        fit: Callable[[TupleDomain], TupleDomain] | None = None,
    ) -> None:
        self._target, self._broadcast, self._limits = target, broadcast, limits or Limits()
        self._fit = fit
        self._expected: int | None = None
        self._reported: set[int] = set()
        self._parts: list[TupleDomain] = []
        self._held = self._unmerged = 0
        self._types: dict[str, ValueType] = {}
        self._lock = Lock()
        self._open = self._done = False
        if expected is not None:
            self.expect(expected)

    @property
    def expected(self) -> int | None:
        """How many partitions there are, or None while nobody has said."""
        return self._expected

    @property
    def reported(self) -> int:
        """How many partitions have reported."""
        return len(self._reported)

    @property
    def nbytes(self) -> int:
        """Memory held by reports that are not merged yet; 0 when the filter is complete."""
        return self._held

    def expect(self, partitions: int) -> None:
        """Say how many partitions there are; saying the same again is harmless."""
        if partitions < 0:
            raise InvalidFilter(f"a build side must have 0 or more partitions, not {partitions}")
        with self._lock:
            if self._expected is not None and self._expected != partitions:
                raise InvalidFilter(f"{self._target.id!r} expects {self._expected} partitions, not {partitions}")
            if not self._broadcast and any(partition >= partitions for partition in self._reported):
                highest = max(self._reported)
                raise InvalidFilter(
                    f"partition {highest} has already reported, but only {partitions} partitions are expected"
                )
            self._expected = partitions
        self._finish_if_all_in()

    def report(self, partition: int, domain: TupleDomain) -> bool:
        """Take one partition's domain; return False when it was ignored (a repeat, or the filter is complete)."""
        part = domain.only(self._target.columns)
        with self._lock:
            if self._done or partition in self._reported:
                return False
            self._check(partition, part)
            self._reported.add(partition)
            self._keep(part)
        self._finish_if_all_in()
        return True

    def finish(self, domain: TupleDomain) -> bool:
        """Complete the filter with a domain that stands for all partitions; False when it was complete before."""
        whole = self._merged([domain.only(self._target.columns)])
        with self._lock:
            if self._done:
                return False
            self._parts, self._held, self._done = [], 0, True
        self._target.complete(whole)
        return True

    def _check(self, partition: int, part: TupleDomain) -> None:
        """Refuse a report that cannot be merged, before it is counted."""
        end = self._expected if self._expected is not None and not self._broadcast else partition + 1
        if not 0 <= partition < end:
            raise InvalidFilter(f"partition {partition} is not one of the {end} partitions of {self._target.id!r}")
        types = {column: held.type for column, held in (part.domains or {}).items()}
        for column, kind in types.items():
            if self._types.get(column, kind) != kind:
                raise InvalidFilter(f"column {column!r} is {self._types[column]} in other partitions, not {kind}")
        self._types |= types

    def _keep(self, part: TupleDomain) -> None:
        """Hold a part back; many are merged on the way, still unseen, so that they never fill the memory."""
        self._parts.append(part)
        self._held += part.nbytes
        self._unmerged += part.nbytes
        if self._unmerged > self._limits.max_bytes:
            self._parts, self._unmerged = [self._merged(self._parts)], 0
            self._held = self._parts[0].nbytes
        self._open = self._open or self._parts[-1].is_all

    def _merged(self, parts: list[TupleDomain]) -> TupleDomain:
        merged = within_limits(column_wise_union(parts), self._limits)
        return merged if self._fit is None else self._fit(merged)

    def _finish_if_all_in(self) -> None:
        with self._lock:
            if self._done or not self._is_ready():
                return
            parts, self._parts, self._held, self._done = self._parts, [], 0, True
        merged = TupleDomain.all()
        try:
            merged = self._merged(parts)
        finally:  # whatever goes wrong above, nobody waits for ever: ALL is a sound filter
            self._target.complete(merged)

    def _is_ready(self) -> bool:
        if self._open or (self._broadcast and self._parts):
            return True
        return self._expected is not None and len(self._reported) >= self._expected


def within_limits(domain: TupleDomain, limits: Limits) -> TupleDomain:
    """Return a cover of the domain in which every column respects the limits."""
    if domain.domains is None:
        return domain
    return TupleDomain({column: within(held, limits) for column, held in domain.domains.items()})
