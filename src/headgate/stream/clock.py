"""The time as a stream: the machine's clock, or one that is set by hand, so that streams can be tested."""

from __future__ import annotations

import datetime as dt
import re
from threading import Lock

from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.values import ClockHand, clock_stream
from headgate.errors import BadInput

Duration = str | dt.timedelta

_START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_UNITS = ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks")
_PART = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(unit.rstrip('s') for unit in _UNITS)})s?\b\s*", re.IGNORECASE)


class Clock:
    """The time of the machine that runs the driver.

    Filters of one query that share a clock, a tick and a cap see the same time in each micro-batch.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._streams: dict[tuple[str, int, int, int], DataFrame] = {}

    def stream(self, spark: SparkSession, tick: int, most_per_batch: int) -> DataFrame:
        """Return the time as a streaming DataFrame with one column `_now`; steps are in microseconds."""
        key = (spark.sparkContext.applicationId, id(spark), tick, most_per_batch)
        with self._lock:
            if key not in self._streams:
                self._streams[key] = clock_stream(spark, self._hand(spark), tick, most_per_batch)
            return self._streams[key]

    def _hand(self, spark: SparkSession) -> ClockHand | None:  # noqa: ARG002 - the machine's clock has no hand to set
        return None


class ManualClock(Clock):
    """A clock that stands still until it is moved, for tests of streams.

    Set it, then call ``processAllAvailable`` on the query: rows come and go without waiting.
    """

    def __init__(self, start: dt.datetime) -> None:
        super().__init__()
        self._hands: list[ClockHand] = []
        self._now = _checked(start)

    @property
    def now(self) -> dt.datetime:
        """The time that it shows."""
        return self._now

    def set(self, now: dt.datetime) -> None:
        """Set the time. Queries do not follow it back."""
        with self._lock:
            self._now = _checked(now)
            for hand in self._hands:
                hand.set((self._now - _START) // _MICROSECOND)

    def advance(self, by: Duration) -> None:
        """Move the time forward."""
        self.set(self._now + dt.timedelta(microseconds=micros_of(by, "by")))

    def _hand(self, spark: SparkSession) -> ClockHand:
        hand = ClockHand(spark, (self._now - _START) // _MICROSECOND)
        self._hands.append(hand)
        return hand


def micros_of(duration: Duration, what: str) -> int:
    """Return a duration such as ``"1 hour 30 minutes"`` in microseconds."""
    if isinstance(duration, dt.timedelta):
        micros = duration // _MICROSECOND
    else:
        parts = list(_PART.finditer(str(duration)))
        if not parts or "".join(part.group() for part in parts) != str(duration):
            raise BadInput(
                f'{what} is {duration!r}; it has to be a timedelta, or a text such as "1 hour 30 minutes", '
                f"in {', '.join(_UNITS)}"
            )
        named = ((float(part.group(1)), part.group(2).lower() + "s") for part in parts)
        micros = sum(dt.timedelta(**{unit: number}) // _MICROSECOND for number, unit in named)
    if micros <= 0:
        raise BadInput(f"{what} is {duration!r}; it has to be longer than nothing")
    return micros


def _checked(now: dt.datetime) -> dt.datetime:
    if getattr(now, "tzinfo", None) is None:
        raise BadInput(f"the time is {now!r}; it has to be a datetime with a time zone, such as datetime.now(UTC)")
    return now
