"""Keep the records of a session's last queries, streams and graph walks, and tell what is newer than a version.

The JVM knows when queries begin and end. It is asked when somebody looks, when many queries have gone by, and each
second where an event log is written.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

import msgspec

from headgate.catalyst.wire import SeenQueries, SeenQuery
from headgate.history.event_log import EventLog
from headgate.history.records import GraphRecord, QueryRecord, Record, Reported, StreamRecord, record_of

_MOST = 1000  # records
_OPEN = 100  # queries that did not end; a plan that never runs never does
_MANY = 50  # queries that nobody has asked for
_INTERVAL = 1.0
_ENDS = ("FINISHED", "FAILED")


class History:
    """The records of one session. Thread-safe; taking something in never waits."""

    def __init__(
        self,
        name: str,
        news: Callable[[int], SeenQueries],
        streams: Callable[[], Sequence[Any]],
        log: EventLog | None = None,
        await_ends: Callable[[], None] = lambda: None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._failed, self._is_failing = failed, False
        self._unwritten: OrderedDict[tuple[str, str], tuple[str, bytes]] = OrderedDict()
        self._name, self._news, self._streams, self._log, self._await_ends = name, news, streams, log, await_ends
        self._arrived: deque[tuple[int, Reported]] = deque(maxlen=_MOST)
        self._walks: deque[GraphRecord] = deque(maxlen=_MOST)
        self._parts: OrderedDict[int, list[Reported]] = OrderedDict()
        self._open: OrderedDict[int, SeenQuery] = OrderedDict()
        self._records: OrderedDict[tuple[str, str], tuple[int, bytes]] = OrderedDict()
        self._logged: dict[tuple[str, str], str] = {}
        self._seen = self._version = 0
        self._lock = Lock()
        self._wake, self._closed = Event(), False
        Thread(target=self._follow, name="headgate-history", daemon=True).start()

    def planned(self, number: int, part: Reported) -> None:
        """Take in a query, or a subquery, that went through Headgate."""
        if number:
            self._arrived.append((number, part))
            if len(self._arrived) >= _MANY:
                self._wake.set()

    def walked(self, id: str, text: str, started: float, hops: Sequence[object]) -> None:
        """Take in a walk over a graph as far as it got; hops are anything that msgspec can encode."""
        self._walks.append(GraphRecord(id=f"{self._name}/{id}", started=started, text=text, hops=list(hops)))

    def since(self, version: int) -> tuple[int, list[bytes]]:
        """Return the version now, and the encoded records that are newer than one, oldest first."""
        self.refresh()
        with self._lock:
            return self._version, [encoded for at, encoded in self._records.values() if at > version]

    def refresh(self) -> None:
        """Ask the JVM what is new, and make the records of what has changed."""
        with self._lock:
            self._take_in()
            for number, seen in list(self._open.items()):
                self._keep(record_of(f"{self._name}/{number}", seen, self._parts.get(number, [])))
                if seen.state in _ENDS:
                    self._settle(number)
            while len(self._open) > _OPEN:
                self._settle(next(iter(self._open)))
            while self._walks:
                self._keep(self._walks.popleft())
            for story in self._streams():
                plain = msgspec.to_builtins(story)
                self._keep(StreamRecord(id=f"{self._name}/{plain['query']}", story=plain))
            if self._log is not None:
                self._write(self._log)

    def _write(self, log: EventLog) -> None:
        """Write what is new; what a full disk does not take is tried again later, and told once."""
        try:
            for key, (state, encoded) in list(self._unwritten.items()):
                log.append(encoded)
                self._logged[key] = state
                del self._unwritten[key]
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                self._failed(error)
            self._is_failing = True
            while len(self._unwritten) > _MOST:
                self._unwritten.popitem(last=False)

    def close(self) -> None:
        """Write what is missing in the log, and close it; the records stay."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        if self._log is not None:
            with suppress(Exception):  # the JVM may be gone already
                self._await_ends()
                self.refresh()
            self._log.close()

    def _take_in(self) -> None:
        while self._arrived:  # before the JVM is asked: whatever it says has ended is complete here
            number, part = self._arrived.popleft()
            self._parts.setdefault(number, []).append(part)
        news = self._news(self._seen)
        self._seen = news.version
        self._open.update((seen.number, seen) for seen in news.queries)
        while len(self._parts) > _OPEN + _MANY:
            self._parts.popitem(last=False)

    def _settle(self, number: int) -> None:
        self._open.pop(number, None)
        self._parts.pop(number, None)

    def _keep(self, record: Record) -> None:
        """Keep a record unless it is the same as before; the log has a query when it begins and when it ends."""
        key, encoded = (type(record).__name__, record.id), msgspec.json.encode(record)
        before = self._records.get(key)
        if before is not None and before[1] == encoded:
            return
        self._version += 1
        self._records[key] = self._version, encoded
        state = record.state if isinstance(record, QueryRecord) else str(self._version)
        if self._log is not None and self._logged.get(key) != state:
            self._unwritten[key] = state, encoded
        while len(self._records) > _MOST:
            oldest, _ = self._records.popitem(last=False)
            self._logged.pop(oldest, None)

    def _follow(self) -> None:
        while not self._closed:
            self._wake.wait(None if self._log is None else _INTERVAL)
            self._wake.clear()
            if not self._closed:
                with suppress(Exception):  # the session may be ending; what is missing here is only not told
                    self.refresh()
