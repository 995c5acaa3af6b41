"""The registry of queries. C and G numbers are scenarios of the lists of Trino's and Presto's coordinators."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.coordinator import Outcome, QueryState, Registry
from headgate.coordinator.events import EventsMessage, FilterEvent
from headgate.coordinator.stories import FilterEvents
from headgate.domain import Domain, Kind, Limits, TupleDomain
from headgate.errors import InvalidFilter, NotRegistered
from headgate.filters import Snapshot
from tests.coordinator.domains import ids, span


def new_registry(**options) -> Registry:
    made = Registry(clock=count(1).__next__, **options)
    made.register("q")
    return made


def version(registry: Registry, query: str = "q") -> int:
    return registry.get(query).version


def test_complete_only_when_all_expected_partitions_reported() -> None:
    """C39: nothing is seen of a filter until its last partition reports; then it is the union of all."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=3)
    for partition in range(2):
        assert registry.report("q", "df", partition, ids(partition)) is Outcome.ACCEPTED
        assert made.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
        assert version(registry) == 0
    registry.report("q", "df", 2, ids(9))
    assert made.snapshot() == Snapshot(1, ids(0, 1, 9), is_complete=True)
    assert version(registry) == 1


def test_two_filters_complete_on_their_own() -> None:
    """C40: each filter of a query completes by itself, and each makes a new version."""
    registry = new_registry()
    a, b = (registry.add_filter("q", name, ["k"], expected=1) for name in ("a", "b"))
    registry.report("q", "b", 0, ids(2))
    assert (a.is_complete, b.is_complete) == (False, True)
    assert registry.get("q").filters.newer_than(0).filters == {"b": b.snapshot()}
    registry.report("q", "a", 0, ids(1))
    assert registry.get("q").filters.newer_than(1).filters == {"a": a.snapshot()}


def test_everything_ends_the_collection_early() -> None:
    """C41: a partition that says ALL completes the filter before the others report; those are then too late."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=3)
    registry.report("q", "df", 0, ids(1))
    registry.report("q", "df", 1, TupleDomain.all())
    assert made.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)
    assert registry.report("q", "df", 2, ids(2)) is Outcome.REPEATED
    assert registry.memory == 0


def test_one_report_of_a_broadcast_build_is_enough() -> None:
    """C43: each task of a broadcast build holds all of it; the first one to report is the filter."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=4, broadcast=True)
    assert registry.report("q", "df", 2, ids(1, 2)) is Outcome.ACCEPTED
    assert registry.report("q", "df", 0, ids(7)) is Outcome.REPEATED
    assert made.current() == ids(1, 2)


def test_the_number_of_partitions_may_be_told_late() -> None:
    """C44: reports wait until it is known how many there are; and no partition at all is NONE."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"])
    registry.report("q", "df", 0, ids(1))
    registry.report("q", "df", 1, ids(2))
    assert not made.is_complete
    registry.get("q").expect("df", 2)
    assert made.current() == ids(1, 2)
    empty = registry.add_filter("q", "empty", ["k"], expected=0)
    assert empty.current().is_none
    assert registry.get("q").filters.newer_than(1).filters == {"empty": empty.snapshot()}


def test_a_consumer_cannot_end_the_collection() -> None:
    """C45: who consumes a filter holds a view, which has no way to complete it."""
    view = new_registry().add_filter("q", "df", ["k"]).consumer()
    assert not {"complete", "update", "make_non_blocking"} & set(dir(view))


def test_a_non_blocking_filter_is_waited_for_by_nobody_and_still_arrives() -> None:
    """C46: a filter that is not worth a wait is still published and told."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=1, blocking=False)
    assert not made.is_blocking
    registry.report("q", "df", 0, ids(1))
    assert version(registry) == 1


def test_one_filter_on_several_columns() -> None:
    """C47: a filter may say something of several columns; what it says of others is left out."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["a", "b"], expected=2)
    parts = [{"a": [1], "b": [10], "c": [5]}, {"a": [2], "b": [20]}]
    for partition, columns in enumerate(parts):
        domain = TupleDomain({name: Domain.of("bigint", values) for name, values in columns.items()})
        registry.report("q", "df", partition, domain)
    assert made.current() == TupleDomain({"a": Domain.of("bigint", [1, 2]), "b": Domain.of("bigint", [10, 20])})


def test_consumers_are_called_exactly_once_also_when_late() -> None:
    """C48: a listener from before the last report, one from after it and one that fails are each called once."""
    heard: list[Any] = []
    registry = new_registry()
    registry.add_filter("q", "df", ["k"], expected=2)
    registry.get("q").subscribe("df", heard.append)
    registry.report("q", "df", 0, ids(1))
    assert heard == []
    registry.report("q", "df", 1, ids(2))
    registry.report("q", "df", 1, ids(3))
    registry.get("q").subscribe("df", heard.append)
    registry.end("q")
    assert heard == [Snapshot(1, ids(1, 2), is_complete=True)] * 2


def test_an_older_attempt_is_ignored() -> None:
    """C51: a newer attempt begins with no filters; what the older one still reports changes nothing."""
    registry = new_registry()
    old = registry.add_filter("q", "df", ["k"], expected=2)
    registry.report("q", "df", 0, ids(1), attempt=0)
    registry.register("q", attempt=1)
    assert old.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)  # who waited for it is let go
    new = registry.add_filter("q", "df", ["k"], expected=2)
    assert registry.report("q", "df", 1, ids(2), attempt=0) is Outcome.STALE
    assert registry.publish("q", "df", ids(3), attempt=0) is Outcome.STALE
    assert new.version == 0
    assert registry.story("q").filters[0].reported == 0
    for partition in range(2):
        assert registry.report("q", "df", partition, ids(7), attempt=1) is Outcome.ACCEPTED
    assert new.current() == ids(7)


def test_attempts_only_rise() -> None:
    """C51: an attempt that nobody registered is not known, an older one cannot come back; the same again is nothing."""
    registry = new_registry()
    registry.add_filter("q", "df", ["k"])
    with pytest.raises(NotRegistered, match="attempt 2 of query 'q' is not registered; the newest is 0"):
        registry.report("q", "df", 0, ids(1), attempt=2)
    registry.register("q", attempt=3)
    registry.add_filter("q", "df", ["k"])
    registry.register("q", attempt=3)
    assert len(registry.story("q").filters) == 1
    with pytest.raises(InvalidFilter, match="attempt 2 of query 'q' is too old"):
        registry.register("q", attempt=2)
    with pytest.raises(InvalidFilter, match="attempt -1"):
        registry.register("new", attempt=-1)


def test_the_version_rises_over_attempts() -> None:
    """C51: who asks with a version of the older attempt gets everything of the newer one, the change included."""
    registry = new_registry()
    registry.add_filter("q", "df", ["k"], expected=1)
    registry.report("q", "df", 0, ids(1))
    registry.register("q", attempt=1)
    assert version(registry) == 2
    assert registry.get("q").filters.newer_than(1).filters == {}
    made = registry.add_filter("q", "df", ["k"], expected=1)
    registry.report("q", "df", 0, ids(2))
    news = registry.get("q").filters.newer_than(1)
    assert (news.version, news.filters) == (3, {"df": made.snapshot()})


@pytest.mark.parametrize("broadcast", [False, True])
def test_size_limits_compact_and_then_give_up(broadcast: bool) -> None:
    """Over the limit a set becomes a range, and ALL where ranges are off; broadcast or not (C52, G104)."""
    for ranges, kind in ((True, Kind.RANGES), (False, None)):
        registry = new_registry(limits=Limits(max_distinct=3, max_bytes=16, ranges=ranges))
        made = registry.add_filter("q", "df", ["k"], expected=1, broadcast=broadcast)
        registry.report("q", "df", 0, ids(1, 5, 9, 200_000))
        assert made.is_complete
        found = made.current().find("k")
        assert (found and found.kind) == kind
        assert made.current().contains({"k": 200_000})


def test_a_partition_counts_once() -> None:
    """C53, C54: a second report of a partition, by a retry or a twin, is ignored; the first one's values stay."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=2)
    assert registry.report("q", "df", 0, ids(1)) is Outcome.ACCEPTED
    assert registry.report("q", "df", 0, ids(99)) is Outcome.REPEATED
    assert not made.is_complete
    registry.report("q", "df", 1, ids(2))
    assert made.current() == ids(1, 2)
    assert registry.counts() == {"accepted": 2, "repeated": 1, "stale": 0}


def test_the_wait_ends_and_the_filter_still_comes() -> None:
    """G100, G102: a wait that times out shows nothing of the reports so far; the filter is complete later."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=2)
    registry.report("q", "df", 0, ids(1))
    assert registry.get("q").wait(["df"], timeout=0) is False
    assert made.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
    registry.report("q", "df", 1, ids(2))
    assert registry.get("q").wait(["df"]) is True
    assert made.current() == ids(1, 2)


def test_finishing_late_changes_nothing() -> None:
    """G105: once a filter is complete, publishing, reporting and expecting again leave it as it is."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=1)
    assert registry.publish("q", "df", ids(1)) is Outcome.ACCEPTED
    before = made.snapshot()
    assert registry.publish("q", "df", ids(2)) is Outcome.REPEATED
    assert registry.report("q", "df", 0, ids(3)) is Outcome.REPEATED
    registry.get("q").expect("df", 1)
    assert made.snapshot() is before
    assert version(registry) == 1


def test_one_filter_misses_the_wait_and_the_others_apply() -> None:
    """G107: one clock for all filters of a scan; those that are there are used though one is not."""
    registry = new_registry()
    done = registry.add_filter("q", "done", ["k"], expected=1)
    registry.add_filter("q", "missing", ["k"], expected=1)
    registry.report("q", "done", 0, ids(4))
    assert registry.get("q").wait(["missing", "done"], timeout=0) is False
    assert done.current() == ids(4)


def test_only_wanted_filters_are_waited_for() -> None:
    """G108: a scan waits for the filters on its columns; for none of them it does not wait at all."""
    registry = new_registry()
    registry.add_filter("q", "done", ["k"], expected=0)
    registry.add_filter("q", "never", ["other"])
    assert registry.get("q").wait(["done"])
    assert registry.get("q").wait([])
    with pytest.raises(NotRegistered, match="no filter 'unknown'"):
        registry.get("q").wait(["unknown"])


def test_filters_that_share_no_value_are_none_together() -> None:
    """G109: two filters on one column, intersected by the one who applies them."""
    registry = new_registry()
    for name, values in (("a", (1, 2)), ("b", (3,))):
        registry.add_filter("q", name, ["k"])
        registry.publish("q", name, ids(*values))
    together = TupleDomain.all()
    for state in registry.get("q").filters.newer_than(0).filters.values():
        together &= state.domain
    assert together.is_none


def test_queries_know_nothing_of_each_other() -> None:
    """G110: same names, other queries: values, versions, memory and the end of one do not touch the other."""
    registry = new_registry()
    registry.register("r")
    mine, theirs = (registry.add_filter(query, "df", ["k"], expected=1) for query in ("q", "r"))
    registry.report("q", "df", 0, ids(1))
    assert theirs.version == 0
    assert version(registry, "r") == 0
    memory = registry.memory
    registry.report("r", "df", 0, ids(2))
    assert registry.memory == 2 * memory > 0
    registry.end("q")
    assert registry.memory == memory
    assert (mine.current(), theirs.current()) == (ids(1), ids(2))
    assert registry.find("r") is not None


@pytest.mark.parametrize("state", [QueryState.FINISHED, QueryState.FAILED, QueryState.CANCELLED])
def test_the_end_of_a_query_frees_everything_and_lets_go_who_waits(state: QueryState) -> None:
    """G110: an unfinished filter of a query that ends is ALL and complete, and nothing of it stays in memory."""
    heard: list[Any] = []
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=2)
    registry.get("q").subscribe("df", heard.append)
    registry.report("q", "df", 0, ids(1, 2, 3))
    assert registry.memory > 0
    story = registry.end("q", state)
    assert story is not None
    assert (story.state, story.memory_bytes) == (state, 0)
    assert heard == [Snapshot(1, TupleDomain.all(), is_complete=True)]
    assert made.wait(0)
    assert registry.memory == 0
    assert registry.end("q") is None
    for call in (
        lambda: registry.report("q", "df", 1, ids(1)),
        lambda: registry.publish("q", "df", ids(1)),
        lambda: registry.add_filter("q", "df2", ["k"]),
        lambda: (registry.register("q"), registry.report("q", "df", 1, ids(1))),  # type: ignore[func-returns-value]
    ):
        with pytest.raises(NotRegistered):
            call()


def test_memory_runs_out_and_filters_get_wider() -> None:
    """A report that there is no room for is kept as its range, or as ALL; it is never refused and never lost."""
    registry = new_registry(memory_limit=100)
    made = registry.add_filter("q", "df", ["k"], expected=2)
    registry.report("q", "df", 0, ids(*range(0, 16, 2)))  # 64 bytes
    registry.report("q", "df", 1, ids(*range(100, 120, 2)))  # 80 more: as a range
    assert made.is_complete
    assert all(made.current().contains({"k": value}) for value in [*range(0, 16, 2), *range(100, 120, 2)])
    assert not made.current().is_all
    assert registry.memory <= 100
    tiny = Registry(memory_limit=8)
    tiny.register("q")
    made = tiny.add_filter("q", "df", ["k"], expected=2)
    tiny.report("q", "df", 0, ids(1, 2, 3))
    assert made.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)
    assert tiny.publish("q", "df", ids(1)) is Outcome.REPEATED


@given(
    st.integers(0, 400),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.sets(st.integers(-50, 50), max_size=20))),
)
def test_no_reported_value_is_ever_lost_and_memory_returns_to_zero(
    memory_limit: int, reports: list[tuple[str, int, set[int]]]
) -> None:
    """Whatever the limit and the order, a complete filter lets through all that its first reports held."""
    registry = new_registry(memory_limit=memory_limit, limits=Limits(max_distinct=15, max_bytes=200))
    filters = {name: registry.add_filter("q", name, ["k"], expected=4) for name in "ab"}
    taken: dict[tuple[str, int], set[int]] = {}
    for name, partition, values in reports:
        was_complete = filters[name].is_complete
        if partition >= 4:
            with pytest.raises(InvalidFilter) if not was_complete else pytest.raises(AssertionError):
                assert registry.report("q", name, partition, ids(*values)) is not Outcome.REPEATED
            continue
        outcome = registry.report("q", name, partition, ids(*values))
        assert outcome is (Outcome.REPEATED if was_complete or (name, partition) in taken else Outcome.ACCEPTED)
        taken.setdefault((name, partition), values)
        assert filters[name].is_complete or filters[name].current().is_all
    for (name, _), values in taken.items():
        assert all(filters[name].current().contains({"k": value}) for value in values)
    registry.end("q")
    assert registry.memory == 0


def test_a_refused_report_changes_nothing() -> None:
    """A partition that does not exist or a column of another type is refused, and counts for nothing."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=2)
    registry.report("q", "df", 0, ids(1))
    before = registry.story("q")
    with pytest.raises(InvalidFilter, match="partition 2 is not one of the 2"):
        registry.report("q", "df", 2, ids(2))
    with pytest.raises(InvalidFilter, match="'k' is string in partition 1 and bigint in others"):
        registry.report("q", "df", 1, TupleDomain({"k": Domain.of("string", ["x"])}))
    assert registry.story("q") == before
    registry.report("q", "df", 1, ids(2))
    assert made.current() == ids(1, 2)


def test_completing_the_handle_is_as_good_as_publishing() -> None:
    """The handle that add_filter returns may be completed directly; reports after it are too late."""
    registry = new_registry()
    made = registry.add_filter("q", "df", ["k"], expected=2)
    registry.report("q", "df", 0, ids(*range(50)))
    made.complete(span(0, 9))
    assert version(registry) == 1
    assert registry.report("q", "df", 1, ids(1)) is Outcome.REPEATED
    assert registry.memory == made.current().nbytes
    assert registry.story("q").filters[0].events.published is not None


@pytest.mark.parametrize("name", ["", "a/b", "a b", "ä", "x" * 201, "a\n"])
def test_names_must_fit_into_an_address(name: str) -> None:
    registry = new_registry()
    with pytest.raises(InvalidFilter, match="cannot name a query"):
        registry.register(name)
    with pytest.raises(InvalidFilter, match="cannot name a filter"):
        registry.add_filter("q", name, ["k"])
    assert registry.find(name) is None


def test_a_filter_is_added_once() -> None:
    registry = new_registry()
    registry.add_filter("q", "df", ["k"])
    with pytest.raises(InvalidFilter, match="has a filter 'df' already"):
        registry.add_filter("q", "df", ["k"])
    with pytest.raises(InvalidFilter, match="cannot expect -1 partitions"):
        registry.add_filter("q", "other", ["k"], expected=-1)
    with pytest.raises(NotRegistered, match="no filter 'other'"):
        registry.report("q", "other", 0, ids(1))


def said(sequence: int, *events: FilterEvent, consumer: str = "executor-1") -> EventsMessage:
    return EventsMessage(consumer, sequence, list(events))


def test_the_story_of_a_filter() -> None:
    """G106: when a filter was asked for, collected, published, received and applied, and how much it removed."""
    registry = new_registry()  # its clock counts: registering took 1
    registry.add_filter("q", "df", ["k"], expected=2)  # 2
    registry.report("q", "df", 0, ids(1))  # came in at 3
    registry.report("q", "df", 1, ids(2))  # came in at 4, published at 5
    applied = FilterEvent("df", "applied", files=3, row_groups=7, rows=100)
    assert registry.record("q", said(0, FilterEvent("df", "received"))) is Outcome.ACCEPTED  # 6
    assert registry.record("q", said(1, applied)) is Outcome.ACCEPTED  # 7
    assert registry.record("q", said(0, applied, consumer="executor-2")) is Outcome.ACCEPTED  # 8
    (story,) = registry.story("q").filters
    assert story.events == FilterEvents(
        asked=2,
        collected=4,
        published=5,
        received=6,
        last_received=8,
        applied=7,
        receivers=2,
        files=6,
        row_groups=14,
        rows=200,
    )
    assert (story.kinds, story.reported, story.expected) == ({"k": "set"}, 2, 2)


def test_a_message_is_heard_once() -> None:
    """A message that is sent again after a lost answer is not counted again; one of an older attempt never."""
    registry = new_registry()
    registry.add_filter("q", "df", ["k"])
    applied = FilterEvent("df", "applied", files=1)
    assert registry.record("q", said(4, applied)) is Outcome.ACCEPTED
    assert registry.record("q", said(4, applied)) is Outcome.REPEATED
    assert registry.record("q", said(3, applied)) is Outcome.REPEATED
    assert registry.record("q", said(5, FilterEvent("gone", "received"))) is Outcome.ACCEPTED
    assert registry.story("q").filters[0].events.files == 1
    registry.register("q", attempt=1)
    assert registry.record("q", said(9, applied)) is Outcome.STALE


def test_queries_that_ended_are_remembered_without_their_values() -> None:
    """The list shows those that run, then the last hundred that ended, the newest first."""
    registry = Registry()
    for number in range(120):
        registry.register(f"q{number}")
        registry.end(f"q{number}", QueryState.FAILED)
    registry.register("running")
    names = [story.query for story in registry.stories()]
    assert names == ["running", *(f"q{number}" for number in range(119, 19, -1))]


def test_closing_ends_all_queries() -> None:
    registry = new_registry()
    registry.register("r")
    made = registry.add_filter("r", "df", ["k"])
    registry.close()
    assert made.is_complete
    assert {story.state for story in registry.stories()} == {"CANCELLED"}
    assert registry.find("q") is registry.find("r") is None


def test_watchers_hear_of_every_change_and_a_failing_one_hurts_nobody() -> None:
    """News, a newer attempt and the end of a query are each told; a watcher that raises is logged and left aside."""
    told: list[str] = []
    registry = new_registry()

    def fail(query_id: str) -> None:
        raise RuntimeError("a watcher's mistake")

    registry.watch(fail)
    registry.watch(told.append)
    registry.add_filter("q", "df", ["k"])
    assert told == []
    registry.publish("q", "df", ids(1))
    registry.register("q", attempt=1)
    registry.end("q")
    assert told == ["q", "q", "q"]
    registry.unwatch(told.append)
    registry.register("r")
    registry.end("r")
    assert len(told) == 3
