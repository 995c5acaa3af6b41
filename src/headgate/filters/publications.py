"""Find published filters by id: queries look up marked columns here, as long as the publisher is referenced."""

from __future__ import annotations

from weakref import WeakValueDictionary

from headgate.filters.column_filter import ColumnFilter

_PUBLISHED: WeakValueDictionary[str, ColumnFilter] = WeakValueDictionary()


def announce(filter: ColumnFilter) -> None:
    """Make a filter available to queries by its id."""
    _PUBLISHED[filter.id] = filter


def published(id: str) -> ColumnFilter | None:
    """Return the filter of that id, or None if its publisher is gone."""
    return _PUBLISHED.get(id)
