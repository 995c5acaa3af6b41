"""The bytes of a query: reserved while a report is merged, held by filter, zero in the end."""

from __future__ import annotations

from headgate.coordinator.memory import MemoryAccount, MemoryPool
from tests.filters.threads import Gate, Started


def test_what_is_reserved_and_held_counts_against_the_limit() -> None:
    account = MemoryAccount(100)
    assert account.reserve(60)
    account.settle("a", lambda: 40)
    assert (account.used, account.peak) == (100, 40)
    assert not account.reserve(1)
    assert account.reserve(0)
    account.release(60)
    assert account.used == 40
    assert account.fits("a", 100)
    assert not account.fits("b", 61)
    assert account.fits("b", 60)


def test_after_the_end_nothing_is_held() -> None:
    """A report that is still being merged when the query ends adds nothing, and gives back what it took."""
    account = MemoryAccount(100)
    account.settle("a", lambda: 40)
    account.reserve(10)
    account.clear()
    assert account.used == 10
    account.settle("a", lambda: 99)
    account.release(10)
    assert (account.used, account.peak) == (0, 40)


def test_of_two_threads_the_later_look_stays() -> None:
    """Interleaving: one thread is parked while it measures; another cannot put a newer figure below it."""
    account, gate, sizes = MemoryAccount(100), Gate(), [70, 30]

    def slowly() -> int:
        gate.park()
        return sizes.pop(0)

    first = Started(lambda: account.settle("a", slowly))
    gate.wait_parked()
    second = Started(lambda: account.settle("a", lambda: sizes.pop(0)))
    gate.open()
    first.result()
    second.result()
    assert account.used == 30


def test_queries_share_a_pool() -> None:
    """What one query holds is not there for another; it comes back when the query ends."""
    pool = MemoryPool()
    first, second = MemoryAccount(100, pool), MemoryAccount(100, pool)
    assert first.reserve(60)
    first.settle("a", lambda: 60)
    first.release(60)
    assert not second.reserve(41)
    assert not second.fits("a", 41)
    assert second.reserve(40)
    assert pool.used == 100
    second.release(40)
    first.clear()
    assert pool.used == 0
    assert second.fits("a", 100)
