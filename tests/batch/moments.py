"""Have something happen at a moment of a query's way through Headgate: hooks, so that no test has to wait and hope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

from headgate.catalyst import CatalystQuery
from headgate.collect import RunningWave
from headgate.query.late import LateFilters

# a method, and whether what happens comes before it or after it
MOMENTS: dict[str, tuple[type, str, bool]] = {
    "before the build starts": (CatalystQuery, "start_builds", True),
    "when the build has ended": (RunningWave, "wait", False),
    "before the plan is written": (CatalystQuery, "write", True),
    "when the plan is written": (CatalystQuery, "write", False),
}


@contextmanager
def once_at(moment: str, act: Callable[[], None]) -> Iterator[list[str]]:
    """Have something done in another thread, once, at a moment of the next query; the query goes on when it is done, and so does the test.

    The list that is handed out is empty until then.
    """
    owner, name, comes_first = MOMENTS[moment]
    original: Any = getattr(owner, name)
    done: list[str] = []
    over = Event()

    def act_once() -> None:
        if not done:
            done.append(moment)
            thread = Thread(target=act)
            thread.start()
            thread.join(120.0)
            over.set()

    def hooked(self: Any, *arguments: Any) -> Any:
        if comes_first:
            act_once()
        result = original(self, *arguments)
        if not comes_first and result is not None:
            act_once()
        return result

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, hooked)
        yield done
    # late filters are built beside the query, which may have ended before
    assert not done or over.wait(120.0)


@contextmanager
def filters_first() -> Iterator[None]:
    """Have late filters published before the query's first task.

    A filter from a tap comes when the query has run its build side, so nobody waits for it here.
    """
    start = LateFilters.start

    def start_and_finish(self: LateFilters, *arguments: Any) -> None:
        start(self, *arguments)
        if not self._query.tapped_filters():
            self.join(60.0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LateFilters, "start", start_and_finish)
        yield
