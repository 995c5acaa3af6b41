"""Connect a publisher with its consumers: `DynamicFilter`, a versioned predicate that only narrows.

    publisher:  update(domain) … complete()
    consumer:   current() -> domain   wait(timeout) -> complete?   subscribe(listener)

The version rises by one whenever the predicate narrows or completes. A consumer may look at any time and always sees a
sound filter, since the domain is ALL before the publisher says anything.
The publisher has the `DynamicFilter`; consumers have the `FilterView` from ``consumer()``, which can look and wait and
has no method to complete or cancel. All methods are thread-safe, and listeners run without a lock.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition, Lock

from headgate.domain import TupleDomain
from headgate.errors import InvalidFilter

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a filter: its version, its predicate, and whether it can still change."""

    version: int
    domain: TupleDomain
    is_complete: bool


Listener = Callable[[Snapshot], None]


class FilterView:
    """What a consumer may do with a filter: look at it, wait for it, and listen to its changes."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared

    @property
    def id(self) -> str:
        """The name of the filter."""
        return self._shared.id

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the filter may constrain."""
        return self._shared.columns

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self._shared.state.version

    @property
    def is_complete(self) -> bool:
        """Whether the filter will never change again."""
        return self._shared.state.is_complete

    @property
    def is_awaitable(self) -> bool:
        """Whether waiting can still bring a narrower predicate."""
        return not self.is_complete

    @property
    def is_blocking(self) -> bool:
        """Whether a scan should wait for this filter before it starts."""
        return self._shared.blocking and not self.is_complete

    def current(self) -> TupleDomain:
        """Return the predicate as it is now."""
        return self._shared.state.domain

    def snapshot(self) -> Snapshot:
        """Return version, predicate and completeness as one consistent state."""
        return self._shared.state

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the filter is complete, at most ``timeout`` seconds; return whether it is.

        Making a filter non-blocking releases its waiters.
        """
        shared = self._shared
        with shared.changed:
            was_blocking = shared.blocking
            shared.changed.wait_for(lambda: shared.state.is_complete or (was_blocking and not shared.blocking), timeout)
            return shared.state.is_complete

    def wait_newer(self, version: int, timeout: float | None = None) -> Snapshot:
        """Wait for a version above the given one, or for completion, and return that state."""
        shared = self._shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.state.version > version or shared.state.is_complete, timeout)
            return shared.state

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with the current state at once, and with each newer one in order; the last is complete.

        Calls come one at a time, on the thread that subscribes or publishes. A listener that raises is logged and
        affects neither the publisher nor other listeners. Call the returned function to unsubscribe.
        """
        mailbox = _Mailbox(listener)
        with self._shared.changed:
            mailbox.put(self._shared.state)
            if not self._shared.state.is_complete:
                self._shared.mailboxes.append(mailbox)
        mailbox.deliver()
        return lambda: self._unsubscribe(mailbox)

    def _unsubscribe(self, mailbox: _Mailbox) -> None:
        with self._shared.changed:
            if mailbox in self._shared.mailboxes:
                self._shared.mailboxes.remove(mailbox)

    def __repr__(self) -> str:
        state = self.snapshot()
        what = f"version={state.version}, complete={state.is_complete}, {state.domain!r}"
        return f"{type(self).__name__}({self.id!r}, {what})"


class DynamicFilter(FilterView):
    """A predicate that a publisher narrows over time and consumers apply whenever they look."""

    def __init__(self, id: str, columns: Iterable[str], *, blocking: bool = True) -> None:
        super().__init__(_Shared(id, frozenset(columns), blocking))
        if not self.columns:
            raise InvalidFilter(f"filter {id!r} has no columns; give it at least one column")

    def consumer(self) -> FilterView:
        """Return a view that can look and wait but not change anything."""
        return FilterView(self._shared)

    def update(self, domain: TupleDomain) -> Snapshot:
        """Narrow the predicate: intersect it with ``domain``, so an update never widens it."""
        return self._publish(domain, complete=False)

    def complete(self, domain: TupleDomain | None = None) -> Snapshot:
        """Narrow one last time and declare the filter final; completing twice changes nothing."""
        return self._publish(TupleDomain.all() if domain is None else domain, complete=True)

    def make_non_blocking(self) -> None:
        """Release the scans that wait for this filter and let others start without it; it applies once it arrives."""
        with self._shared.changed:
            self._shared.blocking = False
            self._shared.changed.notify_all()

    def _publish(self, domain: TupleDomain, *, complete: bool) -> Snapshot:
        if unknown := set(domain.domains or ()) - self.columns:
            known = sorted(self.columns)
            raise InvalidFilter(f"filter {self.id!r} has no column {min(map(str, unknown))!r}; its columns are {known}")
        shared = self._shared
        with shared.changed:
            state = shared.state
            if state.is_complete:
                return state
            narrowed = state.domain & domain
            if narrowed == state.domain and not complete:
                return state
            shared.state = state = Snapshot(state.version + 1, narrowed, complete)
            mailboxes = list(shared.mailboxes)
            for mailbox in mailboxes:
                mailbox.put(state)
            if complete:
                shared.mailboxes.clear()
            shared.changed.notify_all()
        for mailbox in mailboxes:
            mailbox.deliver()
        return state


class _Shared:
    """The state that a filter shares with its views; ``state`` is replaced as a whole, so reading it needs no lock."""

    __slots__ = ("blocking", "changed", "columns", "id", "mailboxes", "state")

    def __init__(self, id: str, columns: frozenset[str], blocking: bool) -> None:
        self.id, self.columns, self.blocking = id, columns, blocking
        self.state = Snapshot(0, TupleDomain.all(), is_complete=False)
        self.changed = Condition()
        self.mailboxes: list[_Mailbox] = []


class _Mailbox:
    """States that a listener has yet to see, in order; one thread at a time delivers them."""

    __slots__ = ("_delivering", "_listener", "_lock", "_states")

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._states: deque[Snapshot] = deque()
        self._lock, self._delivering = Lock(), False

    def put(self, state: Snapshot) -> None:
        self._states.append(state)

    def deliver(self) -> None:
        while True:
            with self._lock:
                if self._delivering or not self._states:
                    return
                self._delivering, state = True, self._states.popleft()
            try:
                self._listener(state)
            except Exception:  # noqa: BLE001 - a consumer's failure must not stop the publisher
                _log.exception("a listener of a dynamic filter failed at version %d", state.version)
            finally:
                with self._lock:
                    self._delivering = False
