"""Say which of several filters of one scan narrow it, and how wide a filter has to be to fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.config import Settings
from headgate.domain import Domain
from headgate.journey.scans import Scans
from headgate.prune import ScanVerdict


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What one filter says of one column of a scan."""

    filter: str
    column: int
    domain: Domain | None


def effective(
    scans: Scans, scan: int, narrowings: Sequence[Narrowing], verdict: ScanVerdict, tested: set[int]
) -> set[str]:
    """Return the filters that narrow a scan: by a row test of their own column, or by what they remove of its files."""
    names = {column.id: column.name for column in scans.nodes[scan].output}
    able = [held for held in narrowings if held.domain is not None and not held.domain.is_all]
    found = {held.filter for held in able if held.column in tested}
    if not verdict.removes_something:
        return found
    if len({held.filter for held in able}) > 1:
        alone = [(held.filter, {names[held.column]: held.domain}) for held in able if held.filter not in found]
        found |= {name for name, domains in alone if scans.prune(scan, domains).removes_something}  # type: ignore[arg-type]
    return found or {held.filter for held in able}  # some remove only together what none removes alone


def within_memory(domain: Domain, held: int, settings: Settings) -> Domain:
    """Return the narrowest of a domain, its range and ALL that fits beside the bytes that a query holds already."""
    room = settings.memory_limit - held
    if domain.nbytes <= room:
        return domain
    ranged = domain.simplify(1)
    if settings.range_filters and ranged.nbytes <= room:
        return ranged
    return Domain.all(domain.type)
