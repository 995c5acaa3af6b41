"""Filters that nobody waits for: their builds go on beside the query, and their values reach its scans as they come.

planning     register(query)   gate the scans, tap large build sides   ->   the query starts
beside it    a wave of builds is done, or a tapped stage has ended
             ->   publish: to the coordinator for executors, to the driver's own process
the scans    ask before each file and each range of a file, and test rows before a shuffle
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any

import msgspec

from headgate.catalyst import Query
from headgate.collect import BuildRequest, RunningWave, tapped_domain
from headgate.config import Settings
from headgate.coordinator import Coordinator
from headgate.domain import Domain, Limits, TupleDomain, encode_json
from headgate.errors import NotRegistered
from headgate.journey.waves import Journey
from headgate.observe import FilterReport, LateReport, QueryReport
from headgate.plan import Consumer, PlannedFilter
from headgate.plan.taps import WHOLE_NUMBERS

log = logging.getLogger("headgate")
_COUNTS = 4
_LONGEST_POLL = 60_000  # milliseconds; the coordinator keeps no poll longer
_SLICE = 0.5  # seconds between two looks whether a query that is tapped has ended


@dataclass(frozen=True, slots=True)
class LateFilter:
    """One filter as the scans of one column type see it."""

    id: str
    number: int
    planned: PlannedFilter
    type: str
    consumers: tuple[Consumer, ...]


class LateFilters:
    """The late filters of one query, from planning until they are published.

    ``is_running`` says whether the query of some id may still want its filters.
    """

    def __init__(
        self,
        query: Query,
        coordinator: Coordinator,
        journey: Journey,
        filters: Sequence[LateFilter],
        limits: Limits,
        settings: Settings,
        is_running: Callable[[str], bool],
    ) -> None:
        self._query, self._coordinator, self._journey, self._limits = query, coordinator, journey, limits
        self._is_running, self._settings = is_running, settings
        self.id = uuid.uuid4().hex
        self.filters = filters
        journey.late |= {late.planned.id for late in self.filters}
        self._threads: list[Thread] = []
        self._concluded = False

    def edits(self, edits: dict[str, Any]) -> dict[str, Any]:
        """Add gates and taps to the edits of the plan, and make the coordinator ready for the filters."""
        registry = self._coordinator.registry
        registry.register(self.id, memory_limit=self._settings.memory_limit)
        for late in self.filters:
            registry.add_filter(self.id, late.id, [late.id], blocking=False)
        told = {"query": self.id, "url": self._coordinator.url, "token": self._coordinator.token}
        wait = min(int((self._settings.refresh_max_wait or 0.0) * 1000), _LONGEST_POLL)
        return {
            "scans": self._gated(edits.get("scans", {})),
            "builds": edits.get("builds", {}),
            "taps": self._journey.taps(self._limits),
            "late": {**told, "filters": len(self.filters), "maxWaitMs": wait},
        }

    def _gated(self, narrowed: dict[str, Any]) -> dict[str, Any]:
        scans = {number: dict(edit) for number, edit in narrowed.items()}
        for late in self.filters:
            for consumer in late.consumers:
                edit = scans.setdefault(str(consumer.scan), {"keep": None, "rowGroups": {}, "filters": []})
                gate = {"id": late.id, "number": late.number, "column": consumer.column}
                edit.setdefault("late", []).append({**gate, "rows": self._journey.tests_rows(late.planned, consumer)})
        return scans

    def start(self, running: RunningWave | None, wave: Sequence[BuildRequest], waves: Iterator[Any]) -> None:
        """Go on with the builds beside the query: the wave that runs, then the waves that follow; and wait for taps."""
        taps = set(self._query.tapped_filters())
        tapped = {late.planned.id: late.planned for late in self.filters if late.planned.tapped}
        for name, planned in tapped.items():
            if name in taps:
                self._spawn(self._await_tap, planned)
            else:  # Spark would not have shuffled it
                self._publish(lambda late, name=name: late.planned.id == name, give_up=True)  # type: ignore[misc]
        if running is not None or any(not late.planned.tapped for late in self.filters):
            self._spawn(self._go_on, running, wave, waves)
        else:
            self._query.release()

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = Thread(target=work, args=arguments, name=f"headgate-late-{self.id[:8]}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all late filters are published."""
        for thread in self._threads:
            thread.join(timeout)

    def end(self) -> None:
        """Say that nobody wants the filters any more."""
        self._coordinator.registry.end(self.id)

    def _await_tap(self, planned: PlannedFilter) -> None:
        packed = None
        try:
            while packed is None and self._is_running(self.id):
                packed = self._query.wait_for_tap(planned.id, _SLICE)
            if packed is None:
                self._query.forget_tap(planned.id)
                return
            kind = self._journey.build_type(planned)
            self._journey.take_tap(planned, tapped_domain(packed, kind, self._limits))
        except Exception:
            log.warning("a tap was given up", exc_info=True)
        self._publish(lambda late: late.planned.id == planned.id, give_up=True)

    def _go_on(self, running: RunningWave | None, wave: Sequence[BuildRequest], waves: Iterator[Any]) -> None:
        try:
            if running is not None:
                self._take_in(wave, running)
            for following in waves:
                if not self._is_running(self.id):
                    break
                self._take_in(following, RunningWave(self._query, following, self._limits))
        except Exception:
            log.warning("late filters of a query were given up", exc_info=True)
        finally:
            self._publish(lambda late: not late.planned.tapped, give_up=True)
            self._query.release()

    def _take_in(self, wave: Sequence[BuildRequest], running: RunningWave) -> None:
        while (results := running.wait(_SLICE)) is None:
            if not self._is_running(self.id):  # the query has ended: nobody needs the rest
                running.cancel()
                return
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
            # there may have been no room for all of it, and then the driver holds no more of it elsewhere either
            held = self._coordinator.registry.get(self.id).find(late.id)[0].current()
        except NotRegistered:  # the query has ended
            return
        self._query.publish(self.id, late.id, encode_json(held).decode())

    def conclude(self, report: QueryReport) -> None:
        """Write into the report what the late filters have done in the end, and let go of what was counted for it."""
        self.report(report)
        self._concluded = True
        self._query.forget_unread()

    def report(self, report: QueryReport) -> None:
        """Write what has become of the late filters into the report of the query."""
        if self._concluded:
            return
        told = msgspec.json.decode(self._query.tell_late())
        self._tell_filters(report.filters, told["counts"], told.get("filters", {}))
        unread, gated = told.get("scans", {}), {to.scan for late in self.filters for to in late.consumers}
        for scan in report.scans:
            if scan.node in gated:
                self._journey.tell_scan(scan, unread.get(str(scan.node), (0, 0, 0, 0)))

    def _tell_filters(
        self, reports: Sequence[FilterReport], counts: Sequence[int], closed: Mapping[str, Sequence[int]]
    ) -> None:
        found = self._coordinator.registry.find(self.id)
        events = {} if found is None else {held["id"]: held for held in found.to_dict()["filters"]}
        stories: dict[str, LateReport] = {}
        for late in self.filters:
            numbers = counts[late.number * _COUNTS : (late.number + 1) * _COUNTS] or [0] * _COUNTS
            removed = closed.get(str(late.number), (0, 0))
            story, name = LateReport.of(numbers, removed, events.get(late.id, {})), late.planned.id
            stories[name] = stories[name].with_(story) if name in stories else story
        planned = {late.planned.id: late.planned for late in self.filters}
        for report in reports:
            if report.id in stories:
                self._journey.tell_late(report, planned[report.id], stories[report.id])


def late_filters(journey: Journey) -> list[LateFilter]:
    """Return the filters that are still to come, one for each type of column that they go to."""
    found: list[LateFilter] = []
    for planned in journey.awaited():
        by_type: dict[str, list[Consumer]] = {}
        for consumer in planned.consumers:
            if (kind := journey.gated_type(consumer)) in WHOLE_NUMBERS:
                by_type.setdefault(kind, []).append(consumer)
        for kind, consumers in by_type.items():
            name = planned.id if len(by_type) == 1 else f"{planned.id}.{kind}"
            found.append(LateFilter(name, len(found), planned, kind, tuple(consumers)))
    return found
