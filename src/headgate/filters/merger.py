"""Merge the partial domains of a build side's partitions into one filter, published only when all have reported.

The merge is a union: a probe row may match a key from any partition, so a filter of only some partitions would lose
rows. Nothing is published before the last expected partition has reported, with one safe exception: when a partition
reports ALL, the union is ALL whatever the others say. Repeated reports of a partition (a retry, a speculative task) are
ignored. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from headgate.domain import Limits, TupleDomain, ValueType, column_wise_union, within
from headgate.errors import InvalidFilter
from headgate.filters.dynamic_filter import DynamicFilter


class FilterMerger:
    """Collects one report for each partition and completes a `DynamicFilter` with the last.

    Partitions are numbered from 0. ``expected`` may be set after the first reports. A broadcast build is complete on
    its first report, since each of its tasks has the whole build side. Zero expected partitions mean an empty build
    side: NONE. Columns that the filter does not have are dropped from reports. ``fit`` may widen a merged domain that
    is too large for the memory that filters share.
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
        self._part_bytes = self._unmerged_bytes = 0
        self._types: dict[str, ValueType] = {}
        self._lock = Lock()
        self._open = self._done = False
        if expected is not None:
            self.expect(expected)

    @property
    def expected(self) -> int | None:
        """The number of partitions, or None if it is not known yet."""
        return self._expected

    @property
    def reported(self) -> int:
        """The number of partitions that have reported."""
        return len(self._reported)

    @property
    def nbytes(self) -> int:
        """Memory used by unpublished reports; 0 when the filter is complete."""
        return self._part_bytes

    def expect(self, partitions: int) -> None:
        """Set the number of partitions; setting the same number again is harmless."""
        if partitions < 0:
            raise InvalidFilter(
                f"filter {self._target.id!r} cannot expect {partitions} partitions; a build side has 0 or more"
            )
        with self._lock:
            if self._expected is not None and self._expected != partitions:
                raise InvalidFilter(
                    f"{self._target.id!r} expects {self._expected} partitions, not {partitions}; set the number once"
                )
            if not self._broadcast and any(partition >= partitions for partition in self._reported):
                highest = max(self._reported)
                raise InvalidFilter(
                    f"partition {highest} of {self._target.id!r} has reported; {partitions} partitions are too few"
                )
            self._expected = partitions
        self._finish_if_ready()

    def report(self, partition: int, domain: TupleDomain) -> bool:
        """Add one partition's domain; return False if it is ignored (a repeat, or the filter is complete)."""
        part = domain.only(self._target.columns)
        with self._lock:
            if self._done or partition in self._reported:
                return False
            self._check(partition, part)
            self._reported.add(partition)
            self._keep(part)
        self._finish_if_ready()
        return True

    def finish(self, domain: TupleDomain) -> bool:
        """Complete the filter with a domain for all partitions; return False if it was complete before."""
        whole = self._merged([domain.only(self._target.columns)])
        with self._lock:
            if self._done:
                return False
            self._parts, self._part_bytes, self._done = [], 0, True
        self._target.complete(whole)
        return True

    def _check(self, partition: int, part: TupleDomain) -> None:
        """Refuse a report that cannot be merged, before it is counted."""
        end = self._expected if self._expected is not None and not self._broadcast else partition + 1
        if not 0 <= partition < end:
            raise InvalidFilter(
                f"partition {partition} is not one of the {end} partitions of filter {self._target.id!r}; count from 0"
            )
        types = {name: column.type for name, column in (part.domains or {}).items()}
        for name, found in types.items():
            if (known := self._types.get(name, found)) != found:
                raise InvalidFilter(
                    f"column {name!r} is {found} in partition {partition} and {known} in others; report one type"
                )
        self._types |= types

    def _keep(self, part: TupleDomain) -> None:
        """Keep a part. Parts that grow large are merged, without publishing, so that they never fill the memory."""
        self._parts.append(part)
        self._part_bytes += part.nbytes
        self._unmerged_bytes += part.nbytes
        if self._unmerged_bytes > self._limits.max_bytes:
            self._parts, self._unmerged_bytes = [self._merged(self._parts)], 0
            self._part_bytes = self._parts[0].nbytes
        self._open = self._open or self._parts[-1].is_all

    def _merged(self, parts: list[TupleDomain]) -> TupleDomain:
        merged = within_limits(column_wise_union(parts), self._limits)
        return merged if self._fit is None else self._fit(merged)

    def _finish_if_ready(self) -> None:
        with self._lock:
            if self._done or not self._is_ready():
                return
            parts, self._parts, self._part_bytes, self._done = self._parts, [], 0, True
        merged = TupleDomain.all()
        try:
            merged = self._merged(parts)
        finally:  # if merging fails, complete with ALL, which is sound, so that nobody waits forever
            self._target.complete(merged)

    def _is_ready(self) -> bool:
        if self._open or (self._broadcast and self._parts):
            return True
        return self._expected is not None and len(self._reported) >= self._expected


def within_limits(domain: TupleDomain, limits: Limits) -> TupleDomain:
    """Return a cover of the domain in which every column respects the limits."""
    if domain.domains is None:
        return domain
    return TupleDomain({name: within(column, limits) for name, column in domain.domains.items()})
