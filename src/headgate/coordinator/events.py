"""Keep the story of each filter: when it was asked for, collected, published, received and first applied, and to what.

Times are the coordinator's own clock; what executors send has no times in it, since their clocks differ. Executors send
numbered messages, and a message that comes twice is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Literal

import msgspec

from headgate.coordinator.stories import FilterEvents

MAX_CONSUMERS = 20_000  # more names than that are counted together, so that nobody can fill the memory with names
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.:-]{1,200}$")]


class FilterEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one executor says of one filter: that it has it, or what it removed with it since it last said so."""

    filter: Name
    event: Literal["received", "applied"]
    files: Count = 0
    row_groups: Count = msgspec.field(default=0, name="rowGroups")
    rows: Count = 0


class EventsMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of an executor: who it is, the number of the message, and what happened."""

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

    def shown(self) -> FilterEvents:
        """Return the story as `/v1/queries` shows it."""
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

    def ask(self, filter_id: str, now: float) -> None:
        """Begin the story of a filter."""
        with self._lock:
            self._stories[filter_id] = Story(asked=now)

    def collect(self, filter_id: str, arrived: float) -> None:
        """Note when a report that was taken had come in; the last one is the one that counts."""
        with self._lock:
            story = self._stories[filter_id]
            story.collected = arrived if story.collected is None else max(arrived, story.collected)

    def publish(self, filter_id: str, now: float) -> None:
        """Note that the filter is complete."""
        with self._lock:
            self._stories[filter_id].published = now

    def hear(self, message: EventsMessage, now: float) -> bool:
        """Take a message of an executor; False when it was heard before. Filters that are not known are left out."""
        with self._lock:
            name = message.consumer
            if message.sequence <= self._sequences.get(name, -1):
                return False
            if name in self._sequences or len(self._sequences) < MAX_CONSUMERS:
                self._sequences[name] = message.sequence
            for event in message.events:
                if (story := self._stories.get(event.filter)) is not None:
                    self._tell(story, name, event, now)
            return True

    def events(self, filter_id: str) -> FilterEvents:
        """Return what happened to one filter."""
        with self._lock:
            return self._stories[filter_id].shown()

    def _tell(self, story: Story, consumer: str, event: FilterEvent, now: float) -> None:
        if consumer not in story.consumers and len(story.consumers) < MAX_CONSUMERS:
            story.consumers.add(consumer)
            story.received = now if story.received is None else story.received
            story.last_received = now
        if event.event == "applied":
            story.applied = now if story.applied is None else story.applied
            story.files += event.files
            story.row_groups += event.row_groups
            story.rows += event.rows
