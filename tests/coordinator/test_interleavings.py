"""What two threads do to a query at the same time, in an order that the test forces."""

from __future__ import annotations

from threading import Barrier
from typing import Any

import pytest

from headgate.coordinator import Outcome, QueryState, Registry
from headgate.domain import TupleDomain
from headgate.errors import NotRegistered
from headgate.filters import Snapshot
from tests.coordinator.domains import ids
from tests.filters.threads import PATIENCE, Gate, ParkedDomain, Started, until


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.register("q")
    return made


def test_a_report_that_is_overtaken_by_its_twin(registry: Registry) -> None:
    """A task is parked inside its report; its speculative twin reports and completes the filter; one of them counts."""
    made, gate = registry.add_filter("q", "df", ["k"], expected=1), Gate()
    slow = Started(lambda: registry.report("q", "df", 0, ParkedDomain(ids(1), gate)))
    gate.wait_parked()
    assert registry.report("q", "df", 0, ids(2)) is Outcome.ACCEPTED
    gate.open()
    assert slow.result() is Outcome.REPEATED
    assert made.snapshot() == Snapshot(1, ids(2), is_complete=True)
    assert registry.get("q").version == 1
    assert registry.memory == ids(2).nbytes


def test_a_report_on_its_way_while_a_newer_attempt_begins(registry: Registry) -> None:
    """The last report of attempt 0 is parked; attempt 1 begins; what the report completes is seen by nobody."""
    registry.add_filter("q", "df", ["k"], expected=1)
    told: list[Any] = []
    gate = Gate()
    slow = Started(lambda: registry.report("q", "df", 0, ParkedDomain(ids(1), gate), attempt=0))
    gate.wait_parked()
    registry.register("q", attempt=1)
    new = registry.add_filter("q", "df", ["k"], expected=1)
    registry.watch(told.append)
    gate.open()
    slow.result()
    assert told == []
    assert new.version == 0
    assert registry.get("q").filters.newer_than(0).filters == {}
    assert registry.get("q").version == 1
    assert registry.memory == 0


def test_a_report_on_its_way_while_the_query_ends(registry: Registry) -> None:
    """The report is parked, the query ends: the report hurts nobody, and no memory stays behind."""
    made, gate = registry.add_filter("q", "df", ["k"], expected=1), Gate()
    query = registry.get("q")
    slow = Started(lambda: registry.report("q", "df", 0, ParkedDomain(ids(1), gate)))
    gate.wait_parked()
    registry.end("q")
    gate.open()
    slow.result()
    assert made.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)
    assert query.memory.used == registry.memory == 0


def test_a_filter_is_added_while_the_query_ends(registry: Registry) -> None:
    """Nobody is left waiting for a filter that was added to a query in its last moment."""
    query = registry.get("q")
    query.freeze(QueryState.FAILED)
    with pytest.raises(NotRegistered, match="has ended"):
        registry.add_filter("q", "df", ["k"])


def test_the_end_wakes_a_thread_that_waits_for_a_filter(registry: Registry) -> None:
    """A driver thread waits without a limit; the query is cancelled; the thread goes on with ALL."""
    made = registry.add_filter("q", "df", ["k"], expected=1)
    waiter = Started(lambda: registry.get("q").wait(["df"]))
    until(lambda: len(made._shared.changed._waiters) == 1)  # type: ignore[attr-defined]
    registry.end("q", QueryState.CANCELLED)
    assert waiter.result() is True
    assert made.current().is_all


def test_a_newer_attempt_wakes_a_thread_that_waits_for_the_older(registry: Registry) -> None:
    made = registry.add_filter("q", "df", ["k"], expected=1)
    waiter = Started(lambda: registry.get("q").wait(["df"]))
    until(lambda: len(made._shared.changed._waiters) == 1)  # type: ignore[attr-defined]
    registry.register("q", attempt=1)
    assert waiter.result() is True


def test_a_slow_listener_does_not_hold_up_the_registry(registry: Registry) -> None:
    """A consumer is parked in its callback; meanwhile other filters, and other queries, go on."""
    gate = Gate()
    registry.add_filter("q", "slow", ["k"], expected=1)
    registry.add_filter("q", "quick", ["k"], expected=1)
    registry.get("q").subscribe("slow", lambda _: gate.park())
    publisher = Started(lambda: registry.report("q", "slow", 0, ids(1)))
    gate.wait_parked()
    assert registry.report("q", "quick", 0, ids(2)) is Outcome.ACCEPTED
    registry.register("r")
    registry.add_filter("r", "df", ["k"], expected=0)
    assert registry.end("r") is not None
    assert registry.story("q").version == 2
    gate.open()
    assert publisher.result() is Outcome.ACCEPTED


def test_subscribers_before_during_and_after_are_each_called_once(registry: Registry) -> None:
    """One thread subscribes a hundred listeners while another publishes: no call is lost and none comes twice."""
    for turn in range(20):
        heard: list[Any] = []
        name = f"df{turn}"
        registry.add_filter("q", name, ["k"])
        together = Barrier(2)

        def subscribe(name=name, heard=heard, together=together) -> None:
            together.wait(PATIENCE)
            for number in range(100):
                registry.get("q").subscribe(name, lambda state, number=number: heard.append((number, state.domain)))

        def publish(name=name, together=together) -> None:
            together.wait(PATIENCE)
            registry.publish("q", name, ids(1))

        for thread in [Started(subscribe), Started(publish)]:
            thread.result()
        assert sorted(number for number, _ in heard) == list(range(100))
        assert {domain for _, domain in heard} == {ids(1)}


def test_many_threads_report_and_the_union_is_whole(registry: Registry) -> None:
    """Eight threads report all partitions, each its own twin of each: one of them counts, and nothing is lost."""
    partitions, threads = 64, 8
    made, together = registry.add_filter("q", "df", ["k"], expected=partitions), Barrier(threads)
    seen: list[Snapshot] = []
    made.subscribe(seen.append)

    def report_all() -> list[Outcome]:
        together.wait(PATIENCE)
        return [registry.report("q", "df", partition, ids(partition)) for partition in range(partitions)]

    outcomes = [outcome for thread in [Started(report_all) for _ in range(threads)] for outcome in thread.result()]
    assert outcomes.count(Outcome.ACCEPTED) == partitions
    assert [state.domain for state in seen] == [TupleDomain.all(), ids(*range(partitions))]
    assert registry.memory == made.current().nbytes
    registry.end("q")
    assert registry.memory == 0
