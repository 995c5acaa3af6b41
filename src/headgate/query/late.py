"""Filters that the query does not wait for: their builds go on while it runs, and their values reach its scans then.

planning         register(query)   gate the scans, tap large build sides   ->   the query starts
in background    a wave of builds is done, or a tapped stage has ended: the schedule completes their filters
                 ->   each late filter hears of it and goes to the coordinator, for executors, and to the driver
the scans        ask before each file and each range of a file, and test rows before a shuffle
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from headgate.catalyst import CatalystQuery
from headgate.catalyst.wire import LateNumbers, LateQuery
from headgate.collect import BuildRequest, RunningWave, tapped_domain
from headgate.config import Settings
from headgate.coordinator import Coordinator
from headgate.domain import Domain, Limits, TupleDomain, coerce, value_type
from headgate.errors import NotRegistered
from headgate.filters import Snapshot
from headgate.filters.column_filter import column_domain
from headgate.observe import LateFacts, LateReport
from headgate.plan import PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed
from headgate.query.gates import LateFilter
from headgate.query.schedule import BuildSchedule

log = logging.getLogger("headgate")
_LONGEST_POLL = 60_000  # milliseconds; the coordinator keeps no poll longer
_SLICE = 0.5  # seconds between two looks whether the query has ended

NextWave = Callable[[], Sequence[BuildRequest]]


class LateFilters:
    """The late filters of one query, from planning until they are published.

    ``is_running`` says whether the query of some id may still want its filters.
    """

    def __init__(
        self,
        query: CatalystQuery,
        coordinator: Coordinator,
        schedule: BuildSchedule,
        filters: Sequence[LateFilter],
        limits: Limits,
        is_running: Callable[[str], bool],
    ) -> None:
        self._query, self._coordinator, self._schedule, self._limits = query, coordinator, schedule, limits
        self._is_running = is_running
        self.id = uuid.uuid4().hex
        self.filters = filters
        self._url = ""
        self._threads: list[Thread] = []
        self._subscriptions: list[Callable[[], None]] = []

    # --- planning -----------------------------------------------------------------------------------------------

    def register(self, settings: Settings) -> LateQuery:
        """Make the coordinator ready for the filters; return where executors find them."""
        registry, self._url = self._coordinator.registry, self._coordinator.url
        registry.register(self.id, memory_limit=settings.memory_limit)
        for late in self.filters:
            registry.add_filter(self.id, late.id, [late.id], blocking=False)
        return LateQuery(
            query=self.id,
            url=self._url,
            token=self._coordinator.token,
            filters=len(self.filters),
            max_wait_ms=min(int((settings.refresh_max_wait or 0.0) * 1000), _LONGEST_POLL),
        )

    # --- while the query runs -----------------------------------------------------------------------------------

    def start(
        self, plan: QueryPlan, running: RunningWave | None, wave: Sequence[BuildRequest], next_wave: NextWave
    ) -> None:
        """Go on in the background: with the wave that runs, with the waves that follow, and with taps."""
        for late in self.filters:
            self._subscriptions.append(self._schedule.filter(late.planned.id).subscribe(self._listener(late)))
        taps = set(self._query.tapped_filters())
        for planned in self._planned(Feed.TAP):
            if planned.id in taps:
                self._spawn(self._await_tap, planned, plan)
            else:
                self._schedule.give_up(
                    [planned], "Spark does not shuffle the build side, so a tap cannot see all of its keys"
                )
        if running is not None or self._planned(Feed.BUILD, Feed.BACKGROUND):
            self._spawn(self._go_on, running, wave, next_wave)
        else:
            self._query.release()

    def _planned(self, *feeds: Feed) -> list[PlannedFilter]:
        found = {late.planned.id: late.planned for late in self.filters}
        return [planned for planned in found.values() if planned.feed in feeds]

    def _listener(self, late: LateFilter) -> Callable[[Snapshot], None]:
        """Bring a filter to its scans, in the type of their column, when it is complete; a published one each time."""
        compared = self._schedule.filter(late.planned.id).type

        def hear(state: Snapshot) -> None:
            if state.is_complete or (state.version and late.planned.feed is Feed.PUBLISHED):
                domain = coerce(column_domain(state.domain, compared), value_type(late.type))
                self._bring(late, domain, complete=state.is_complete)

        return hear

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = Thread(target=work, args=arguments, name=f"headgate-late-{self.id[:8]}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all late filters are published."""
        for thread in self._threads:
            thread.join(timeout)

    def end(self) -> None:
        """Say that the filters are no longer wanted."""
        self._coordinator.registry.end(self.id)

    def _await_tap(self, planned: PlannedFilter, plan: QueryPlan) -> None:
        parts = None
        try:
            while parts is None and self._is_running(self.id):
                parts = self._query.wait_for_tap(planned.id, _SLICE)
            if parts is None:
                self._query.forget_tap(planned.id)
                return
            column = plan.node(planned.build).find_column(planned.build_column)
            assert column is not None
            self._schedule.take_tap(planned, tapped_domain(parts, column.type, self._limits))
        except Exception:
            log.warning("Headgate gave up a tap on a build side", exc_info=True)
            self._schedule.give_up([planned], "the tap on the build side failed; the log says why")

    def _go_on(self, running: RunningWave | None, wave: Sequence[BuildRequest], next_wave: NextWave) -> None:
        try:
            if running is not None:
                self._take_in(wave, running)
            while self._is_running(self.id) and (following := next_wave()):
                self._take_in(following, RunningWave(self._query, following, self._limits))
        except Exception:
            log.warning("Headgate gave up late filters of a query", exc_info=True)
        finally:
            self._schedule.give_up(self._planned(Feed.BUILD, Feed.BACKGROUND), "the build side did not finish in time")
            self._query.release()

    def _take_in(self, wave: Sequence[BuildRequest], running: RunningWave) -> None:
        while (results := running.wait(_SLICE)) is None:
            if not self._is_running(self.id):  # the query has ended, so the rest is of no use
                running.cancel()
                return
        self._schedule.take(wave, results)

    def _bring(self, late: LateFilter, domain: Domain | None, *, complete: bool = True) -> None:
        published = TupleDomain.all() if domain is None else TupleDomain({late.id: domain})
        registry = self._coordinator.registry
        try:
            if complete:
                registry.publish(self.id, late.id, published)
            else:
                registry.get(self.id).narrow(late.id, published)
            # there may have been no room for all of it, and then the driver holds no more of it elsewhere either
            state = registry.get(self.id).find(late.id)[0].snapshot()
        except NotRegistered:  # the query has ended
            return
        self._query.publish(self.id, late.id, state)

    # --- what they did ------------------------------------------------------------------------------------------

    def facts(self) -> LateFacts:
        """Return what the late filters have done so far."""
        numbers = self._query.late_numbers()
        gated = {to.scan for late in self.filters for to in late.consumers}
        return LateFacts(self._stories(numbers), {scan: numbers.unread(scan) for scan in gated}, numbers.places)

    def forget(self) -> None:
        """Let go of what was counted file by file, and listen to no publisher any more."""
        self._query.forget_unread()
        for unsubscribe in self._subscriptions:
            unsubscribe()

    def _stories(self, numbers: LateNumbers) -> dict[str, LateReport]:
        tracked = self._coordinator.registry.find(self.id)
        events = {} if tracked is None else {known.id: known.events for known in tracked.story().filters}
        stories: dict[str, LateReport] = {}
        for late in self.filters:
            counted, closed, known = numbers.counted(late.number), numbers.closed(late.number), events.get(late.id)
            asked, published = (None, None) if known is None else (known.asked, known.published)
            story = LateReport.of(counted, closed, asked, published, self._url)
            name = late.planned.id
            stories[name] = stories[name].with_(story) if name in stories else story
        return stories
