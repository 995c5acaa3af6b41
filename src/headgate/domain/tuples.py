"""Say which rows may match: `TupleDomain` = one domain per column, all of which a row must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from headgate.domain.constructors import union_all
from headgate.domain.domain import Domain, Kind, describe
from headgate.errors import InvalidFilter


class TupleDomain:
    """A conjunction of domains by column. No column constrained is ALL; one column impossible is NONE.

    Immutable. ``a & b`` matches what both match. ``domains`` is None for NONE.

    >>> TupleDomain({"k": Domain.of("bigint", [1, 2])}) & TupleDomain({"k": Domain.of("bigint", [2, 3])})
    TupleDomain(k: = 2)
    """

    __slots__ = ("_domains",)

    def __init__(self, domains: Mapping[Any, Domain]) -> None:
        for column, domain in domains.items():
            if not isinstance(domain, Domain):
                raise InvalidFilter(f"column {column!r} needs a Domain, got {domain!r}")
        kept = {column: domain for column, domain in domains.items() if not domain.is_all}
        self._domains: dict[Any, Domain] | None = None if any(d.is_none for d in kept.values()) else kept

    @classmethod
    def all(cls) -> TupleDomain:
        """Every row matches."""
        return cls({})

    @classmethod
    def none(cls) -> TupleDomain:
        """No row matches."""
        nothing = cls({})
        nothing._domains = None
        return nothing

    @property
    def is_none(self) -> bool:
        """Whether no row matches."""
        return self._domains is None

    @property
    def is_all(self) -> bool:
        """Whether every row matches."""
        return self._domains == {}

    @property
    def domains(self) -> Mapping[Any, Domain] | None:
        """The domains by column, or None for NONE."""
        return None if self._domains is None else dict(self._domains)

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        return sum(domain.nbytes for domain in (self._domains or {}).values())

    def find(self, column: Any) -> Domain | None:
        """Return the domain of a column, or None if the column is not constrained (or nothing matches)."""
        return None if self._domains is None else self._domains.get(column)

    def contains(self, row: Mapping[Any, Any]) -> bool:
        """Whether a row, given as column to value, matches."""
        if self._domains is None:
            return False
        return all(row[column] in domain for column, domain in self._domains.items())

    def fixed_values(self) -> dict[Any, Any]:
        """Return the columns that can only take one value, with that value; a column that must be NULL has None."""
        fixed: dict[Any, Any] = {}
        for column, domain in (self._domains or {}).items():
            if domain.kind is Kind.ONLY_NULL:
                fixed[column] = None
            elif domain.count() == 1 and not domain.null_allowed:
                fixed[column] = domain.listed()[0]
        return fixed

    def only(self, columns: Collection[Any]) -> TupleDomain:
        """Return the constraints on some columns; NONE stays NONE."""
        if self._domains is None:
            return self
        return TupleDomain({column: domain for column, domain in self._domains.items() if column in columns})

    def covers(self, other: TupleDomain) -> bool:
        """Whether every row that matches ``other`` is sure to match this one too."""
        if self._domains is None or other._domains is None:
            return other._domains is None
        theirs = other._domains
        return all(column in theirs and domain.covers(theirs[column]) for column, domain in self._domains.items())

    def __and__(self, other: TupleDomain) -> TupleDomain:
        if self._domains is None or other._domains is None:
            return TupleDomain.none()
        merged = dict(self._domains)
        for column, domain in other._domains.items():
            merged[column] = merged[column] & domain if column in merged else domain
        return TupleDomain(merged)

    def transform_keys(self, rename: Callable[[Any], Any]) -> TupleDomain:
        """Return the same domains under other keys; a key that becomes None is dropped, and two may not become one."""
        if self._domains is None:
            return self
        renamed: dict[Any, Domain] = {}
        for column, domain in self._domains.items():
            if (key := rename(column)) is None:
                continue
            if key in renamed:
                raise InvalidFilter(f"two columns cannot both become {key!r}; give each a key of its own")
            renamed[key] = domain
        return TupleDomain(renamed)

    def simplify(self, max_ranges: int) -> TupleDomain:
        """Return a cover with at most ``max_ranges`` ranges in each column."""
        if self._domains is None:
            return self
        return TupleDomain({column: domain.simplify(max_ranges) for column, domain in self._domains.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TupleDomain):
            return NotImplemented
        return self._domains == other._domains

    def __hash__(self) -> int:
        return hash(None if self._domains is None else frozenset(self._domains.items()))

    def __repr__(self) -> str:
        if self._domains is None:
            return "TupleDomain(none)"
        inner = ", ".join(f"{column}: {describe(domain)}" for column, domain in self._domains.items())
        return f"TupleDomain({inner or 'all'})"


def column_wise_union(parts: Sequence[TupleDomain]) -> TupleDomain:
    """Return a cover of what any part matches: the union by column, of the columns that all parts constrain."""
    filled = [part._domains for part in parts if part._domains is not None]
    if not filled:
        return TupleDomain.none()
    shared = set(filled[0]).intersection(*filled[1:])
    return TupleDomain({c: union_all([part[c] for part in filled]) for c in filled[0] if c in shared})


def strict_union(parts: Sequence[TupleDomain]) -> TupleDomain | None:
    """Return exactly what any part matches, or None where no tuple domain says exactly that.

    There is one if a part covers all others, or if the parts differ in one exact column only.
    """
    filled = [part for part in parts if not part.is_none]
    if not filled:
        return TupleDomain.none()
    for part in filled:
        if all(part.covers(other) for other in filled):
            return part
    domains = [part.domains or {} for part in filled]
    if any(domains[0].keys() != other.keys() for other in domains):
        return None
    differing = [c for c in domains[0] if any(other[c] != domains[0][c] for other in domains)]
    if len(differing) != 1 or not all(other[differing[0]].is_exact for other in domains):
        return None
    return column_wise_union(filled)


def as_predicate(domain: TupleDomain) -> Callable[[Mapping[Any, Any]], bool]:
    """Return a test of rows with some columns known, such as partition values; the other columns may match."""
    domains = domain.domains

    def may_match(row: Mapping[Any, Any]) -> bool:
        return domains is not None and all(row[name] in column for name, column in domains.items() if name in row)

    return may_match
