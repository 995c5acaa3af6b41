"""Run two threads in an order that the test chooses: park one at a known point, let the other go, release the first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from headgate.domain import TupleDomain

PATIENCE = 30.0  # seconds until a thread that should have come is called stuck


class Gate:
    """A point where a thread stops until it is let through."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def park(self) -> None:
        """Stop here; called by the thread that is parked."""
        self._reached.set()
        assert self._opened.wait(PATIENCE), "nobody opened the gate"

    def wait_parked(self) -> None:
        """Return when a thread has stopped at the gate."""
        assert self._reached.wait(PATIENCE), "nobody came to the gate"

    def open(self) -> None:
        """Let everyone through, now and later."""
        self._opened.set()


class Started:
    """A thread whose result, or error, is given to the one who joins it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._result: Any = None
        self._error: BaseException | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - carried to the thread that joins
            self._error = error

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def result(self) -> Any:
        """Wait for the thread and return what it returned."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the thread is stuck"
        if self._error is not None:
            raise self._error
        return self._result


class ParkedDomain(TupleDomain):
    """A tuple domain that parks whoever looks at it first: a publisher between its call and the filter's lock."""

    __slots__ = ("gate",)

    def __init__(self, domain: TupleDomain, gate: Gate) -> None:
        super().__init__(domain.domains or {})
        self.gate = gate

    @property
    def domains(self) -> Any:
        self.gate.park()
        return super().domains

    def only(self, columns: Any) -> TupleDomain:
        self.gate.park()
        return super().only(columns)


def until(condition: Callable[[], bool]) -> None:
    """Return when another thread has made the condition true."""
    for _ in range(50_000_000):
        if condition():
            return
        os.sched_yield()
    raise AssertionError("the condition never came true")
