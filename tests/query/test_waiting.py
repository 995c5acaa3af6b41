"""How long a query waits for its filters: the limit, the clock, idle slots, and what the session has learned."""

from __future__ import annotations

import math

import pytest

from headgate.query.waiting import ScanSpeed, Waiting


class Running:
    """A build that is done at some time of a clock that only waiting moves."""

    def __init__(self, done_at: float) -> None:
        self.done_at, self.now, self.asked = done_at, 0.0, 0

    def wait(self, seconds: float | None = None) -> str | None:
        self.asked += 1
        end = math.inf if seconds is None else self.now + seconds
        self.now = min(end, max(self.now, self.done_at)) if seconds else self.now
        return "results" if self.now >= self.done_at else None


def waited(waiting_for: Running, limit: float, **options: object) -> tuple[str | None, float]:
    waiting = Waiting(limit, clock=lambda: waiting_for.now, **options)  # type: ignore[arg-type]
    return waiting.wait(waiting_for), waiting.waited


def test_waits_until_the_builds_are_done() -> None:
    assert waited(Running(3.0), 10.0) == ("results", 3.0)


def test_waits_no_longer_than_the_limit() -> None:
    assert waited(Running(3.0), 2.0) == (None, 2.0)


def test_a_limit_of_nothing_never_blocks() -> None:
    """`maxWait=0s` starts at once; every filter comes late, whatever a race between build and planning gives (G101)."""
    assert waited(Running(3.0), 0.0) == (None, 0.0)
    assert waited(Running(0.0), 0.0) == (None, 0.0)


def test_one_clock_for_all_waves() -> None:
    """The clock starts at the first wait; a second wave has only what the first has left (G103)."""
    first = Running(1.5)
    waiting = Waiting(2.0, clock=lambda: first.now)

    assert waiting.wait(first) == "results"
    first.done_at = 10.0
    assert waiting.wait(first) is None
    assert waiting.waited == pytest.approx(2.0)


def test_idle_slots_end_an_automatic_wait() -> None:
    """Slots that the builds leave idle may begin with the scan, but not before some patience."""
    found, seconds = waited(Running(60.0), 30.0, threshold=0.7, idle_share=lambda: 0.5)

    assert found is None
    assert 2.0 <= seconds < 2.5


def test_busy_slots_do_not_end_it() -> None:
    assert waited(Running(8.0), 30.0, threshold=0.7, idle_share=lambda: 0.1)[0] == "results"


def test_a_duration_is_a_hard_limit_that_idle_slots_do_not_shorten() -> None:
    waiting = Waiting.of(5.0, spared=1.0, threshold=0.7, idle_share=lambda: 1.0)

    assert waiting.limit == 5.0
    running = Running(4.0)
    waiting._clock = lambda: running.now
    assert waiting.wait(running) == "results"


def test_automatic_limit_is_what_the_filters_are_expected_to_spare() -> None:
    assert Waiting.of(None, spared=7.5, threshold=0.7, idle_share=lambda: 0.0).limit == 7.5
    assert Waiting.of(None, spared=0.01, threshold=0.7, idle_share=lambda: 0.0).limit == 2.0


def test_the_speed_of_scans_is_learned() -> None:
    speed = ScanSpeed()
    before = speed.seconds(10**9)
    for _ in range(50):
        speed.learn(10**9, 20.0)

    assert before < 10.0
    assert speed.seconds(10**9) == pytest.approx(20.0, rel=0.01)


@pytest.mark.parametrize(("scanned", "seconds"), [(1000, 1.0), (10**9, 0.0)])
def test_scans_that_say_little_are_not_learned_from(scanned: int, seconds: float) -> None:
    speed = ScanSpeed()
    before = speed.seconds(10**9)
    speed.learn(scanned, seconds)
    assert speed.seconds(10**9) == before
