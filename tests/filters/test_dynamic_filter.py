"""The handle between publisher and consumers: it only narrows, tells each state once and in order, and never blocks."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, TupleDomain
from headgate.errors import InvalidFilter
from headgate.filters import DynamicFilter, FilterView, Snapshot
from tests.filters.threads import Gate, ParkedDomain, Started, until


def ids(*values: int) -> TupleDomain:
    return TupleDomain({"k": Domain.of("bigint", values)})


def between(low: int, high: int) -> TupleDomain:
    return TupleDomain({"k": Domain.range("bigint", low, high)})


def new_filter(**options: Any) -> DynamicFilter:
    return DynamicFilter("df1", ["k"], **options)


ranges = st.tuples(st.integers(-20, 20), st.integers(-20, 20)).map(lambda ends: between(min(ends), max(ends)))


def test_before_anything_is_known_everything_passes() -> None:
    """A new filter is ALL at version 0, incomplete and worth waiting for."""
    fresh = new_filter()
    assert fresh.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
    assert fresh.current().is_all
    assert fresh.is_awaitable
    assert fresh.is_blocking
    assert fresh.columns == {"k"}
    assert fresh.id == "df1"


@given(st.lists(ranges, max_size=8))
def test_a_filter_only_narrows(updates: list[TupleDomain]) -> None:
    """Whatever is published, each state lets through no more than the one before, and is the intersection of all."""
    dynamic, expected = new_filter(), TupleDomain.all()
    for update in updates:
        before = dynamic.snapshot()
        after = dynamic.update(update)
        expected = expected & update
        assert after is dynamic.snapshot()
        assert after.domain == expected
        assert before.domain.covers(after.domain)
        assert after.version == before.version + (after.domain != before.domain)
    final = dynamic.complete()
    assert final.domain == expected
    assert final.is_complete


def test_the_version_rises_only_on_news() -> None:
    """An update that says nothing new is no new version; completing is one, once."""
    dynamic = new_filter()
    assert dynamic.update(ids(1, 2)).version == 1
    assert dynamic.update(ids(1, 2, 3)).version == 1
    assert dynamic.update(TupleDomain.all()).version == 1
    assert dynamic.complete().version == 2
    assert dynamic.complete(ids(1)).version == 2
    assert dynamic.update(ids(1)).version == 2
    assert dynamic.current() == ids(1, 2)
    assert not dynamic.is_awaitable
    assert not dynamic.is_blocking


def test_a_single_equality_completes_and_the_predicate_changes() -> None:
    """B30: the waiter wakes when the one filter completes, and then sees its values."""
    dynamic = new_filter()
    view = dynamic.consumer()
    assert view.current().is_all
    waiter = Started(lambda: (view.wait(), view.current()))
    dynamic.complete(ids(7))
    assert waiter.result() == (True, ids(7))


def test_consumers_can_neither_complete_nor_cancel() -> None:
    """B32: a view has no method that changes anything, and giving up on a wait leaves the filter as it was."""
    dynamic = new_filter()
    view = dynamic.consumer()
    assert isinstance(view, FilterView)
    assert not isinstance(view, DynamicFilter)
    for forbidden in ("complete", "update", "cancel", "make_non_blocking", "_publish", "consumer"):
        assert not hasattr(view, forbidden)
    assert view.wait(0) is False
    assert dynamic.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
    dynamic.complete(ids(1))
    assert view.is_complete
    assert view.snapshot() is dynamic.snapshot()


def test_a_view_shows_what_the_filter_shows() -> None:
    """Every question that a view answers has the filter's own answer."""
    dynamic = new_filter()
    view = dynamic.consumer()
    for _ in range(2):
        for question in ("id", "columns", "version", "is_complete", "is_awaitable", "is_blocking"):
            assert getattr(view, question) == getattr(dynamic, question)
        assert view.current() == dynamic.current()
        dynamic.complete(ids(3))
    assert "df1" in repr(view)
    assert "version=1" in repr(view)


def test_waiting_ends_with_the_time_given() -> None:
    """wait says whether the filter is complete; with no time left it says so at once."""
    dynamic = new_filter()
    assert dynamic.wait(0) is False
    dynamic.update(ids(1))
    assert dynamic.wait(0) is False
    dynamic.complete()
    assert dynamic.wait(0) is True
    assert dynamic.wait() is True


def test_waiting_for_news() -> None:
    """wait_newer returns at once when there is news, on completion, and at the end of its time with what there is."""
    dynamic = new_filter()
    assert dynamic.wait_newer(0, 0).version == 0
    dynamic.update(ids(1, 2))
    assert dynamic.wait_newer(0).domain == ids(1, 2)
    waiter = Started(lambda: dynamic.wait_newer(1))
    until(lambda: len(dynamic._shared.changed._waiters) == 1)  # type: ignore[attr-defined]
    dynamic.update(ids(1, 2))  # no news: nobody is woken for it
    assert waiter.is_running
    dynamic.update(ids(1))
    assert waiter.result() == Snapshot(2, ids(1), is_complete=False)
    dynamic.complete()
    assert dynamic.wait_newer(99).is_complete


def test_all_waiters_wake() -> None:
    """Everyone who waits is woken by completion, each with the same state."""
    dynamic = new_filter()
    waiters = [Started(lambda: (dynamic.consumer().wait(), dynamic.snapshot())) for _ in range(5)]
    until(lambda: len(dynamic._shared.changed._waiters) == 5)  # type: ignore[attr-defined]
    final = dynamic.complete(ids(1))
    assert [waiter.result() for waiter in waiters] == [(True, final)] * 5


def test_waiters_are_let_go_when_a_filter_stops_blocking() -> None:
    """Who waits for a blocking filter goes on without it; the filter still arrives, and who waits for that may."""
    dynamic = new_filter()
    waiter = Started(dynamic.wait)
    until(lambda: len(dynamic._shared.changed._waiters) == 1)  # type: ignore[attr-defined]
    dynamic.make_non_blocking()
    assert waiter.result() is False
    assert not dynamic.is_blocking
    assert dynamic.is_awaitable
    patient = Started(dynamic.wait)
    dynamic.complete(ids(1))
    assert patient.result() is True
    assert not new_filter(blocking=False).is_blocking


def test_a_slow_publisher_does_not_widen() -> None:
    """Interleaving: an update parked before the lock, overtaken by a narrower one, changes nothing when it goes on."""
    dynamic, gate = new_filter(), Gate()
    slow = Started(lambda: dynamic.update(ParkedDomain(between(0, 100), gate)))
    gate.wait_parked()
    assert dynamic.update(between(5, 6)).version == 1
    gate.open()
    assert slow.result() == Snapshot(1, between(5, 6), is_complete=False)


def test_an_update_overtaken_by_completion_is_ignored() -> None:
    """Interleaving: complete overtakes an update; what was complete stays as it was."""
    dynamic, gate = new_filter(), Gate()
    slow = Started(lambda: dynamic.update(ParkedDomain(ids(1), gate)))
    gate.wait_parked()
    final = dynamic.complete(ids(1, 2))
    gate.open()
    assert slow.result() is final
    assert dynamic.current() == ids(1, 2)


def test_no_lock_is_held_while_a_listener_runs() -> None:
    """Interleaving: with one thread parked in a listener, others look, wait, publish and subscribe."""
    seen: list[Any] = []
    dynamic, gate = new_filter(), Gate()

    def listener(state: Snapshot) -> None:
        seen.append(state.version)
        if state.version == 1:
            gate.park()

    dynamic.subscribe(listener)
    slow = Started(lambda: dynamic.update(between(0, 100)))
    gate.wait_parked()
    assert dynamic.current() == between(0, 100)
    assert dynamic.wait(0) is False
    other: list[int] = []
    dynamic.subscribe(lambda state: other.append(state.version))
    assert dynamic.update(between(0, 50)).version == 2
    assert dynamic.complete().version == 3
    assert other == [1, 2, 3]
    assert seen == [0, 1]
    gate.open()
    slow.result()
    assert seen == [0, 1, 2, 3]


def test_a_late_subscriber_gets_the_current_state_first() -> None:
    """Interleaving: a subscriber parked in its first call is told what came meanwhile afterwards, once, in order."""
    seen: list[Any] = []
    dynamic, gate = new_filter(), Gate()
    dynamic.update(ids(1, 2, 3))

    def listener(state: Snapshot) -> None:
        if not seen:
            gate.park()
        seen.append(state)

    subscriber = Started(lambda: dynamic.subscribe(listener))
    gate.wait_parked()
    dynamic.update(ids(1, 2))
    dynamic.complete(ids(1))
    assert seen == []
    gate.open()
    subscriber.result()
    assert [state.version for state in seen] == [1, 2, 3]
    assert [state.is_complete for state in seen] == [False, False, True]
    assert seen[-1].domain == ids(1)


def test_who_subscribes_after_completion_is_told_once() -> None:
    """The final state is told to late subscribers too, and nothing after it."""
    seen: list[Any] = []
    dynamic = new_filter()
    dynamic.complete(ids(1))
    dynamic.subscribe(seen.append)
    dynamic.complete()
    dynamic.update(ids())
    assert seen == [Snapshot(1, ids(1), is_complete=True)]


def test_a_listener_may_publish() -> None:
    """A listener that narrows the filter itself is told of that next, after the call it is in."""
    seen: list[Any] = []
    dynamic = new_filter()

    def listener(state: Snapshot) -> None:
        if state.version == 1:
            dynamic.update(ids(1))
        seen.append(state.version)

    dynamic.subscribe(listener)
    dynamic.update(ids(1, 2))
    assert seen == [0, 1, 2]


def test_a_listener_that_fails_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """A consumer's mistake is logged; the publisher goes on, and the other consumers and later states are told."""
    seen: list[Any] = []
    dynamic = new_filter()

    def broken(state: Snapshot) -> None:
        raise RuntimeError("broken")

    dynamic.subscribe(broken)
    dynamic.subscribe(lambda state: seen.append(state.version))
    with caplog.at_level(logging.ERROR, logger="headgate"):
        dynamic.update(ids(1, 2))
        dynamic.complete()
    assert seen == [0, 1, 2]
    assert len([record for record in caplog.records if "listener" in record.message]) >= 2


def test_many_publishers_and_subscribers() -> None:
    """Eight threads narrow at once: the end is the intersection, and each listener saw every version once, in order."""
    dynamic, start = new_filter(), Gate()
    early: list[Snapshot] = []
    dynamic.subscribe(early.append)
    late: list[list[Snapshot]] = [[] for _ in range(4)]

    def publish(i: int) -> None:
        start.park()
        for step in range(50):
            dynamic.update(between(step * (i % 2), 1000 - step * (i + 1)))

    def subscribe(i: int) -> None:
        start.park()
        dynamic.subscribe(late[i].append)

    threads = [Started(lambda i=i: publish(i)) for i in range(8)]
    threads += [Started(lambda i=i: subscribe(i)) for i in range(4)]
    start.open()
    for thread in threads:
        thread.result()
    final = dynamic.complete()
    assert final.domain == between(49, 1000 - 49 * 8)
    assert [state.version for state in early] == list(range(final.version + 1))
    for seen in late:
        assert [state.version for state in seen] == list(range(seen[0].version, final.version + 1))
    for before, after in pairwise(early):
        assert before.domain.covers(after.domain)


def test_only_the_columns_of_a_filter_are_taken() -> None:
    """A filter needs columns, and a predicate on another column is refused; NONE is on every column."""
    with pytest.raises(InvalidFilter, match="at least one column"):
        DynamicFilter("df1", [])
    dynamic = new_filter()
    with pytest.raises(InvalidFilter, match="no column 'other'"):
        dynamic.update(TupleDomain({"other": Domain.of("int", [1])}))
    with pytest.raises(InvalidFilter, match="no column '5'"):
        dynamic.update(TupleDomain({5: Domain.of("int", [1]), "x": Domain.of("int", [1])}))
    assert dynamic.version == 0
    assert dynamic.complete(TupleDomain.none()).domain.is_none
