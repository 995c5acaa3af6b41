"""Turn the domain of a build column into the domain of a probe column that is compared with it.

    build holds {3, 7}      probe =  build  ->  {3, 7}         probe <=> build  ->  {3, 7} or NULL
                            probe <  build  ->  below 7        probe >   build  ->  above 3
                            probe <= build  ->  7 and below    probe >=  build  ->  3 and above

A probe row matters when it matches some build row, so ``<`` needs only the largest build value and ``>`` the smallest.
Soundness: NULL compares with nothing, and only ``<=>`` admits it. NaN is above every number, as in Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.domain.coerce import coerce
from headgate.domain.domain import Domain
from headgate.domain.intervals import Intervals, up_from, up_to
from headgate.domain.tuples import TupleDomain
from headgate.domain.types import ValueType
from headgate.domain.values import from_intervals, is_empty, is_full
from headgate.errors import InvalidFilter

COMPARISONS = ("=", "<=>", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One clause of a join, ``probe op build``; ``stored`` is the probe column's own type if the clause casts it."""

    probe: Any
    op: str
    build: Any
    stored: ValueType | None = None


def applied(op: str, domain: Domain) -> Domain:
    """Return the probe values for which ``probe op build`` may hold, where ``domain`` holds the build values.

    >>> applied("<", Domain.of("int", [3, 7])) == Domain.range("int", high=7, high_inclusive=False)
    True
    """
    if op not in COMPARISONS:
        raise InvalidFilter(f"unknown comparison {op!r}; expected one of {', '.join(COMPARISONS)}")
    if op in ("=", "<=>") or is_empty(domain.values) or is_full(domain.values):
        return domain.with_null(op == "<=>")
    return Domain(from_intervals(domain.type, _reach(op, domain.span().values.intervals())))


def onto_probe(comparisons: Iterable[Comparison], build: Mapping[Any, Domain]) -> TupleDomain:
    """Return what all clauses together let through on the probe side, given the domains of the build columns.

    Each build column is applied on its own, before anything is combined: a column that is NULL in every build row
    matches under ``<=>``, and must not make the others impossible. A clause whose build column has no domain, or whose
    cast is lossy, lets everything through.
    """
    probe: dict[Any, Domain] = {}
    for clause in comparisons:
        if (domain := build.get(clause.build)) is None:
            continue
        allowed: Domain | None = applied(clause.op, domain)
        if allowed is not None and clause.stored is not None:
            allowed = coerce(allowed, clause.stored)
        if allowed is not None:
            probe[clause.probe] = probe[clause.probe] & allowed if clause.probe in probe else allowed
    return TupleDomain(probe)


def _reach(op: str, span: Intervals) -> Intervals:
    if op in ("<", "<="):
        return up_to(span.type, span.highs[0], inclusive=op == "<=")
    return up_from(span.type, span.lows[0], inclusive=op == ">=")
