"""Builds run in waves, their filters complete when they are done, and what cannot be used lets everything pass."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import pytest

from headgate.config import Settings
from headgate.domain import Domain
from headgate.plan import PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed, Op
from headgate.query.schedule import BuildSchedule, within_memory
from tests.query.chains import chain, done, requests, scan_of


def no_objection(planned: PlannedFilter) -> str:
    del planned
    return ""


def with_feed(plan: QueryPlan, feed: Feed) -> QueryPlan:
    return replace(plan, filters=tuple(replace(f, feed=feed) for f in plan.filters))


def living(plan: QueryPlan) -> list[PlannedFilter]:
    return [planned for planned in plan.filters if planned.is_alive]


def test_each_wave_comes_when_the_one_before_it_is_done() -> None:
    """region is built first, then dim, which it narrows; then nothing is left."""
    plan = chain()
    schedule = BuildSchedule(plan, Settings())
    first = requests(plan, schedule.next_wave(no_objection))
    assert requests(plan, schedule.next_wave(no_objection))[0].node == first[0].node
    schedule.take(first, [done(first[0], 1, 2)])
    second = requests(plan, schedule.next_wave(no_objection))
    assert second[0].node != first[0].node
    schedule.take(second, [done(second[0], 7)])

    assert schedule.next_wave(no_objection) == []
    assert schedule.awaited() == []
    (arrived,) = schedule.on(scan_of(plan, "fact").id)
    assert arrived.domain == Domain.of("int", [7])
    assert arrived.has_rows


def test_a_filter_says_all_until_its_build_is_done() -> None:
    """Whoever looks at a filter too early sees one that lets everything pass."""
    plan = chain()
    schedule = BuildSchedule(plan, Settings())
    wave = requests(plan, schedule.next_wave(no_objection))
    (planned,) = [f for f in living(plan) if f.build == wave[0].node]
    assert schedule.filter(planned.id).domain().is_all
    assert schedule.on(planned.consumers[0].scan) == []
    schedule.take(wave, [done(wave[0], 3)])

    assert schedule.filter(planned.id).domain() == Domain.of("int", [3])
    assert schedule.filter(planned.id).is_complete


def test_a_failed_build_lets_everything_pass() -> None:
    """Its filter is complete and ALL, with the reason, and the builds behind it still run."""
    plan = chain()
    schedule = BuildSchedule(plan, Settings())
    wave = requests(plan, schedule.next_wave(no_objection))
    schedule.take(wave, [done(wave[0], error="java.io.IOException: gone\n  at ...")])
    (planned,) = [f for f in living(plan) if f.build == wave[0].node]
    facts, _ = schedule.facts()

    assert schedule.filter(planned.id).domain().is_all
    assert facts[planned.id].given_up == "the build side failed: java.io.IOException: gone"
    assert facts[planned.id].domain is None
    assert schedule.next_wave(no_objection) != []


def test_an_objection_gives_a_filter_up_and_the_next_wave_comes() -> None:
    """What an earlier wave found may make a later build not worth running."""
    plan = chain()
    schedule = BuildSchedule(plan, Settings())
    first = schedule.next_wave(no_objection)[0].node

    def objects_to_first(planned: PlannedFilter) -> str:
        return "too little is left" if planned.build == first else ""

    (following,) = schedule.next_wave(objects_to_first)
    facts, _ = schedule.facts()
    assert following.node != first
    assert {known.given_up for known in facts.values()} == {"too little is left"}


@pytest.mark.parametrize("has_rows", [True, False])
def test_a_build_that_differs_when_run_twice_needs_its_rows(has_rows: bool) -> None:
    """Without its rows in the plan, the query would run it again and might get others."""
    plan = chain()
    plan = replace(plan, filters=tuple(replace(f, build_once_only=True) for f in plan.filters))
    schedule = BuildSchedule(plan, Settings())
    wave = requests(plan, schedule.next_wave(no_objection))
    schedule.take(wave, [done(wave[0], 3, has_rows=has_rows)])
    (planned,) = [f for f in living(plan) if f.build == wave[0].node]

    assert schedule.filter(planned.id).domain().is_all is not has_rows
    assert (wave[0].node in schedule.kept_builds()) is has_rows


def test_what_may_differ_is_given_up_when_the_query_no_longer_waits() -> None:
    """From then on the query runs its build sides itself."""
    plan = chain()
    plan = replace(plan, filters=tuple(replace(f, build_once_only=True) for f in plan.filters))
    schedule = BuildSchedule(plan, Settings())
    schedule.give_up_unrepeatable()

    assert schedule.awaited() == []
    assert schedule.next_wave(no_objection) == []


def test_background_builds_come_one_at_a_time() -> None:
    """The query does not wait for them, so they are no wave; each comes when those before it are done."""
    plan = with_feed(chain(), Feed.BACKGROUND)
    schedule = BuildSchedule(plan, Settings())
    assert schedule.next_wave(no_objection) == []
    seen = []
    while wave := requests(plan, schedule.next_in_background()):
        seen.append(wave[0].node)
        schedule.take(wave, [done(wave[0], 1)])

    assert sorted(seen) == sorted({f.build for f in living(plan)})


def test_taps_are_published_apart_from_builds() -> None:
    """A tapped filter is in no wave; its keys come from the query's own run of its build side."""
    plan = with_feed(chain(), Feed.TAP)
    schedule, planned = BuildSchedule(plan, Settings()), living(plan)[0]
    assert schedule.next_wave(no_objection) == schedule.next_in_background() == []
    schedule.take_tap(planned, Domain.of("int", [5]))

    assert schedule.filter(planned.id).domain() == Domain.of("int", [5])
    assert not any(arrived.has_rows for arrived in schedule.on(planned.consumers[0].scan))


def test_what_was_given_up_stays_given_up() -> None:
    """Values that come too late change nothing: the filter has been complete for a while."""
    plan = chain()
    schedule = BuildSchedule(plan, Settings())
    wave = requests(plan, schedule.next_wave(no_objection))
    schedule.give_up(living(plan), "the query has ended")
    schedule.take(wave, [done(wave[0], 3)])
    schedule.take_tap(living(plan)[0], Domain.of("int", [5]))
    schedule.give_up(living(plan), "another reason")
    facts, _ = schedule.facts()

    assert all(schedule.filter(f.id).domain().is_all for f in living(plan))
    assert {known.given_up for known in facts.values()} == {"the query has ended"}


def test_filters_share_one_memory_limit() -> None:
    """What does not fit becomes a range, then ALL, and the report says so."""
    wide = Domain.of("bigint", [i * i for i in range(1000)])
    assert within_memory(wide, 0, Settings(memory_limit=10**6)) is wide
    assert within_memory(wide, 10**6, Settings(memory_limit=10**6 + 200)) == Domain.range("bigint", 0, 999 * 999)
    assert within_memory(wide, 10**6, Settings(memory_limit=10**6)).is_all
    assert within_memory(wide, 10**6, Settings(memory_limit=10**6 + 200, range_filters=False)).is_all


def test_threads_that_publish_and_give_up_leave_one_state() -> None:
    """Each filter ends up either published or given up, and its facts agree with its values."""
    for _ in range(50):
        plan = with_feed(chain(), Feed.TAP)
        schedule, filters = BuildSchedule(plan, Settings()), living(plan)
        threads = [Thread(target=schedule.take_tap, args=(f, Domain.of("int", [5]))) for f in filters]
        threads += [Thread(target=schedule.give_up, args=(filters, "ended"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        facts, _ = schedule.facts()
        for planned in filters:
            given_up = facts[planned.id].given_up
            assert schedule.filter(planned.id).domain() == (Domain.all("int") if given_up else Domain.of("int", [5]))


@pytest.mark.parametrize("op", [Op.EQUAL, Op.EQUAL_NULL_SAFE])
def test_null_passes_where_the_comparison_lets_it_in(op: Op) -> None:
    """NULL equals NULL under <=> alone."""
    plan = with_feed(chain(), Feed.TAP)
    plan = replace(plan, filters=tuple(replace(f, op=op) for f in plan.filters))
    schedule, planned = BuildSchedule(plan, Settings()), living(plan)[0]
    schedule.take_tap(planned, Domain.of("int", [5], null_allowed=True))

    assert schedule.filter(planned.id).domain().null_allowed is (op is Op.EQUAL_NULL_SAFE)
