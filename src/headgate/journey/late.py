"""Filters that nobody waits for: their builds go on beside the query, and their values reach its scans as they come.

planning     register(query)   gate the scans   ->   the query starts
beside it    a wave of builds is done   ->   publish: to the coordinator for executors, to the driver's own process
the scans    ask before each file and each range of a file, and test rows before a shuffle
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any

from headgate.catalyst import Query
from headgate.collect import BuildRequest, RunningWave
from headgate.coordinator import Coordinator
from headgate.domain import Domain, Limits, TupleDomain, encode_json
from headgate.errors import NotRegistered
from headgate.journey.waves import Journey
from headgate.observe import FilterReport, LateReport
from headgate.plan import Consumer, PlannedFilter

log = logging.getLogger("headgate")
GATED_TYPES = frozenset({"tinyint", "smallint", "int", "bigint", "date", "timestamp"})
_COUNTS = 6


@dataclass(frozen=True, slots=True)
class LateFilter:
    """One filter as the scans of one column type see it."""

    id: str
    number: int
    planned: PlannedFilter
    type: str
    consumers: tuple[Consumer, ...]


class LateFilters:
    """The late filters of one query, from planning until they are published."""

    def __init__(self, query: Query, coordinator: Coordinator, journey: Journey, limits: Limits) -> None:
        self._query, self._coordinator, self._journey, self._limits = query, coordinator, journey, limits
        self.id = uuid.uuid4().hex
        self.filters = _late_filters(journey)
        journey.late |= {late.planned.id for late in self.filters}
        self._thread: Thread | None = None

    def edits(self, edits: dict[str, Any]) -> dict[str, Any]:
        """Add the gates to the edits of the plan, and make the coordinator ready for the filters."""
        if not self.filters:
            return edits
        registry = self._coordinator.registry
        registry.register(self.id)
        for late in self.filters:
            registry.add_filter(self.id, late.id, [late.id], blocking=False)
        scans = {number: dict(edit) for number, edit in edits.get("scans", {}).items()}
        for late in self.filters:
            for consumer in late.consumers:
                edit = scans.setdefault(str(consumer.scan), {"keep": None, "rowGroups": {}, "filters": []})
                gate = {"id": late.id, "number": late.number, "column": consumer.column}
                edit.setdefault("late", []).append({**gate, "rows": self._journey.tests_rows(late.planned, consumer)})
        told = {"query": self.id, "url": self._coordinator.url, "token": self._coordinator.token}
        return {
            "scans": scans,
            "builds": edits.get("builds", {}),
            "late": {**told, "filters": len(self.filters)},
        }

    def start(self, running: RunningWave | None, wave: Sequence[BuildRequest], waves: Iterator[Any]) -> None:
        """Go on with the builds beside the query: the wave that runs, then the waves that follow."""
        self._thread = Thread(target=self._go_on, args=(running, wave, waves), name="headgate-late", daemon=True)
        self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all late filters are published."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _go_on(self, running: RunningWave | None, wave: Sequence[BuildRequest], waves: Iterator[Any]) -> None:
        try:
            if running is not None:
                self._take_in(wave, running)
            for following in waves:
                if self._coordinator.registry.find(self.id) is None:  # the query has ended: nobody needs the rest
                    break
                self._take_in(following, RunningWave(self._query, following, self._limits))
        except Exception:
            log.warning("late filters of a query were given up", exc_info=True)
        finally:
            self._publish(lambda _: True, give_up=True)

    def _take_in(self, wave: Sequence[BuildRequest], running: RunningWave) -> None:
        results = running.wait()
        assert results is not None
        self._journey.take_in(wave, results)
        nodes = {request.node for request in wave}
        self._publish(lambda late: late.planned.build in nodes)

    def _publish(self, wanted: Callable[[LateFilter], bool], *, give_up: bool = False) -> None:
        """Publish the filters whose builds are done; when giving up also those that will never come, as ALL."""
        for late in self.filters:
            if not wanted(late):
                continue
            domain = self._journey.domain_for(late.planned, late.type)
            if domain is None and not give_up:
                continue
            self._bring(late, domain)

    def _bring(self, late: LateFilter, domain: Domain | None) -> None:
        held = TupleDomain.all() if domain is None else TupleDomain({late.id: domain})
        try:
            self._coordinator.registry.publish(self.id, late.id, held)
        except NotRegistered:  # the query has ended
            return
        self._query.publish(self.id, late.id, encode_json(held).decode())

    def report(self, reports: Sequence[FilterReport]) -> None:
        """Write what has become of the late filters into the reports of the query's filters."""
        counts = self._query.late_counts()
        found = self._coordinator.registry.find(self.id)
        events = {} if found is None else {held["id"]: held for held in found.to_dict()["filters"]}
        stories: dict[str, LateReport] = {}
        for late in self.filters:
            numbers = counts[late.number * _COUNTS : (late.number + 1) * _COUNTS] or [0] * _COUNTS
            story, name = LateReport.of(numbers, events.get(late.id, {})), late.planned.id
            stories[name] = stories[name].with_(story) if name in stories else story
        planned = {late.planned.id: late.planned for late in self.filters}
        for report in reports:
            if report.id in stories:
                self._journey.tell_late(report, planned[report.id], stories[report.id])


def _late_filters(journey: Journey) -> list[LateFilter]:
    """Return the filters that are still to come, one for each type of column that they go to."""
    found: list[LateFilter] = []
    for planned in journey.awaited():
        by_type: dict[str, list[Consumer]] = {}
        for consumer in planned.consumers:
            if (kind := journey.gated_type(consumer)) in GATED_TYPES:
                by_type.setdefault(kind, []).append(consumer)
        for kind, consumers in by_type.items():
            name = planned.id if len(by_type) == 1 else f"{planned.id}.{kind}"
            found.append(LateFilter(name, len(found), planned, kind, tuple(consumers)))
    return found
