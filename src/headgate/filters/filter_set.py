"""Put several filters under one version, so that one call returns everything that a consumer has not seen.

    filters     a: version 1    b: version 1    b: version 2
    set         1               2               3
    newer_than(1)  ->  News(3, {b: version 2})     a has not changed since; only the newest state of b is returned

Asking with the version of the last answer acknowledges it: no change is repeated, none is missed. Thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Condition

from headgate.errors import InvalidFilter
from headgate.filters.dynamic_filter import FilterView, Snapshot


@dataclass(frozen=True, slots=True)
class News:
    """What has changed since some version: the version now, and the newest state of each filter that changed."""

    version: int
    filters: Mapping[str, Snapshot]


class FilterSet:
    """The filters of one query.

    ``start`` is the version before the first change: a set that replaces another continues from its version.
    ``on_change`` is called after each change, on the thread that made it, without a lock.
    """

    def __init__(
        self, filters: Iterable[FilterView] = (), *, start: int = 0, on_change: Callable[[], None] | None = None
    ) -> None:
        self._filters: dict[str, FilterView] = {}
        self._changes: dict[str, tuple[int, Snapshot]] = {}
        self._version, self._on_change = start, on_change
        self._changed, self._closed = Condition(), False
        for added in filters:
            self.add(added)

    @property
    def version(self) -> int:
        """The number of changes to any filter so far."""
        return self._version

    @property
    def is_complete(self) -> bool:
        """Whether no filter can change again."""
        with self._changed:
            return self._is_final()

    def add(self, filter: FilterView) -> None:
        """Add a filter; its current state counts as a change."""
        with self._changed:
            if filter.id in self._filters:
                raise InvalidFilter(f"the set has a filter {filter.id!r} already; give each filter an id of its own")
            self._filters[filter.id] = filter
        filter.subscribe(lambda state: self._record(filter.id, state))

    def find(self, id: str) -> FilterView | None:
        """Return the filter of that id, or None."""
        return self._filters.get(id)

    def close(self) -> int:
        """Stop recording changes, release the waiters, and return the final version."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            return self._version

    def newer_than(self, version: int) -> News:
        """Return the filters that have changed since a version of this set."""
        with self._changed:
            newer = {name: state for name, (changed, state) in self._changes.items() if changed > version}
            return News(self._version, newer)

    def wait_newer(self, version: int, timeout: float | None = None) -> News:
        """Wait until any filter changes after a version, or none can, and return what is newer."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > version or self._is_final(), timeout)
            return self.newer_than(version)

    def _record(self, id: str, state: Snapshot) -> None:
        if state.version == 0:
            return
        with self._changed:
            if self._closed:
                return
            self._version += 1
            self._changes[id] = (self._version, state)
            self._changed.notify_all()
        if self._on_change is not None:
            self._on_change()

    def _is_final(self) -> bool:
        """Whether the last change of every filter is recorded, or the set is closed."""
        return self._closed or all(
            name in self._changes and self._changes[name][1].is_complete for name in self._filters
        )
