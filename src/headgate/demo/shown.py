"""What one part of the demo has shown: the same answer with Headgate off and on, and what each read and took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Shown:
    """Seconds and what was read, without Headgate and with it, and whether the answers are the same."""

    off: float
    on: float
    read_off: str
    read_on: str
    is_same: bool


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds the work took, and what it gave."""
    started = time.perf_counter()
    given = work()
    return time.perf_counter() - started, given


def best_of_two(work: Callable[[], Any]) -> tuple[float, Any]:
    """Do the work twice, and return the shorter time: the first also pays for Spark's own warming up."""
    first, given = timed(work)
    second, _ = timed(work)
    return min(first, second), given
