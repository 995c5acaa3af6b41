"""Run build sides in Spark and publish what their tasks report: one domain for each key.

Each task keeps a bounded partial domain of each key, and its rows while they are few (BuildTask.java). The merger
unions the partials into the key's filter; nothing is published before all have reported, which a finished job
guarantees. A build whose rows fit the broadcast limit comes back as rows too: they take the place of the build side, so
it runs once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.catalyst import CatalystQuery
from headgate.catalyst.packed import PackedBuild, partial_domain
from headgate.catalyst.wire import BuildOrder, BuildOrders, KeyLimits, PlanEdits
from headgate.domain import Domain, Limits, TupleDomain, value_type
from headgate.filters import ColumnFilter, FilterMerger
from headgate.filters.column_filter import COLUMN


@dataclass(frozen=True, slots=True)
class BuildKey:
    """A column of a build side whose values are wanted: its expression id, its position, its type, and its filter."""

    column: int
    ordinal: int
    type: str
    filter: ColumnFilter = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filter", ColumnFilter(f"key {self.column}", value_type(self.type)))


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A build side to run: its node, the keys that are wanted, and how many bytes of rows may come back.

    ``serves`` names the filters that it feeds.
    """

    node: int
    keys: tuple[BuildKey, ...]
    row_bytes: int
    edits: PlanEdits = field(default_factory=PlanEdits)
    serves: str = ""

    def found(self, column: int) -> Domain:
        """Return what was found of a key; ALL before the build has run, and where it failed."""
        return next(key for key in self.keys if key.column == column).filter.domain()


@dataclass(frozen=True, slots=True)
class BuildResult:
    """How a build ended: its number, its rows, and whether they came along; its keys are in the request's filters."""

    number: int
    rows: int
    has_rows: bool
    row_bytes: int
    millis: int
    error: str


class RunningWave:
    """Build sides of one wave that run at the same time."""

    def __init__(self, query: CatalystQuery, requests: Sequence[BuildRequest], limits: Limits) -> None:
        self._requests, self._limits = requests, limits
        orders = [
            BuildOrder(
                node=r.node, keys=[key.ordinal for key in r.keys], row_bytes=r.row_bytes, edits=r.edits, serves=r.serves
            )
            for r in requests
        ]
        most = KeyLimits(max_distinct=limits.max_distinct, max_bytes=limits.max_bytes)
        self._running = query.start_builds(BuildOrders(limits=most, builds=orders))

    def cancel(self) -> None:
        """End the builds that still run."""
        self._running.cancel()

    def wait(self, seconds: float | None = None) -> list[BuildResult] | None:
        """Publish the keys and return the results, or return None when the builds still run after so many seconds."""
        builds = self._running.wait(seconds)
        if builds is None:
            return None
        return [_published(request, build, self._limits) for request, build in zip(self._requests, builds, strict=True)]


def tapped_domain(parts: Sequence[bytes], type: str, limits: Limits) -> Domain:
    """Return the domain of a key that the tasks of a tapped stage have reported."""
    found = ColumnFilter("tap", value_type(type))
    _merge(found, parts, limits)
    return found.domain()


def _published(request: BuildRequest, build: PackedBuild, limits: Limits) -> BuildResult:
    """Publish each key on its own, so that one that is all NULL empties no other."""
    for position, key in enumerate(request.keys):
        if build.error:
            key.filter.complete()
        else:
            _merge(key.filter, [part[position] for part in build.partitions], limits)
    return BuildResult(build.number, build.rows, build.has_rows, build.row_bytes, build.millis, build.error)


def _merge(target: ColumnFilter, parts: Sequence[bytes], limits: Limits) -> None:
    merger = FilterMerger(target, len(parts), limits=limits)
    for number, part in enumerate(parts):
        merger.report(number, TupleDomain({COLUMN: partial_domain(target.type, part)}))
