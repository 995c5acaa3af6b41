"""Short names for the domains that these tests report."""

from __future__ import annotations

from headgate.domain import Domain, TupleDomain


def ids(*values: int) -> TupleDomain:
    return TupleDomain({"k": Domain.of("bigint", values)})


def span(low: int, high: int) -> TupleDomain:
    return TupleDomain({"k": Domain.range("bigint", low, high)})
