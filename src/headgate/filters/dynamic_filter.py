"""The handle between a publisher and its consumers: `DynamicFilter`, a versioned predicate that only narrows.

    publisher:  update(domain) … complete()
    consumer:   current() -> domain   wait(timeout) -> complete?   subscribe(callback)

The version rises by one whenever the predicate really narrows or completes. A consumer may look at any time: what it
sees is always a sound filter, since before the publisher has said anything the domain is ALL.
Consumers hold the same object as the publisher but can neither complete nor cancel it: `consumer()` gives them a view
without those methods. All methods are thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition
from typing import Protocol

from headgate.domain import TupleDomain
from headgate.errors import InvalidFilter

Listener = Callable[["Snapshot"], None]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a filter: its version, its predicate, and whether it can still change."""

    version: int
    domain: TupleDomain
    is_complete: bool


class FilterView(Protocol):
    """What a consumer may do with a filter."""

    @property
    def id(self) -> str: ...
    @property
    def columns(self) -> frozenset[str]: ...
    @property
    def version(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def is_awaitable(self) -> bool: ...
    @property
    def is_blocking(self) -> bool: ...
    def current(self) -> TupleDomain: ...
    def snapshot(self) -> Snapshot: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def wait_newer(self, version: int, timeout: float | None = None) -> Snapshot: ...
    def subscribe(self, listener: Listener) -> None: ...


class DynamicFilter:
    """A predicate that a publisher narrows over time and consumers apply whenever they look."""

    def __init__(self, id: str, columns: Iterable[str], *, blocking: bool = True) -> None:
        self.id, self.columns, self._blocking = id, frozenset(columns), blocking
        if not self.columns:
            raise InvalidFilter(f"filter {id!r} needs at least one column")
        self._state = Snapshot(0, TupleDomain.all(), is_complete=False)
        self._changed = Condition()
        self._listeners: list[Listener] = []

    # --- for consumers ------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """How often the filter has changed."""
        return self._state.version

    @property
    def is_complete(self) -> bool:
        """Whether the filter will never change again."""
        return self._state.is_complete

    @property
    def is_awaitable(self) -> bool:
        """Whether waiting can still bring a narrower predicate."""
        return not self.is_complete

    @property
    def is_blocking(self) -> bool:
        """Whether a scan should wait for this filter before it starts."""
        return self._blocking and not self.is_complete

    def current(self) -> TupleDomain:
        """Return the predicate as it is now."""
        return self._state.domain

    def snapshot(self) -> Snapshot:
        """Return version, predicate and completeness as one consistent state."""
        return self._state

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the filter is complete, at most ``timeout`` seconds; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state.is_complete, timeout)

    def wait_newer(self, version: int, timeout: float | None = None) -> Snapshot:
        """Wait for a version above the given one, or for completion, and return the state then."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.version > version or self._state.is_complete, timeout)
            return self._state

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener`` with the current state at once, and with each newer one; the last has ``is_complete``."""
        with self._changed:
            if not self._state.is_complete:
                self._listeners.append(listener)
            state = self._state
        listener(state)

    def consumer(self) -> FilterView:
        """Return a view that can look and wait, and cannot change anything."""
        return _Consumer(self)

    # --- for the publisher --------------------------------------------------------------------------------------

    def update(self, domain: TupleDomain) -> Snapshot:
        """Narrow the predicate; an update that would widen it is intersected with what was known."""
        return self._publish(domain, complete=False)

    def complete(self, domain: TupleDomain | None = None) -> Snapshot:
        """Narrow one last time and say that nothing more will come; completing twice changes nothing."""
        return self._publish(TupleDomain.all() if domain is None else domain, complete=True)

    def make_non_blocking(self) -> None:
        """Let scans start without this filter; it is still applied when it arrives."""
        with self._changed:
            self._blocking = False
            self._changed.notify_all()

    def _publish(self, domain: TupleDomain, *, complete: bool) -> Snapshot:
        if unknown := set(domain.domains or ()) - self.columns:
            raise InvalidFilter(f"filter {self.id!r} has no column {min(unknown)!r}; it has {sorted(self.columns)}")
        with self._changed:
            state = self._state
            if state.is_complete:
                return state
            narrowed = state.domain & domain
            if narrowed == state.domain and not complete:
                return state
            self._state = state = Snapshot(state.version + 1, narrowed, complete)
            listeners = list(self._listeners)
            if complete:
                self._listeners.clear()
            self._changed.notify_all()
        for listener in listeners:
            listener(state)
        return state

    def __repr__(self) -> str:
        state = self._state
        return f"DynamicFilter({self.id!r}, version={state.version}, complete={state.is_complete}, {state.domain!r})"


class _Consumer:
    """A view of a filter without the publisher's methods."""

    __slots__ = ("_filter",)
    _ALLOWED = frozenset(name for name in vars(FilterView) if not name.startswith("_"))

    def __init__(self, filter: DynamicFilter) -> None:
        object.__setattr__(self, "_filter", filter)

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]  # the protocol above carries the types
        if name in self._ALLOWED:
            return getattr(self._filter, name)
        raise AttributeError(f"a consumer cannot {name!r}; it can {', '.join(sorted(self._ALLOWED))}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a consumer cannot set {name!r}")
