"""Filter one column dynamically: a build, a tap or a person publishes values of one type to a `ColumnFilter`.

    publisher:  update(domain) … complete(domain)        consumer:  domain() -> Domain of the column's type

It is a `DynamicFilter` with one column, so it only narrows, and is ALL until something is known.
"""

from __future__ import annotations

from headgate.domain import Domain, TupleDomain, ValueType
from headgate.filters.dynamic_filter import DynamicFilter

COLUMN = "value"


class ColumnFilter(DynamicFilter):
    """The values that one column may take, as far as its publisher has said."""

    def __init__(self, id: str, type: ValueType, *, blocking: bool = True) -> None:
        super().__init__(id, [COLUMN], blocking=blocking)
        self.type = type

    def domain(self) -> Domain:
        """Return the values that may matter as of now; all values before anything is published."""
        return column_domain(self.current(), self.type)

    def narrow_to(self, domain: Domain) -> None:
        """Publish that only these values matter; fewer may matter later."""
        self.update(TupleDomain({COLUMN: domain}))

    def complete_with(self, domain: Domain) -> None:
        """Publish the final domain of the column."""
        self.complete(TupleDomain({COLUMN: domain}))


def column_domain(state: TupleDomain, type: ValueType) -> Domain:
    """Return the domain of the column from the state of its filter."""
    if state.is_none:
        return Domain.none(type)
    return state.find(COLUMN) or Domain.all(type)
