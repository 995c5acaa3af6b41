"""Put several filters under one version, so that a consumer asks for everything newer than what it has in one call.

    filters     a: version 1    b: version 1    b: version 2
    set         1               2               3
    newer_than(1)  ->  News(3, {b: version 2})     a has not changed since; of b only the newest state counts

Asking with the version of the last answer acknowledges it: nothing is told twice, nothing is left out. Thread-safe.
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

    ``start`` is the version before the first change: a set that takes the place of another goes on from its version.
    ``on_change`` is called after each change, on the thread that made it, with no lock held.
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
        """How often any of the filters has changed."""
        return self._version

    @property
    def is_complete(self) -> bool:
        """Whether no filter can change any more."""
        with self._changed:
            return self._all_told()

    def add(self, filter: FilterView) -> None:
        """Add a filter; what it already knows is news."""
        with self._changed:
            if filter.id in self._filters:
                raise InvalidFilter(f"there is already a filter {filter.id!r}; choose another name")
            self._filters[filter.id] = filter
        filter.subscribe(lambda state: self._note(filter.id, state))

    def find(self, id: str) -> FilterView | None:
        """Return the filter of that name, or None."""
        return self._filters.get(id)

    def close(self) -> int:
        """Take no more news, let go of those who wait, and return the version, which is now the last."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            return self._version

    def newer_than(self, version: int) -> News:
        """Return the filters that have changed after a version of this set."""
        with self._changed:
            newer = {name: state for name, (changed, state) in self._changes.items() if changed > version}
            return News(self._version, newer)

    def wait_newer(self, version: int, timeout: float | None = None) -> News:
        """Wait until any filter changes after a version, or none can any more, and return what is newer then."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > version or self._all_told(), timeout)
            return self.newer_than(version)

    def _note(self, id: str, state: Snapshot) -> None:
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

    def _all_told(self) -> bool:
        """Whether the last change of every filter has been noted here, or none will be any more."""
        return self._closed or all(
            name in self._changes and self._changes[name][1].is_complete for name in self._filters
        )
