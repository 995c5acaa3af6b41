"""Find published filters by id: queries look up marked columns here, as long as the publisher is referenced."""

from __future__ import annotations

from weakref import WeakValueDictionary

from headgate.domain import ValueType
from headgate.filters.column_filter import ColumnFilter


class Publication(ColumnFilter):
    """A filter that a person publishes to; ``tests_rows`` is False where the query itself tests each row."""

    def __init__(self, id: str, type: ValueType, *, tests_rows: bool = True) -> None:
        super().__init__(id, type, blocking=False)
        self.tests_rows = tests_rows


_PUBLISHED: WeakValueDictionary[str, Publication] = WeakValueDictionary()


def announce(filter: Publication) -> None:
    """Make a filter available to queries by its id."""
    _PUBLISHED[filter.id] = filter


def published(id: str) -> Publication | None:
    """Return the filter of that id, or None if its publisher is gone."""
    return _PUBLISHED.get(id)
