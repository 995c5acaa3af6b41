"""Count the bytes that filters hold, by query and together, and say when there is no room for more.

    reserve    before a report is taken: is there room for it while it is merged?
    settle     afterwards: what does the filter hold now?
    clear      the query has ended: nothing is held, and nothing will be

Thread-safe. What is reserved is given back by the thread that reserved it, so the count is zero when a query has ended
and the last report on its way has been turned down.
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
        """Bytes held and reserved now."""
        with self._lock:
            return self._used

    def take(self, size: int, limit: int) -> bool:
        """Take room within a limit; False, and nothing taken, when there is none. No bytes always fit."""
        with self._lock:
            if size and self._used + size > limit:
                return False
            self._used += size
            return True

    def change(self, size: int) -> None:
        """Note that so many bytes more (or fewer) are held."""
        with self._lock:
            self._used += size


class MemoryAccount:
    """The bytes of one query, by filter; with those of the other queries in the pool they stay within its limit."""

    def __init__(self, limit: int, pool: MemoryPool | None = None) -> None:
        self.limit, self._pool = limit, pool or MemoryPool()
        self._held: dict[str, int] = {}
        self._reserved = self._peak = 0
        self._lock, self._closed = Lock(), False

    @property
    def used(self) -> int:
        """Bytes held and reserved now."""
        with self._lock:
            return self._sum()

    @property
    def peak(self) -> int:
        """The most bytes that were ever held at once."""
        return self._peak

    def reserve(self, size: int) -> bool:
        """Take room for a report that comes in; False, and nothing taken, when there is none. No bytes always fit."""
        with self._lock:
            if not self._pool.take(size, self.limit):
                return False
            self._reserved += size
            return True

    def release(self, size: int) -> None:
        """Give back what was reserved."""
        with self._lock:
            self._reserved -= size
            self._pool.change(-size)

    def fits(self, holder: str, size: int) -> bool:
        """Whether a filter may hold so much beside what the others hold."""
        with self._lock:
            others = self._pool.used - self._held.get(holder, 0) - self._reserved
            return not size or others + size <= self.limit

    def settle(self, holder: str, measure: Callable[[], int]) -> None:
        """Note what a filter holds; measured in here, so that of two threads the later look is the one that stays."""
        with self._lock:
            if not self._closed:
                before, self._held[holder] = self._held.get(holder, 0), measure()
                self._pool.change(self._held[holder] - before)
                self._peak = max(self._peak, sum(self._held.values()))

    def clear(self) -> None:
        """Forget what the filters held, for good."""
        with self._lock:
            self._pool.change(-sum(self._held.values()))
            self._held.clear()
            self._closed = True

    def _sum(self) -> int:
        return self._reserved + sum(self._held.values())
