"""Count the bytes that filters use, by query and in total, and refuse more than the limit.

    reserve    before a report is accepted: is there room to merge it?
    settle     afterwards: how much does the filter use now?
    clear      the query has ended: its filters use nothing from now on

Thread-safe. The thread that reserves also releases, so the count is zero once a query has ended and the last report on
its way is released.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class MemoryPool:
    """The bytes of all queries together."""

    def __init__(self) -> None:
        self._used, self._lock = 0, Lock()

    @property
    def used(self) -> int:
        """Bytes used and reserved now."""
        with self._lock:
            return self._used

    def take(self, size: int, limit: int) -> bool:
        """Take bytes within a limit; return False, and take nothing, if they do not fit. Zero bytes always fit."""
        with self._lock:
            if size and self._used + size > limit:
                return False
            self._used += size
            return True

    def change(self, size: int) -> None:
        """Add to the bytes in use; a negative size subtracts."""
        with self._lock:
            self._used += size


class MemoryAccount:
    """The bytes of one query, by filter; with the other queries of the pool they stay within the limit."""

    def __init__(self, limit: int, pool: MemoryPool | None = None) -> None:
        self.limit, self._pool = limit, pool or MemoryPool()
        self._sizes: dict[str, int] = {}
        self._reserved = self._peak = 0
        self._lock, self._closed = Lock(), False

    @property
    def used(self) -> int:
        """Bytes used and reserved now."""
        with self._lock:
            return self._sum()

    @property
    def peak(self) -> int:
        """The most bytes that filters used at once."""
        return self._peak

    def reserve(self, size: int) -> bool:
        """Reserve bytes for a report; return False, and reserve nothing, if they do not fit. Zero bytes always fit."""
        with self._lock:
            if not self._pool.take(size, self.limit):
                return False
            self._reserved += size
            return True

    def release(self, size: int) -> None:
        """Return reserved bytes."""
        with self._lock:
            self._reserved -= size
            self._pool.change(-size)

    def fits(self, filter_id: str, size: int) -> bool:
        """Whether a filter of this size fits beside the others."""
        with self._lock:
            others = self._pool.used - self._sizes.get(filter_id, 0) - self._reserved
            return not size or others + size <= self.limit

    def settle(self, filter_id: str, measure: Callable[[], int]) -> None:
        """Record the size of a filter. It is measured under the lock, so that of two threads the later one wins."""
        with self._lock:
            if not self._closed:
                before, after = self._sizes.get(filter_id, 0), measure()
                self._sizes[filter_id] = after
                self._pool.change(after - before)
                self._peak = max(self._peak, sum(self._sizes.values()))

    def clear(self) -> None:
        """Forget all filters, for good."""
        with self._lock:
            self._pool.change(-sum(self._sizes.values()))
            self._sizes.clear()
            self._closed = True

    def _sum(self) -> int:
        return self._reserved + sum(self._sizes.values())
