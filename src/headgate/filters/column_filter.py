"""A dynamic filter over one column: `ColumnFilter`, what a build, a tap or a person publishes values of one type into.

    publisher:  update(domain) … complete(domain)        consumer:  domain() -> Domain of the column's type

It is a `DynamicFilter` with one column, so it only narrows, and says ALL until something is known.
"""

from __future__ import annotations

from headgate.domain import Domain, TupleDomain, ValueType
from headgate.filters.dynamic_filter import DynamicFilter

COLUMN = "value"


class ColumnFilter(DynamicFilter):
    """Which values one column may take, as far as its publisher has said by now."""

    def __init__(self, id: str, type: ValueType, *, blocking: bool = True) -> None:
        super().__init__(id, [COLUMN], blocking=blocking)
        self.type = type

    def domain(self) -> Domain:
        """Return the values as they are known now; all of them before anything was published."""
        return column_domain(self.current(), self.type)

    def narrow_to(self, domain: Domain) -> None:
        """Publish that only these values matter, and perhaps fewer later."""
        self.update(TupleDomain({COLUMN: domain}))

    def complete_with(self, domain: Domain) -> None:
        """Publish the last word on the column."""
        self.complete(TupleDomain({COLUMN: domain}))


def column_domain(state: TupleDomain, type: ValueType) -> Domain:
    """Return what the state of a filter over one column says of it."""
    if state.is_none:
        return Domain.none(type)
    return state.find(COLUMN) or Domain.all(type)
