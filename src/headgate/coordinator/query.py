"""Track one attempt of one query: its filters under one version, their memory, and what happened to them.

A report that does not fit into memory is widened to a range or to ALL, and never refused: a wider filter keeps more
rows, which is safe.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable
from threading import Lock

from headgate.coordinator.events import EventsMessage, StoryBook
from headgate.coordinator.memory import MemoryAccount
from headgate.coordinator.states import Outcome, QueryState
from headgate.coordinator.stories import FilterStory, QueryStory
from headgate.domain import Limits, TupleDomain
from headgate.errors import InvalidFilter, NotRegistered
from headgate.filters import DynamicFilter, FilterMerger, FilterSet, Snapshot

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,200}")


def checked_name(name: str, what: str) -> str:
    """Return a name that is safe in a URL; refuse any other."""
    if not _NAME.fullmatch(name):
        raise InvalidFilter(f"{name[:60]!r} cannot name a {what}; use 1 to 200 letters, digits and _ . : -")
    return name


class TrackedQuery:
    """The filters of one attempt. Thread-safe; listeners run without a lock."""

    def __init__(
        self,
        id: str,
        attempt: int,
        *,
        limits: Limits,
        memory: MemoryAccount,
        clock: Callable[[], float],
        on_change: Callable[[], None],
        start: int = 0,
    ) -> None:
        self.id, self.attempt, self.state = checked_name(id, "query"), attempt, QueryState.RUNNING
        self.memory = memory
        self.registered = clock()
        self._filters: dict[str, tuple[DynamicFilter, FilterMerger]] = {}
        self._set = FilterSet(start=start, on_change=on_change)
        self._stories, self._limits, self._clock = StoryBook(), limits, clock
        self._lock = Lock()

    @property
    def version(self) -> int:
        """The number of changes to any filter, over all attempts of the query."""
        return self._set.version

    @property
    def filters(self) -> FilterSet:
        """The filters, to ask for what is newer."""
        return self._set

    def add_filter(
        self, id: str, columns: Iterable[str], expected: int | None, *, broadcast: bool, blocking: bool
    ) -> DynamicFilter:
        """Add a filter and begin to collect its reports."""
        made = DynamicFilter(checked_name(id, "filter"), columns, blocking=blocking)
        merger = FilterMerger(
            made,
            expected,
            broadcast=broadcast,
            limits=self._limits,
            fit=lambda merged: _cover(merged, lambda size: self.memory.fits(id, size)),
        )
        with self._lock:
            if self.state is not QueryState.RUNNING:
                raise NotRegistered(
                    f"query {self.id!r} has ended and takes no more filters; register it again with a higher attempt"
                )
            if id in self._filters:
                raise InvalidFilter(f"query {self.id!r} has a filter {id!r} already; give this one another name")
            self._stories.begin(id, self._clock())
            self._filters[id] = made, merger
        made.subscribe(lambda state: self._on_state(id, state))
        self._set.add(made)
        return made

    def find(self, id: str) -> tuple[DynamicFilter, FilterMerger]:
        """Return a filter and its merger."""
        with self._lock:
            if (found := self._filters.get(id)) is None:
                raise NotRegistered(f"query {self.id!r} has no filter {id[:60]!r}; /v1/queries lists its filters")
            return found

    def expect(self, id: str, partitions: int) -> None:
        """Set the number of partitions of a filter that was added without it."""
        self.find(id)[1].expect(partitions)

    def subscribe(self, id: str, listener: Callable[[Snapshot], None]) -> None:
        """Call ``listener`` exactly once, when the filter is complete: at once if it is, with ALL if the query ends."""

        def when_complete(state: Snapshot) -> None:
            if state.is_complete:
                listener(state)

        self.find(id)[0].subscribe(when_complete)

    def wait(self, ids: Collection[str], timeout: float | None = None) -> bool:
        """Wait for some filters, at most ``timeout`` seconds in total; return whether all are complete."""
        wanted = [self.find(name)[0] for name in ids]
        deadline = None if timeout is None else time.monotonic() + timeout
        for awaited in wanted:
            awaited.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return all(awaited.is_complete for awaited in wanted)

    def report(self, id: str, partition: int, domain: TupleDomain) -> Outcome:
        """Add the domain of one partition; the last one publishes the filter."""
        _, merger = self.find(id)
        return self._within_memory(id, domain, lambda cover: merger.report(partition, cover))

    def publish(self, id: str, domain: TupleDomain) -> Outcome:
        """Complete a filter at once."""
        _, merger = self.find(id)
        return self._within_memory(id, domain, merger.finish)

    def narrow(self, id: str, domain: TupleDomain) -> Outcome:
        """Narrow a filter that may narrow again."""
        made, _ = self.find(id)
        return self._within_memory(id, domain, lambda cover: not made.is_complete and made.update(cover) is not None)

    def record(self, message: EventsMessage) -> Outcome:
        """Record what an executor reports of its filters."""
        return Outcome.ACCEPTED if self._stories.record(message, self._clock()) else Outcome.REPEATED

    def freeze(self, state: QueryState) -> int:
        """Publish nothing more of this attempt, and return its last version."""
        with self._lock:
            self.state = state
        return self._set.close()

    def release(self) -> None:
        """Free the memory and release the waiters: filters that are still open complete with ALL."""
        with self._lock:
            filters = list(self._filters.values())
        for _, merger in filters:
            merger.finish(TupleDomain.all())
        self.memory.clear()

    def story(self) -> QueryStory:
        """Return the story of the query, without the values of its filters."""
        with self._lock:
            filters = list(self._filters.values())
        return QueryStory(
            query=self.id,
            attempt=self.attempt,
            state=self.state,
            version=self.version,
            registered=self.registered,
            memory_bytes=self.memory.used,
            memory_peak_bytes=self.memory.peak,
            filters=[self._filter_story(made, merger) for made, merger in filters],
        )

    def _filter_story(self, made: DynamicFilter, merger: FilterMerger) -> FilterStory:
        state = made.snapshot()
        domains = state.domain.domains
        return FilterStory(
            id=made.id,
            columns=sorted(made.columns),
            version=state.version,
            complete=state.is_complete,
            none=state.domain.is_none,
            kinds={} if domains is None else {name: column.kind.value for name, column in sorted(domains.items())},
            bytes=state.domain.nbytes,
            expected=merger.expected,
            reported=merger.reported,
            events=self._stories.events(made.id),
        )

    def _within_memory(self, id: str, domain: TupleDomain, take: Callable[[TupleDomain], bool]) -> Outcome:
        """Pass on the narrowest cover of the domain that fits into memory; ALL always does."""
        arrived, (made, _) = self._clock(), self.find(id)
        cover = _cover(domain.only(made.columns), self.memory.reserve)
        try:
            taken = take(cover)
        finally:
            self.memory.release(cover.nbytes)
            self._settle(id)
        if taken:
            self._stories.report(id, arrived)
        return Outcome.ACCEPTED if taken else Outcome.REPEATED

    def _on_state(self, id: str, state: Snapshot) -> None:
        if not state.is_complete or self.state is not QueryState.RUNNING:
            return
        self._stories.publish(id, self._clock())
        self.find(id)[1].finish(state.domain)  # its owner may have completed the filter without the merger
        self._settle(id)

    def _settle(self, id: str) -> None:
        made, merger = self.find(id)
        self.memory.settle(id, lambda: merger.nbytes + made.current().nbytes)


def _cover(domain: TupleDomain, has_room: Callable[[int], bool]) -> TupleDomain:
    """Return the narrowest of the domain, its range and ALL that fits into memory; ALL always does."""
    if has_room(domain.nbytes):
        return domain
    ranged = domain.simplify(1)
    return ranged if has_room(ranged.nbytes) else TupleDomain.all()
