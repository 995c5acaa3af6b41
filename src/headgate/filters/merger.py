"""Merge the partial domains of a build side's partitions into one filter, published only when all have reported.

UNION over partitions: a probe row may match a key from any of them, so a filter made from some of them would lose rows.
Nothing is visible before the last expected partition has reported, with one exception that is safe: when a partition
reports ALL the union is ALL whatever the others say. Reports of a partition that has reported already (a retry, a
speculative twin) are ignored. Thread-safe.
"""

from __future__ import annotations

from threading import Lock

from headgate.domain import Limits, TupleDomain, column_wise_union
from headgate.domain.values import Discrete
from headgate.errors import InvalidFilter
from headgate.filters.dynamic_filter import DynamicFilter


class FilterMerger:
    """Collects one report per partition and completes a `DynamicFilter` when the last is in.

    ``expected`` may be told late, after reports have come in. A broadcast build is complete on its first report, since
    each task of it holds the whole build side. Zero expected partitions is an empty build side: NONE.
    """

    def __init__(
        self, target: DynamicFilter, expected: int | None = None, *, broadcast: bool = False, limits: Limits | None = None
    ) -> None:
        self._target, self._broadcast, self._limits = target, broadcast, limits or Limits()
        self._expected: int | None = None
        self._parts: dict[int, TupleDomain] = {}
        self._lock = Lock()
        self._done = False
        if expected is not None:
            self.expect(expected)

    @property
    def reported(self) -> int:
        """How many partitions have reported."""
        return len(self._parts)

    @property
    def nbytes(self) -> int:
        """Memory held by reports that are not merged yet; 0 when the filter is complete."""
        with self._lock:
            return 0 if self._done else sum(part.nbytes for part in self._parts.values())

    def expect(self, partitions: int) -> None:
        """Say how many partitions there are; saying the same again is harmless."""
        if partitions < 0:
            raise InvalidFilter(f"a build side has 0 or more partitions, not {partitions}")
        with self._lock:
            if self._expected is not None and self._expected != partitions:
                raise InvalidFilter(f"{self._target.id!r} expects {self._expected} partitions, not {partitions}")
            if len(self._parts) > partitions:
                raise InvalidFilter(f"{len(self._parts)} partitions have reported, more than the {partitions} expected")
            self._expected = partitions
        self._finish_if_all_in()

    def report(self, partition: int, domain: TupleDomain) -> bool:
        """Take one partition's domain; return False when it was ignored (a repeat, or the filter is complete)."""
        with self._lock:
            if self._done or partition in self._parts:
                return False
            if self._expected is not None and not 0 <= partition < self._expected and not self._broadcast:
                raise InvalidFilter(f"partition {partition} is not one of the {self._expected} of {self._target.id!r}")
            self._parts[partition] = domain
        self._finish_if_all_in()
        return True

    def _finish_if_all_in(self) -> None:
        with self._lock:
            if self._done or not self._ready():
                return
            self._done, parts, self._parts = True, list(self._parts.values()), dict.fromkeys(self._parts, TupleDomain.all())
        merged = column_wise_union(parts) if parts else TupleDomain.none()
        self._target.complete(within_limits(merged, self._limits))

    def _ready(self) -> bool:
        if any(part.is_all for part in self._parts.values()):
            return True
        if self._broadcast and self._parts:
            return True
        return self._expected is not None and len(self._parts) >= self._expected


def within_limits(domain: TupleDomain, limits: Limits) -> TupleDomain:
    """Return a cover of the domain that respects the limits: set, then bitmap, then range, then ALL."""
    kept = {}
    for column, held in (domain.domains or {}).items():
        if isinstance(held.values, Discrete) and len(held.values.places) > limits.max_distinct and held.type.fits_bitmap:
            held = type(held).bitmap(held.type, held.values.places, null_allowed=held.null_allowed)  # noqa: PLW2901
        too_many = isinstance(held.values, Discrete) and len(held.values.places) > limits.max_distinct
        if too_many or held.nbytes > limits.max_bytes:
            held = held.span() if limits.ranges else type(held).all(held.type)  # noqa: PLW2901
        kept[column] = held
    return domain if domain.is_none else TupleDomain(kept)
