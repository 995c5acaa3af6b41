"""Let executors wait for news on the event loop: a future each, no thread, and one encoded answer for all.

A publisher's thread only signals that a query has news; the loop then wakes all polls of that query. No news is missed:
a poll registers before it reads the version, and the publisher raises the version before it signals, so the later of
the two sees the other.
"""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from threading import Lock
from typing import Any

from headgate.coordinator.answers import Answer, encode_answer
from headgate.coordinator.connections import Connections
from headgate.coordinator.query import TrackedQuery
from headgate.coordinator.registry import Registry
from headgate.coordinator.states import QueryState

_INLINE_BYTES = 64 * 1024  # larger filters are encoded in the pool, so that the loop can serve others meanwhile
_TICK = 0.01  # seconds; a poll may end this much late
_KEPT_ANSWERS = 16  # per query: executors that have fallen behind ask from different versions


@dataclass(frozen=True, slots=True)
class _Encoded:
    """An answer that is, or is being, encoded for one version of a query."""

    query: TrackedQuery
    version: int
    answer: asyncio.Future[Answer]


class Polls:
    """The open long-polls of one server. Only `notify` and `waiting` may be used outside the loop's thread."""

    def __init__(
        self, registry: Registry, loop: asyncio.AbstractEventLoop, pool: Executor, connections: Connections
    ) -> None:
        self._registry, self._loop, self._pool, self._connections = registry, loop, pool, connections
        self._waiters: dict[str, set[asyncio.Future[bool]]] = {}
        self._answers: dict[str, dict[tuple[int, bool], _Encoded]] = {}
        self._ends: dict[int, set[asyncio.Future[bool]]] = {}
        self._news: set[str] = set()
        self._lock, self._closed = Lock(), False

    @property
    def waiting(self) -> int:
        """The number of open polls."""
        return sum(len(waiters) for waiters in list(self._waiters.values()))

    def notify(self, query_id: str) -> None:
        """Signal that a query has news; from any thread. Calls before the loop runs again share one wake-up."""
        with self._lock:
            is_first = not self._news
            self._news.add(query_id)
        if is_first:
            self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """Wake all polls, and let no further poll wait."""
        self._closed = True
        for query_id in list(self._waiters):
            self._wake_query(query_id)

    async def next(self, query_id: str, since: int, max_wait: float, client: Any, *, may_gzip: bool) -> Answer | None:
        """Wait for news after a version, at most ``max_wait`` seconds, and return it; None if the client has gone.

        A version that this query has not reached belongs to an earlier query of the same id, so everything is news.
        """
        query = self._registry.get(query_id)
        if since > query.version:
            since = 0
        elif not await self._is_worth_answering(query, since, max_wait, client):
            return None
        # a query that has ended meanwhile gets one more answer, with its last state
        return await self._answer(self._registry.find(query_id) or query, since, may_gzip=may_gzip)

    async def _is_worth_answering(self, query: TrackedQuery, since: int, max_wait: float, client: Any) -> bool:
        waiter: asyncio.Future[bool] = self._loop.create_future()
        waiters = self._waiters.setdefault(query.id, set())
        waiters.add(waiter)
        try:
            if query.version > since or query.state is not QueryState.RUNNING or self._closed or max_wait <= 0:
                return True
            ending_together = self._end_after(max_wait)
            ending_together.add(waiter)
            self._connections.on_close(client, lambda: _resolve(waiter, False))
            try:
                return await waiter
            finally:
                ending_together.discard(waiter)
                self._connections.on_close(client, None)
        finally:
            waiters.discard(waiter)
            if not waiters and self._waiters.get(query.id) is waiters:
                del self._waiters[query.id]

    def _end_after(self, seconds: float) -> set[asyncio.Future[bool]]:
        """Return the polls that end together after these seconds; one timer for each of thousands would be slow."""
        tick = math.ceil((self._loop.time() + seconds) / _TICK)
        if tick not in self._ends:
            self._ends[tick] = set()
            self._loop.call_at(tick * _TICK, self._end, tick)
        return self._ends[tick]

    def _end(self, tick: int) -> None:
        for waiter in self._ends.pop(tick):
            _resolve(waiter, True)

    async def _answer(self, query: TrackedQuery, since: int, *, may_gzip: bool) -> Answer:
        encoded = self._answers.get(query.id, {}).get((since, may_gzip))
        if encoded is None or encoded.query is not query or encoded.version != query.version:
            encoded = self._encode(query, since, may_gzip=may_gzip)
        return encoded.answer.result() if encoded.answer.done() else await asyncio.shield(encoded.answer)

    def _encode(self, query: TrackedQuery, since: int, *, may_gzip: bool) -> _Encoded:
        news = query.filters.newer_than(since)
        if sum(state.domain.nbytes for state in news.filters.values()) <= _INLINE_BYTES:
            answer: asyncio.Future[Answer] = self._loop.create_future()
            answer.set_result(encode_answer(query, news, may_gzip=may_gzip))
        else:
            answer = self._loop.run_in_executor(self._pool, lambda: encode_answer(query, news, may_gzip=may_gzip))
        encoded = _Encoded(query, news.version, answer)
        if query.state is QueryState.RUNNING:
            kept = self._answers.setdefault(query.id, {})
            if len(kept) >= _KEPT_ANSWERS:
                kept.clear()
            kept[since, may_gzip] = encoded
        return encoded

    def _wake(self) -> None:
        with self._lock:
            changed, self._news = self._news, set()
        for query_id in changed:
            self._wake_query(query_id)

    def _wake_query(self, query_id: str) -> None:
        self._answers.pop(query_id, None)
        for waiter in self._waiters.pop(query_id, ()):
            _resolve(waiter, True)


def _resolve(waiter: asyncio.Future[bool], is_worth_answering: bool) -> None:
    if not waiter.done():
        waiter.set_result(is_worth_answering)
