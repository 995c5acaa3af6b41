"""Decide how long a query waits for its filters: one clock, started at the first wait.

    first of    all builds are done
                the limit is reached: `maxWait`, or with auto what the filters are expected to spare
                task slots lie idle while builds run on (auto only, and only after some patience)

What is not there by then is not lost: the filter is applied when it arrives.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol, TypeVar

Result = TypeVar("Result", covariant=True)
_PATIENCE = 2.0  # seconds before idle slots count: most build sides are done sooner
_SLICE = 0.1
_FIRST_GUESS = 200e6
_WEIGHT = 0.3


class Awaited(Protocol[Result]):
    """Something that runs and can be waited for; None while it still runs."""

    def wait(self, seconds: float | None = None) -> Result | None:
        """Wait so long."""


class ScanSpeed:
    """Bytes of files that this session scans in a second, learned from the scans it has seen."""

    def __init__(self) -> None:
        self._bytes_per_second, self._lock = _FIRST_GUESS, Lock()

    def learn(self, scanned: int, seconds: float) -> None:
        """Take a finished scan into account; short ones say little."""
        if scanned < 1_000_000 or seconds < 0.05:
            return
        with self._lock:
            self._bytes_per_second += _WEIGHT * (scanned / seconds - self._bytes_per_second)

    def seconds(self, scanned: int) -> float:
        """Return how long a scan is expected to take."""
        return scanned / self._bytes_per_second


class Waiting:
    """The clock of one query."""

    def __init__(
        self,
        limit: float,
        *,
        threshold: float | None = None,
        idle_share: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit, self._threshold, self._idle_share, self._clock = limit, threshold, idle_share, clock
        self._started: float | None = None
        self.waited = 0.0

    @classmethod
    def of(cls, max_wait: float | None, *, spared: float, threshold: float, idle_share: Callable[[], float]) -> Waiting:
        """Return the clock for a setting of `maxWait`; ``spared`` is what auto is willing to wait, in seconds.

        A little patience pays even where little is spared: a filter that is there in time costs less to apply.
        """
        if max_wait is not None:
            return cls(max_wait)
        return cls(max(spared, _PATIENCE), threshold=threshold, idle_share=idle_share)

    def wait(self, running: Awaited[Result]) -> Result | None:
        """Wait for something within what is left of the clock."""
        if self.limit <= 0:  # all filters are late: whether a build is done by now would be a race
            return None
        if self._started is None:
            self._started = self._clock()
        while True:
            left = max(0.0, self.limit - self._elapsed())
            result = running.wait(left if self._threshold is None else min(left, _SLICE))
            self.waited = self._elapsed()
            if result is not None or self.waited >= self.limit or self._may_start_now():
                return result

    def _elapsed(self) -> float:
        assert self._started is not None
        return self._clock() - self._started

    def _may_start_now(self) -> bool:
        """Whether slots that the builds leave idle could begin with the scan."""
        if self._threshold is None or self._elapsed() < _PATIENCE:
            return False
        return self._idle_share() > 1.0 - self._threshold
