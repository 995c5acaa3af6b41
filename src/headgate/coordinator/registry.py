"""Keep the running queries: their attempts, their filters, and who reports to and watches them.

    driver thread    register(q)   add_filter(q, df, columns, expected=2)   publish(q, df, domain)   …   end(q)
    HTTP thread                    report(q, df, 0, part)   report(q, df, 1, part) -> published, version + 1

Queries are independent of each other. A newer attempt of a query begins without filters and continues from the version
of the older one, whose reports are ignored from then on. Thread-safe; listeners run without a lock.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from threading import Lock

import msgspec

from headgate.coordinator.events import EventsMessage
from headgate.coordinator.memory import MemoryAccount, MemoryPool
from headgate.coordinator.query import TrackedQuery
from headgate.coordinator.states import Outcome, QueryState
from headgate.coordinator.stories import QueryStory
from headgate.domain import Limits, TupleDomain
from headgate.errors import InvalidFilter, NotRegistered
from headgate.filters import DynamicFilter

_log = logging.getLogger(__name__)
_REMEMBERED = 100  # ended queries, without their values
_MEMORY_LIMIT = 100 * 1024**2

Watcher = Callable[[str], None]


class Registry:
    """The queries of one driver.

    ``memory_limit`` is for the filters of all running queries together; beyond it they become ranges, then ALL. A query
    may have a limit of its own, which then applies to its filters.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        memory_limit: int = _MEMORY_LIMIT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits, self._memory_limit, self._clock = limits or Limits(), memory_limit, clock
        self._queries: dict[str, TrackedQuery] = {}
        self._pool = MemoryPool()
        self._ended: deque[QueryStory] = deque(maxlen=_REMEMBERED)
        self._watchers: tuple[Watcher, ...] = ()
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def register(self, query_id: str, attempt: int = 0, *, memory_limit: int | None = None) -> None:
        """Begin a query, or a newer attempt, which drops the filters of the older one; repeating is harmless."""
        with self._lock:
            older = self._queries.get(query_id)
            if older is not None and attempt == older.attempt:
                return
            if attempt < (0 if older is None else older.attempt):
                newest = 0 if older is None else older.attempt
                raise InvalidFilter(f"attempt {attempt} of query {query_id!r} is too old; register {newest} or higher")
            start = 0 if older is None else older.freeze(QueryState.CANCELLED) + 1
            self._queries[query_id] = self._new_query(query_id, attempt, start, memory_limit)
        if older is not None:
            older.release()
            self._notify(query_id)

    def add_filter(
        self,
        query_id: str,
        filter_id: str,
        columns: Iterable[str],
        expected: int | None = None,
        *,
        broadcast: bool = False,
        blocking: bool = True,
    ) -> DynamicFilter:
        """Add a filter and return it; ``expected`` partitions must report, a broadcast only once."""
        return self.get(query_id).add_filter(filter_id, columns, expected, broadcast=broadcast, blocking=blocking)

    def publish(self, query_id: str, filter_id: str, domain: TupleDomain, attempt: int | None = None) -> Outcome:
        """Complete a filter at once, from a job of the driver; ``attempt`` is the newest by default."""
        return self._taken(query_id, attempt, lambda query: query.publish(filter_id, domain))

    def report(
        self, query_id: str, filter_id: str, partition: int, domain: TupleDomain, attempt: int | None = None
    ) -> Outcome:
        """Add the domain of one partition; ``attempt`` is the attempt it comes from, the newest by default."""
        return self._taken(query_id, attempt, lambda query: query.report(filter_id, partition, domain))

    def record(self, query_id: str, message: EventsMessage) -> Outcome:
        """Record what an executor reports of its filters."""
        return self._taken(query_id, message.attempt, lambda query: query.record(message))

    def end(self, query_id: str, state: QueryState = QueryState.FINISHED) -> QueryStory | None:
        """Forget a query, release its waiters, and return its story; None if there is no such query."""
        with self._lock:
            if (query := self._queries.pop(query_id, None)) is None:
                return None
            query.freeze(state)
            story = query.story()
        query.release()
        story = msgspec.structs.replace(story, memory_bytes=query.memory.used)
        self._ended.append(story)
        self._notify(query_id)
        return story

    def close(self) -> None:
        """End all queries."""
        with self._lock:
            left = list(self._queries)
        for query_id in left:
            self.end(query_id, QueryState.CANCELLED)

    def get(self, query_id: str) -> TrackedQuery:
        """Return a running query."""
        if (found := self.find(query_id)) is None:
            raise NotRegistered(f"no query {query_id[:60]!r} is running; it may have ended, or not be registered yet")
        return found

    def find(self, query_id: str) -> TrackedQuery | None:
        """Return a running query, or None."""
        with self._lock:
            return self._queries.get(query_id)

    def story(self, query_id: str) -> QueryStory:
        """Return the story of a running query: its filters, their sizes, and what happened when."""
        return self.get(query_id).story()

    def stories(self) -> list[QueryStory]:
        """Return the stories of all queries: the running ones, then those that ended, the latest first."""
        with self._lock:
            running = list(self._queries.values())
            ended = list(self._ended)
        return [query.story() for query in running] + ended[::-1]

    @property
    def memory(self) -> int:
        """Bytes that the filters of all queries use."""
        with self._lock:
            running = list(self._queries.values())
        return sum(query.memory.used for query in running)

    def counts(self) -> dict[str, int]:
        """Return how many reports and publications were accepted, repeated and stale."""
        with self._lock:
            return {outcome: self._counts[outcome] for outcome in Outcome}

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with the id of each query that has news or has ended, on the thread that caused it."""
        with self._lock:
            self._watchers += (watcher,)

    def unwatch(self, watcher: Watcher) -> None:
        """Stop calling a watcher."""
        with self._lock:
            self._watchers = tuple(kept for kept in self._watchers if kept != watcher)

    def _new_query(self, query_id: str, attempt: int, start: int, memory_limit: int | None) -> TrackedQuery:
        limit = self._memory_limit if memory_limit is None else memory_limit
        return TrackedQuery(
            query_id,
            attempt,
            limits=self._limits,
            memory=MemoryAccount(limit, self._pool),
            clock=self._clock,
            on_change=lambda: self._notify(query_id),
            start=start,
        )

    def _taken(self, query_id: str, attempt: int | None, take: Callable[[TrackedQuery], Outcome]) -> Outcome:
        """Pass something to the query if it comes from the newest attempt, and count the outcome."""
        query = self.get(query_id)
        if attempt is not None and attempt > query.attempt:
            raise NotRegistered(
                f"attempt {attempt} of query {query.id!r} is not registered; the newest is {query.attempt}"
            )
        outcome = Outcome.STALE if attempt is not None and attempt < query.attempt else take(query)
        with self._lock:
            self._counts[outcome] += 1
        return outcome

    def _notify(self, query_id: str) -> None:
        for watcher in self._watchers:
            try:
                watcher(query_id)
            except Exception:  # noqa: BLE001 - a watcher's failure must not reach the publisher
                _log.exception("a watcher of the coordinator failed for query %s", query_id)
