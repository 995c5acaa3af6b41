"""Clocks: durations as people write them, and a clock that is set by hand."""

from __future__ import annotations

import datetime as dt

import pytest

from headgate.errors import BadInput
from headgate.stream import ManualClock
from headgate.stream.clock import micros_of


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        ("1 second", 1),
        ("2 Hours", 7200),
        ("1 hour 30 minutes", 5400),
        ("1.5 days", 129_600),
        ("1 week", 604_800),
        ("250 milliseconds", 0.25),
        ("7 microseconds", 7e-6),
        (dt.timedelta(minutes=1), 60),
    ],
)
def test_durations(duration: str | dt.timedelta, seconds: float) -> None:
    assert micros_of(duration, "tick") == round(seconds * 1_000_000)


@pytest.mark.parametrize(
    "duration", ["", "1", "second", "1 fortnight", "1 second or so", "-1 second", "1 secondary", 5]
)
def test_what_is_no_duration(duration: str) -> None:
    with pytest.raises(BadInput, match="tick is"):
        micros_of(duration, "tick")


def test_a_clock_set_by_hand() -> None:
    start = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    clock = ManualClock(start)
    clock.advance("1 day")
    assert clock.now == start + dt.timedelta(days=1)
    clock.set(start)
    assert clock.now == start
    with pytest.raises(BadInput, match="has to be a datetime with a time zone"):
        clock.set(dt.datetime(2024, 3, 1))  # noqa: DTZ001 - that it has none is the point
