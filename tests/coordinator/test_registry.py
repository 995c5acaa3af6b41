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


def registry(**options) -> Registry:
    made = Registry(clock=count(1).__next__, **options)
    made.register("q")
    return made


def version(held: Registry, query: str = "q") -> int:
    return held.get(query).version


def test_complete_only_when_all_expected_partitions_reported() -> None:
    """Nothing is seen of a filter until its last partition reports; then it is the union of all (C39)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=3)
    for partition in range(2):
        assert held.report("q", "df", partition, ids(partition)) is Outcome.ACCEPTED
        assert made.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
        assert version(held) == 0
    held.report("q", "df", 2, ids(9))
    assert made.snapshot() == Snapshot(1, ids(0, 1, 9), is_complete=True)
    assert version(held) == 1


def test_two_filters_complete_on_their_own() -> None:
    """Each filter of a query completes by itself, and each makes a new version (C40)."""
    held = registry()
    a, b = (held.add_filter("q", name, ["k"], expected=1) for name in ("a", "b"))
    held.report("q", "b", 0, ids(2))
    assert (a.is_complete, b.is_complete) == (False, True)
    assert held.get("q").filters.newer_than(0).filters == {"b": b.snapshot()}
    held.report("q", "a", 0, ids(1))
    assert held.get("q").filters.newer_than(1).filters == {"a": a.snapshot()}


def test_everything_ends_the_collection_early() -> None:
    """A partition that says ALL completes the filter before the others report; those are then too late (C41)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=3)
    held.report("q", "df", 0, ids(1))
    held.report("q", "df", 1, TupleDomain.all())
    assert made.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)
    assert held.report("q", "df", 2, ids(2)) is Outcome.REPEATED
    assert held.memory == 0


def test_one_report_of_a_broadcast_build_is_enough() -> None:
    """Each task of a broadcast build holds all of it; the first one to report is the filter (C43)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=4, broadcast=True)
    assert held.report("q", "df", 2, ids(1, 2)) is Outcome.ACCEPTED
    assert held.report("q", "df", 0, ids(7)) is Outcome.REPEATED
    assert made.current() == ids(1, 2)


def test_the_number_of_partitions_may_be_told_late() -> None:
    """Reports wait until it is known how many there are; and no partition at all is NONE (C44)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"])
    held.report("q", "df", 0, ids(1))
    held.report("q", "df", 1, ids(2))
    assert not made.is_complete
    held.get("q").expect("df", 2)
    assert made.current() == ids(1, 2)
    empty = held.add_filter("q", "empty", ["k"], expected=0)
    assert empty.current().is_none
    assert held.get("q").filters.newer_than(1).filters == {"empty": empty.snapshot()}


def test_a_consumer_cannot_end_the_collection() -> None:
    """Who consumes a filter holds a view, which has no way to complete it (C45)."""
    view = registry().add_filter("q", "df", ["k"]).consumer()
    assert not {"complete", "update", "make_non_blocking"} & set(dir(view))


def test_a_non_blocking_filter_is_waited_for_by_nobody_and_still_arrives() -> None:
    """A filter that is not worth a wait is still published and told (C46)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=1, blocking=False)
    assert not made.is_blocking
    held.report("q", "df", 0, ids(1))
    assert version(held) == 1


def test_one_filter_on_several_columns() -> None:
    """A filter may say something of several columns; what it says of others is left out (C47)."""
    held = registry()
    made = held.add_filter("q", "df", ["a", "b"], expected=2)
    parts = [{"a": [1], "b": [10], "c": [5]}, {"a": [2], "b": [20]}]
    for partition, columns in enumerate(parts):
        domain = TupleDomain({name: Domain.of("bigint", values) for name, values in columns.items()})
        held.report("q", "df", partition, domain)
    assert made.current() == TupleDomain({"a": Domain.of("bigint", [1, 2]), "b": Domain.of("bigint", [10, 20])})


def test_consumers_are_called_exactly_once_also_when_late() -> None:
    """A listener from before the last report, one from after it and one that fails are each called once (C48)."""
    heard: list[Any] = []
    held = registry()
    held.add_filter("q", "df", ["k"], expected=2)
    held.get("q").subscribe("df", heard.append)
    held.report("q", "df", 0, ids(1))
    assert heard == []
    held.report("q", "df", 1, ids(2))
    held.report("q", "df", 1, ids(3))
    held.get("q").subscribe("df", heard.append)
    held.end("q")
    assert heard == [Snapshot(1, ids(1, 2), is_complete=True)] * 2


def test_an_older_attempt_is_ignored() -> None:
    """A newer attempt begins with no filters; what the older one still reports changes nothing (C51)."""
    held = registry()
    old = held.add_filter("q", "df", ["k"], expected=2)
    held.report("q", "df", 0, ids(1), attempt=0)
    held.register("q", attempt=1)
    assert old.snapshot() == Snapshot(1, TupleDomain.all(), is_complete=True)  # who waited for it is let go
    new = held.add_filter("q", "df", ["k"], expected=2)
    assert held.report("q", "df", 1, ids(2), attempt=0) is Outcome.STALE
    assert held.publish("q", "df", ids(3), attempt=0) is Outcome.STALE
    assert new.version == 0
    assert held.story("q").filters[0].reported == 0
    for partition in range(2):
        assert held.report("q", "df", partition, ids(7), attempt=1) is Outcome.ACCEPTED
    assert new.current() == ids(7)


def test_attempts_only_rise() -> None:
    """An attempt that nobody registered is not known, an older one cannot come back; again is nothing (C51)."""
    held = registry()
    held.add_filter("q", "df", ["k"])
    with pytest.raises(NotRegistered, match="attempt 2 of query 'q' is not known; the newest is 0"):
        held.report("q", "df", 0, ids(1), attempt=2)
    held.register("q", attempt=3)
    held.add_filter("q", "df", ["k"])
    held.register("q", attempt=3)
    assert len(held.story("q").filters) == 1
    with pytest.raises(InvalidFilter, match="attempt 2 of query 'q' is too old"):
        held.register("q", attempt=2)
    with pytest.raises(InvalidFilter, match="attempt -1"):
        held.register("new", attempt=-1)


def test_the_version_rises_over_attempts() -> None:
    """Who asks with a version of the older attempt gets everything of the newer one, the change included (C51)."""
    held = registry()
    held.add_filter("q", "df", ["k"], expected=1)
    held.report("q", "df", 0, ids(1))
    held.register("q", attempt=1)
    assert version(held) == 2
    assert held.get("q").filters.newer_than(1).filters == {}
    made = held.add_filter("q", "df", ["k"], expected=1)
    held.report("q", "df", 0, ids(2))
    news = held.get("q").filters.newer_than(1)
    assert (news.version, news.filters) == (3, {"df": made.snapshot()})


@pytest.mark.parametrize("broadcast", [False, True])
def test_size_limits_compact_and_then_give_up(broadcast: bool) -> None:
    """Over the limit a set becomes a range, and ALL where ranges are off; broadcast or not (C52, G104)."""
    for ranges, kind in ((True, Kind.RANGES), (False, None)):
        held = registry(limits=Limits(max_distinct=3, max_bytes=16, ranges=ranges))
        made = held.add_filter("q", "df", ["k"], expected=1, broadcast=broadcast)
        held.report("q", "df", 0, ids(1, 5, 9, 200_000))
        assert made.is_complete
        found = made.current().find("k")
        assert (found and found.kind) == kind
        assert made.current().contains({"k": 200_000})


def test_a_partition_counts_once() -> None:
    """A second report of a partition, by a retry or a twin, is ignored; the first one's values stay (C53, C54)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=2)
    assert held.report("q", "df", 0, ids(1)) is Outcome.ACCEPTED
    assert held.report("q", "df", 0, ids(99)) is Outcome.REPEATED
    assert not made.is_complete
    held.report("q", "df", 1, ids(2))
    assert made.current() == ids(1, 2)
    assert held.counts() == {"accepted": 2, "repeated": 1, "stale": 0}


def test_the_wait_ends_and_the_filter_still_comes() -> None:
    """A wait that times out shows nothing of the reports so far; the filter is complete later (G100, G102)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=2)
    held.report("q", "df", 0, ids(1))
    assert held.get("q").wait(["df"], timeout=0) is False
    assert made.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
    held.report("q", "df", 1, ids(2))
    assert held.get("q").wait(["df"]) is True
    assert made.current() == ids(1, 2)


def test_finishing_late_changes_nothing() -> None:
    """Once a filter is complete, publishing, reporting and expecting again leave it as it is (G105)."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=1)
    assert held.publish("q", "df", ids(1)) is Outcome.ACCEPTED
    before = made.snapshot()
    assert held.publish("q", "df", ids(2)) is Outcome.REPEATED
    assert held.report("q", "df", 0, ids(3)) is Outcome.REPEATED
    held.get("q").expect("df", 1)
    assert made.snapshot() is before
    assert version(held) == 1


def test_one_filter_misses_the_wait_and_the_others_apply() -> None:
    """One clock for all filters of a scan; those that are there are used though one is not (G107)."""
    held = registry()
    done = held.add_filter("q", "done", ["k"], expected=1)
    held.add_filter("q", "missing", ["k"], expected=1)
    held.report("q", "done", 0, ids(4))
    assert held.get("q").wait(["missing", "done"], timeout=0) is False
    assert done.current() == ids(4)


def test_only_wanted_filters_are_waited_for() -> None:
    """A scan waits for the filters on its columns; for none of them it does not wait at all (G108)."""
    held = registry()
    held.add_filter("q", "done", ["k"], expected=0)
    held.add_filter("q", "never", ["other"])
    assert held.get("q").wait(["done"])
    assert held.get("q").wait([])
    with pytest.raises(NotRegistered, match="no filter 'unknown'"):
        held.get("q").wait(["unknown"])


def test_filters_that_share_no_value_are_none_together() -> None:
    """Two filters on one column, intersected by the one who applies them (G109)."""
    held = registry()
    for name, values in (("a", (1, 2)), ("b", (3,))):
        held.add_filter("q", name, ["k"])
        held.publish("q", name, ids(*values))
    together = TupleDomain.all()
    for state in held.get("q").filters.newer_than(0).filters.values():
        together &= state.domain
    assert together.is_none


def test_queries_know_nothing_of_each_other() -> None:
    """Same names, other queries: values, versions, memory and the end of one do not touch the other (G110)."""
    held = registry()
    held.register("r")
    mine, theirs = (held.add_filter(query, "df", ["k"], expected=1) for query in ("q", "r"))
    held.report("q", "df", 0, ids(1))
    assert theirs.version == 0
    assert version(held, "r") == 0
    memory = held.memory
    held.report("r", "df", 0, ids(2))
    assert held.memory == 2 * memory > 0
    held.end("q")
    assert held.memory == memory
    assert (mine.current(), theirs.current()) == (ids(1), ids(2))
    assert held.find("r") is not None


@pytest.mark.parametrize("state", [QueryState.FINISHED, QueryState.FAILED, QueryState.CANCELLED])
def test_the_end_of_a_query_frees_everything_and_lets_go_who_waits(state: QueryState) -> None:
    """An unfinished filter of a query that ends is ALL and complete, and nothing is held or known any more (G110)."""
    heard: list[Any] = []
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=2)
    held.get("q").subscribe("df", heard.append)
    held.report("q", "df", 0, ids(1, 2, 3))
    assert held.memory > 0
    story = held.end("q", state)
    assert story is not None
    assert (story.state, story.memory_bytes) == (state, 0)
    assert heard == [Snapshot(1, TupleDomain.all(), is_complete=True)]
    assert made.wait(0)
    assert held.memory == 0
    assert held.end("q") is None
    for call in (
        lambda: held.report("q", "df", 1, ids(1)),
        lambda: held.publish("q", "df", ids(1)),
        lambda: held.add_filter("q", "df2", ["k"]),
        lambda: (held.register("q"), held.report("q", "df", 1, ids(1))),  # type: ignore[func-returns-value]
    ):
        with pytest.raises(NotRegistered):
            call()


def test_memory_runs_out_and_filters_get_wider() -> None:
    """A report that there is no room for is kept as its range, or as ALL; it is never refused and never lost."""
    held = registry(memory_limit=100)
    made = held.add_filter("q", "df", ["k"], expected=2)
    held.report("q", "df", 0, ids(*range(0, 16, 2)))  # 64 bytes
    held.report("q", "df", 1, ids(*range(100, 120, 2)))  # 80 more: as a range
    assert made.is_complete
    assert all(made.current().contains({"k": value}) for value in [*range(0, 16, 2), *range(100, 120, 2)])
    assert not made.current().is_all
    assert held.memory <= 100
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
    held = registry(memory_limit=memory_limit, limits=Limits(max_distinct=15, max_bytes=200))
    filters = {name: held.add_filter("q", name, ["k"], expected=4) for name in "ab"}
    taken: dict[tuple[str, int], set[int]] = {}
    for name, partition, values in reports:
        was_complete = filters[name].is_complete
        if partition >= 4:
            with pytest.raises(InvalidFilter) if not was_complete else pytest.raises(AssertionError):
                assert held.report("q", name, partition, ids(*values)) is not Outcome.REPEATED
            continue
        outcome = held.report("q", name, partition, ids(*values))
        assert outcome is (Outcome.REPEATED if was_complete or (name, partition) in taken else Outcome.ACCEPTED)
        taken.setdefault((name, partition), values)
        assert filters[name].is_complete or filters[name].current().is_all
    for (name, _), values in taken.items():
        assert all(filters[name].current().contains({"k": value}) for value in values)
    held.end("q")
    assert held.memory == 0


def test_a_refused_report_changes_nothing() -> None:
    """A partition that does not exist or a column of another type is refused, and counts for nothing."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=2)
    held.report("q", "df", 0, ids(1))
    before = held.story("q")
    with pytest.raises(InvalidFilter, match="partition 2 is not one of the 2"):
        held.report("q", "df", 2, ids(2))
    with pytest.raises(InvalidFilter, match="'k' is bigint in other partitions, not string"):
        held.report("q", "df", 1, TupleDomain({"k": Domain.of("string", ["x"])}))
    assert held.story("q") == before
    held.report("q", "df", 1, ids(2))
    assert made.current() == ids(1, 2)


def test_completing_the_handle_is_as_good_as_publishing() -> None:
    """The handle that add_filter returns may be completed directly; reports after it are too late."""
    held = registry()
    made = held.add_filter("q", "df", ["k"], expected=2)
    held.report("q", "df", 0, ids(*range(50)))
    made.complete(span(0, 9))
    assert version(held) == 1
    assert held.report("q", "df", 1, ids(1)) is Outcome.REPEATED
    assert held.memory == made.current().nbytes
    assert held.story("q").filters[0].events.published is not None


@pytest.mark.parametrize("name", ["", "a/b", "a b", "ä", "x" * 201, "a\n"])
def test_names_must_fit_into_an_address(name: str) -> None:
    held = registry()
    with pytest.raises(InvalidFilter, match="cannot name a query"):
        held.register(name)
    with pytest.raises(InvalidFilter, match="cannot name a filter"):
        held.add_filter("q", name, ["k"])
    assert held.find(name) is None


def test_a_filter_is_added_once() -> None:
    held = registry()
    held.add_filter("q", "df", ["k"])
    with pytest.raises(InvalidFilter, match="already has a filter 'df'"):
        held.add_filter("q", "df", ["k"])
    with pytest.raises(InvalidFilter, match="0 or more partitions, not -1"):
        held.add_filter("q", "other", ["k"], expected=-1)
    with pytest.raises(NotRegistered, match="no filter 'other'"):
        held.report("q", "other", 0, ids(1))


def said(sequence: int, *events: FilterEvent, consumer: str = "executor-1") -> EventsMessage:
    return EventsMessage(consumer, sequence, list(events))


def test_the_story_of_a_filter() -> None:
    """When a filter was asked for, collected, published, received and applied, and how much it removed (G106)."""
    held = registry()  # its clock counts: registering took 1
    held.add_filter("q", "df", ["k"], expected=2)  # 2
    held.report("q", "df", 0, ids(1))  # came in at 3
    held.report("q", "df", 1, ids(2))  # came in at 4, published at 5
    applied = FilterEvent("df", "applied", files=3, row_groups=7, rows=100)
    assert held.hear("q", said(0, FilterEvent("df", "received"))) is Outcome.ACCEPTED  # 6
    assert held.hear("q", said(1, applied)) is Outcome.ACCEPTED  # 7
    assert held.hear("q", said(0, applied, consumer="executor-2")) is Outcome.ACCEPTED  # 8
    (story,) = held.story("q").filters
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
    held = registry()
    held.add_filter("q", "df", ["k"])
    applied = FilterEvent("df", "applied", files=1)
    assert held.hear("q", said(4, applied)) is Outcome.ACCEPTED
    assert held.hear("q", said(4, applied)) is Outcome.REPEATED
    assert held.hear("q", said(3, applied)) is Outcome.REPEATED
    assert held.hear("q", said(5, FilterEvent("gone", "received"))) is Outcome.ACCEPTED
    assert held.story("q").filters[0].events.files == 1
    held.register("q", attempt=1)
    assert held.hear("q", said(9, applied)) is Outcome.STALE


def test_queries_that_ended_are_remembered_without_their_values() -> None:
    """The list shows those that run, then the last hundred that ended, the newest first."""
    held = Registry()
    for number in range(120):
        held.register(f"q{number}")
        held.end(f"q{number}", QueryState.FAILED)
    held.register("running")
    names = [story.query for story in held.stories()]
    assert names == ["running", *(f"q{number}" for number in range(119, 19, -1))]


def test_closing_ends_all_queries() -> None:
    held = registry()
    held.register("r")
    made = held.add_filter("r", "df", ["k"])
    held.close()
    assert made.is_complete
    assert {story.state for story in held.stories()} == {"CANCELLED"}
    assert held.find("q") is held.find("r") is None


def test_watchers_hear_of_every_change_and_a_failing_one_hurts_nobody() -> None:
    """News, a newer attempt and the end of a query are each told; a watcher that raises is logged and left aside."""
    told: list[Any] = []
    held = registry()

    def fail(query_id: str) -> None:
        raise RuntimeError("a watcher's mistake")

    held.watch(fail)
    held.watch(told.append)
    held.add_filter("q", "df", ["k"])
    assert told == []
    held.publish("q", "df", ids(1))
    held.register("q", attempt=1)
    held.end("q")
    assert told == ["q", "q", "q"]
    held.unwatch(told.append)
    held.register("r")
    held.end("r")
    assert len(told) == 3
