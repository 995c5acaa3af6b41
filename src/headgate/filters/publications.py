"""What people publish, by name: queries find the filter of a marked column here, as long as its publisher is held."""

from __future__ import annotations

from weakref import WeakValueDictionary

from headgate.filters.column_filter import ColumnFilter

_PUBLISHED: WeakValueDictionary[str, ColumnFilter] = WeakValueDictionary()


def announce(filter: ColumnFilter) -> None:
    """Let queries find a filter by its id."""
    _PUBLISHED[filter.id] = filter


def published(id: str) -> ColumnFilter | None:
    """Return the filter of that id, or None where whoever published it has let go of it."""
    return _PUBLISHED.get(id)
