"""Record the story of each filter: when it was requested, collected, published, received and applied, and its effect.

Times are those of the coordinator's clock; executors send none, since their clocks differ. Executors number their
messages, so a message that arrives twice counts once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Literal

import msgspec

from headgate.coordinator.stories import FilterEvents

MAX_CONSUMERS = 20_000  # further names are not remembered, so that nobody can fill the memory with names
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.:-]{1,200}$")]


class FilterEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one executor reports of one filter: that it has it, or what it removed with it since its last report."""

    filter: Name
    event: Literal["received", "applied"]
    files: Count = 0
    row_groups: Count = msgspec.field(default=0, name="rowGroups")
    rows: Count = 0


class EventsMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of an executor: its name, the number of the message, and the events."""

    consumer: Name
    sequence: Count
    events: Annotated[list[FilterEvent], msgspec.Meta(max_length=1_000)]
    attempt: Count = 0


@dataclass(slots=True)
class Story:
    """What happened to one filter; a time is None until it has happened."""

    asked: float
    collected: float | None = None
    published: float | None = None
    received: float | None = None
    last_received: float | None = None
    applied: float | None = None
    consumers: set[str] = field(default_factory=set)
    files: int = 0
    row_groups: int = 0
    rows: int = 0

    def to_events(self) -> FilterEvents:
        """Return the story in the form of `/v1/queries`."""
        return FilterEvents(
            asked=self.asked,
            collected=self.published if self.collected is None else self.collected,
            published=self.published,
            received=self.received,
            last_received=self.last_received,
            applied=self.applied,
            receivers=len(self.consumers),
            files=self.files,
            row_groups=self.row_groups,
            rows=self.rows,
        )


class StoryBook:
    """The stories of one query's filters. Thread-safe."""

    def __init__(self) -> None:
        self._stories: dict[str, Story] = {}
        self._sequences: dict[str, int] = {}
        self._lock = Lock()

    def begin(self, filter_id: str, now: float) -> None:
        """Begin the story of a filter."""
        with self._lock:
            self._stories[filter_id] = Story(asked=now)

    def report(self, filter_id: str, arrived: float) -> None:
        """Record when an accepted report arrived; the filter is collected with the last one."""
        with self._lock:
            story = self._stories[filter_id]
            story.collected = arrived if story.collected is None else max(arrived, story.collected)

    def publish(self, filter_id: str, now: float) -> None:
        """Record that the filter is complete."""
        with self._lock:
            self._stories[filter_id].published = now

    def record(self, message: EventsMessage, now: float) -> bool:
        """Record a message of an executor; return False for a repeat. Unknown filters are ignored."""
        with self._lock:
            name = message.consumer
            if message.sequence <= self._sequences.get(name, -1):
                return False
            if name in self._sequences or len(self._sequences) < MAX_CONSUMERS:
                self._sequences[name] = message.sequence
            for event in message.events:
                if (story := self._stories.get(event.filter)) is not None:
                    self._add(story, name, event, now)
            return True

    def events(self, filter_id: str) -> FilterEvents:
        """Return what happened to one filter."""
        with self._lock:
            return self._stories[filter_id].to_events()

    def _add(self, story: Story, consumer: str, event: FilterEvent, now: float) -> None:
        if consumer not in story.consumers and len(story.consumers) < MAX_CONSUMERS:
            story.consumers.add(consumer)
            story.received = now if story.received is None else story.received
            story.last_received = now
        if event.event == "applied":
            story.applied = now if story.applied is None else story.applied
            story.files += event.files
            story.row_groups += event.row_groups
            story.rows += event.rows
