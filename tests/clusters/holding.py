"""Stop a query in the middle, on the driver and on executors, so that nothing depends on how fast anything is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.query.gates import LateFilter
from headgate.query.late import LateFilters
from tests.catalyst.cluster_script import DEADLINE


class Held:
    """Late filters that are ready before their query starts, and come when they are let go.

    Their builds end first: a query whose tasks wait at a `Barrier` leaves no core for them. Filters whose clause has
    the text ``withheld`` never come.
    """

    def __init__(self, withheld: str = "") -> None:
        self._withheld = withheld
        self._ready = threading.Event()
        self._waiting: list[Callable[[], None]] = []

    def release(self) -> None:
        """Let the filters be published."""
        for bring in self._waiting:
            bring()

    @contextmanager
    def holding(self) -> Iterator[Held]:
        """Hold them meanwhile."""
        start, bring = LateFilters.start, LateFilters._bring

        def started(filters: LateFilters, *planned: Any) -> None:
            start(filters, *planned)
            assert self._ready.wait(DEADLINE)

        def brought(filters: LateFilters, late: LateFilter, domain: Any, *, complete: bool = True) -> None:
            if not self._withheld or self._withheld not in late.planned.clause:
                self._waiting.append(lambda: bring(filters, late, domain, complete=complete))
                self._ready.set()

        LateFilters.start = started  # type: ignore[assignment,method-assign]
        LateFilters._bring = brought  # type: ignore[assignment,method-assign]
        try:
            yield self
        finally:
            LateFilters.start, LateFilters._bring = start, bring  # type: ignore[method-assign]


class Barrier:
    """Tasks that wait in the function `hold` of a query, each known by its process, until they are let go."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._home, self._go = home / "held", home / "go"
        self._home.mkdir()
        here, go = str(self._home), str(self._go)

        def hold(value):  # without hints: they would make it an Arrow function
            if not os.path.exists(go):  # noqa: PTH110 - for each row
                Path(here, str(os.getpid())).touch()
                while not os.path.exists(go):  # noqa: PTH110
                    time.sleep(0.005)
            return value

        spark.udf.register("hold", hold, "bigint")
        self.open()

    def open(self) -> None:
        """Let all tasks pass."""
        self._go.touch()

    @contextmanager
    def closed(self) -> Iterator[Barrier]:
        """Hold tasks back meanwhile."""
        for waiting in self._home.iterdir():
            waiting.unlink()
        self._go.unlink()
        try:
            yield self
        finally:
            self.open()

    def holds(self, tasks: int) -> bool:
        """Whether so many tasks wait, in as many processes."""
        return len(list(self._home.iterdir())) >= tasks
