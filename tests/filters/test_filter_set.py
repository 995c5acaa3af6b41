"""Several filters under one version: who asks with the last version gets what is newer, and only that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, TupleDomain
from headgate.errors import InvalidFilter
from headgate.filters import DynamicFilter, FilterSet, News, Snapshot
from tests.filters.threads import Gate, Started, until


def ids(*values: int) -> TupleDomain:
    return TupleDomain({"k": Domain.of("bigint", values)})


def new_filters(count: int = 2) -> list[DynamicFilter]:
    return [DynamicFilter(f"df{i}", ["k"]) for i in range(count)]


def test_only_newer_domains_are_returned() -> None:
    """B38: each answer holds what changed after the version asked with; asked again with its version, nothing."""
    a, b = new_filters()
    filters = FilterSet([a, b])
    assert filters.newer_than(0) == News(0, {})
    a.complete(ids(1))
    first = filters.newer_than(0)
    assert first == News(1, {"df0": a.snapshot()})
    b.update(ids(1, 2))
    b.update(ids(2))
    second = filters.newer_than(first.version)
    assert second == News(3, {"df1": Snapshot(2, ids(2), is_complete=False)})
    assert filters.newer_than(second.version) == News(3, {})
    assert filters.newer_than(0) == News(3, {"df0": a.snapshot(), "df1": b.snapshot()})


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=12), st.data())
def test_a_consumer_that_asks_now_and_then_ends_up_to_date(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    """B38: whenever a consumer asks, putting the news together gives the newest state of every filter."""
    publishers = new_filters(3)
    known: dict[str, Any] = {}
    filters, version = FilterSet(publishers), 0
    for which, top in steps:
        publishers[which].update(TupleDomain({"k": Domain.range("bigint", 0, top)}))
        if data.draw(st.booleans()):
            news = filters.newer_than(version)
            assert all(known.get(name) != state for name, state in news.filters.items())
            known |= news.filters
            version = news.version
    known |= filters.newer_than(version).filters
    assert known == {f.id: f.snapshot() for f in publishers if f.version}


def test_any_filter_wakes_the_one_who_waits() -> None:
    """B38: waiting ends with the first news of any filter, not of all."""
    a, b = new_filters()
    filters = FilterSet([a, b])
    waiter = Started(lambda: filters.wait_newer(0))
    until(lambda: len(filters._changed._waiters) == 1)  # type: ignore[attr-defined]
    b.update(ids(1))
    assert waiter.result() == News(1, {"df1": b.snapshot()})
    assert not filters.is_complete


def test_waiting_ends_when_nothing_can_come_any_more() -> None:
    """With every filter complete, or none at all, there is nothing to wait for; the time given is a limit otherwise."""
    a, b = new_filters()
    filters = FilterSet([a, b])
    assert filters.wait_newer(0, 0) == News(0, {})
    a.complete(ids(1))
    b.complete(ids(2))
    assert filters.is_complete
    assert filters.wait_newer(2) == News(2, {})
    assert FilterSet().wait_newer(0) == News(0, {})
    assert FilterSet().is_complete


def test_a_filter_added_late_brings_what_it_knows() -> None:
    """What a filter knew before it was added is news; a filter that knows nothing yet is not."""
    a, b = new_filters()
    filters = FilterSet([a])
    b.complete(ids(5))
    filters.add(b.consumer())
    assert filters.newer_than(0).filters == {"df1": b.snapshot()}
    assert filters.find("df1") is not None
    assert filters.find("unknown") is None
    with pytest.raises(InvalidFilter, match="'df0' already"):
        filters.add(a)


def test_news_that_comes_while_a_filter_is_added_is_not_lost() -> None:
    """Interleaving: a filter completes while its first state is being recorded; both arrive, the newer last."""
    (a,) = new_filters(1)
    filters, gate = FilterSet(), Gate()

    class Slow(FilterSet):
        def _record(self, id: str, state: Snapshot) -> None:
            if state.version == 1:
                gate.park()
            super()._record(id, state)

    filters = Slow()
    a.update(ids(1, 2))
    adding = Started(lambda: filters.add(a))
    gate.wait_parked()
    a.complete(ids(1))
    assert filters.newer_than(0) == News(0, {})
    gate.open()
    adding.result()
    assert filters.newer_than(0) == News(2, {"df0": Snapshot(2, ids(1), is_complete=True)})


def test_a_set_goes_on_from_the_version_of_another() -> None:
    """A set that takes the place of another: who knows the last version of that one gets all that this one brings."""
    (a,) = new_filters(1)
    first = FilterSet([a])
    a.complete(ids(1))
    (b,) = new_filters(1)
    second = FilterSet([b], start=first.close() + 1)
    assert second.version == 2
    b.complete(ids(2))
    assert second.newer_than(1) == News(3, {"df0": b.snapshot()})


def test_a_closed_set_takes_no_news_and_lets_go_who_waits() -> None:
    a, b = new_filters()
    filters = FilterSet([a, b])
    a.complete(ids(1))
    waiter = Started(lambda: filters.wait_newer(1))
    until(lambda: len(filters._changed._waiters) == 1)  # type: ignore[attr-defined]
    assert filters.close() == 1
    assert waiter.result() == News(1, {})
    b.complete(ids(2))
    assert filters.version == 1
    assert filters.is_complete


def test_each_change_is_told_after_it_can_be_seen() -> None:
    """Whoever is told of a change sees it, and may ask the set for it at once."""
    seen: list[News] = []
    filters = FilterSet(on_change=lambda: seen.append(filters.newer_than(0)))
    a, b = new_filters()
    filters.add(a)
    assert seen == []
    a.update(ids(1, 2))
    b.complete(ids(5))
    filters.add(b)
    filters.close()
    a.complete(ids(1))
    assert [news.version for news in seen] == [1, 2]
    assert seen[1].filters == {"df0": Snapshot(1, ids(1, 2), is_complete=False), "df1": b.snapshot()}
