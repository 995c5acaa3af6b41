"""Narrow one scan by the filters that have arrived: domains and scan in, edit and verdict out. Nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from headgate.catalyst.predicates import (
    range_predicate,
    reader_predicate,
    row_predicate,
    source_predicate,
    told_row_predicate,
)
from headgate.catalyst.wire import Predicate, ScanEdit
from headgate.config import Settings
from headgate.domain import Domain, coerce, value_type
from headgate.observe import ScanFacts
from headgate.plan import Consumer
from headgate.plan.kinds import Can
from headgate.plan.nodes import Scan
from headgate.prune import ScanVerdict
from headgate.query.row_cost import RowFilterCost
from headgate.query.scans import Scans
from headgate.query.schedule import Arrived

# where nearly everything is read, testing each row costs more than it saves
_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A scan under its filters: how to edit it (None: nothing is gained), and what is left of it."""

    edit: ScanEdit | None
    facts: ScanFacts


@dataclass(frozen=True, slots=True)
class _Stored:
    """What one filter says of the values that a scan column stores; None where it says nothing."""

    filter: str
    consumer: Consumer
    domain: Domain | None

    @property
    def narrows(self) -> bool:
        return self.domain is not None and not self.domain.is_all


def narrowed(
    scan: int, arrived: Sequence[Arrived], scans: Scans, cost: RowFilterCost, settings: Settings, *, exact: bool
) -> Narrowed | None:
    """Return a scan under the filters that have arrived for it; None where none of them says anything.

    ``exact`` tests every row, so that a build side gives only the keys that can still matter.
    """
    stored = [_stored(one, scans) for one in arrived]
    columns = _by_column(stored)
    if not columns:
        return None
    if scans.nodes[scan].is_told:
        return _told(scan, arrived, stored, columns, scans, cost, settings, exact=exact)
    verdict = scans.prune(scan, _named(scan, columns, scans))
    shuffled = {one.consumer.column for one in arrived if one.consumer.shuffles or not one.has_rows}
    by_rows = _columns_by_rows(arrived, cost)
    tested_above = {one.consumer.column for one in arrived if one.for_reader}
    tests = _tests(columns, verdict, shuffled, by_rows, tested_above, settings, exact=exact)
    if scans.nodes[scan].tells_its_reader:
        tests = [test for test in tests if not test.for_reader] + _told_to_reader(scan, columns, verdict, scans)
    used = _used(scan, stored, verdict, {test.column for test in tests}, scans)
    facts = ScanFacts(verdict, tuple(used), _idle(stored, verdict, used))
    if not verdict.removes_something and not tests:
        return Narrowed(None, facts)
    keep = verdict.keep if verdict.removes_something else None
    edit = ScanEdit(
        keep=keep,
        row_groups=dict(verdict.row_groups),
        filters=tests,
        shown=list(dict.fromkeys(one.planned.title for one in arrived if one.planned.id in used)),
        unread_groups=verdict.unread_groups,
    )
    return Narrowed(edit, facts)


def _told_to_reader(scan: int, columns: Mapping[int, Domain], verdict: ScanVerdict, scans: Scans) -> list[Predicate]:
    """Return the ranges that the reader of the files that are left skips parts of them by."""
    found = [
        source_predicate(column, domain)
        for column, domain in columns.items()
        if scans.may_tell(scan, column, verdict.keep)
    ]
    return [replace(test, for_reader=True) for test in found if test is not None]


def _told(
    scan: int,
    arrived: Sequence[Arrived],
    stored: Sequence[_Stored],
    columns: Mapping[int, Domain],
    scans: Scans,
    cost: RowFilterCost,
    settings: Settings,
    *,
    exact: bool,
) -> Narrowed:
    """Narrow a scan whose files are its own: it is told ranges, and rows are tested where that spares a shuffle."""
    node = scans.nodes[scan]
    by_rows = _columns_by_rows(arrived, cost)
    tests = []
    takes_ranges = Can.RANGES in node.can
    test_rows = told_row_predicate if takes_ranges else row_predicate
    for column, domain in columns.items():
        if takes_ranges:
            tests.append(source_predicate(column, domain))
        if settings.filter_rows and (exact or column in by_rows):
            tests.append(test_rows(column, domain))
    found = [test for test in tests if test is not None]
    told = {test.column for test in found}
    used = list(dict.fromkeys(one.filter for one in stored if one.narrows and one.consumer.column in told))
    idle = {one.filter: _why_not_told(node) for one in stored if one.filter not in used}
    return Narrowed(ScanEdit(filters=found) if found else None, ScanFacts(None, tuple(used), idle))


def _why_not_told(scan: Scan) -> str:
    if Can.RANGES in scan.can:
        return f"{scan.format} may order such values otherwise than Spark does, so it is not asked to skip by them"
    return f"{scan.format} files have no statistics to skip anything by, and dropping rows early would not pay"


def _columns_by_rows(arrived: Sequence[Arrived], cost: RowFilterCost) -> set[int]:
    return {
        one.consumer.column
        for one in arrived
        if one.consumer.by_rows and cost.keeps_few(one.planned, one.domain.count(), one.consumer)
    }


def column_domains(scan: int, arrived: Sequence[Arrived], scans: Scans) -> Mapping[str, Domain]:
    """Return what the filters that have arrived say of the columns of a scan, by name."""
    return _named(scan, _by_column([_stored(one, scans) for one in arrived]), scans)


def _stored(arrived: Arrived, scans: Scans) -> _Stored:
    column = scans.nodes[arrived.consumer.scan].find_column(arrived.consumer.column)
    assert column is not None
    return _Stored(arrived.planned.id, arrived.consumer, coerce(arrived.domain, value_type(column.type)))


def _by_column(stored: Sequence[_Stored]) -> dict[int, Domain]:
    """Return what all filters together say of each column: they are ANDed."""
    columns: dict[int, Domain] = {}
    for one in stored:
        if one.narrows and one.domain is not None:
            column = one.consumer.column
            columns[column] = columns[column] & one.domain if column in columns else one.domain
    return columns


def _named(scan: int, columns: Mapping[int, Domain], scans: Scans) -> dict[str, Domain]:
    names = {column.id: column.name for column in scans.nodes[scan].output}
    return {names[column]: domain for column, domain in columns.items()}


def _tests(
    columns: Mapping[int, Domain],
    verdict: ScanVerdict,
    shuffled: set[int],
    by_rows: set[int],
    tested_above: set[int],
    settings: Settings,
    *,
    exact: bool,
) -> list[Predicate]:
    if not exact and not settings.filter_rows:
        return []
    much = verdict.removes_something and verdict.bytes_read <= _MOSTLY * verdict.bytes_total
    found = []
    for column, domain in columns.items():
        if column in tested_above and not exact:
            found.append(reader_predicate(column, domain) if much else None)
        elif exact or column in by_rows or (column in shuffled and much):
            found.append(row_predicate(column, domain))
        elif much:
            found.append(range_predicate(column, domain))
    return [predicate for predicate in found if predicate is not None]


def _used(scan: int, stored: Sequence[_Stored], verdict: ScanVerdict, tested: set[int], scans: Scans) -> list[str]:
    """Return the filters that narrow a scan: by a row test of their own column, or by what they remove of its files."""
    able = [one for one in stored if one.narrows]
    found = {one.filter for one in able if one.consumer.column in tested}
    if verdict.removes_something:
        if len({one.filter for one in able}) > 1:
            found |= {one.filter for one in able if one.filter not in found and _removes_alone(scan, one, scans)}
        found = found or {one.filter for one in able}  # some remove only together what none removes alone
    return [name for name in dict.fromkeys(one.filter for one in stored) if name in found]


def _removes_alone(scan: int, one: _Stored, scans: Scans) -> bool:
    assert one.domain is not None
    return scans.prune(scan, _named(scan, {one.consumer.column: one.domain}, scans)).removes_something


def _idle(stored: Sequence[_Stored], verdict: ScanVerdict, used: Sequence[str]) -> dict[str, str]:
    """Say why each of the other filters does not narrow the scan."""
    reasons = {}
    for one in stored:
        if one.filter in used:
            continue
        if used:
            reasons[one.filter] = "the other filters of the scan already skip everything that this one would"
            continue
        reasons[one.filter] = (
            f"the filter would skip nothing: {len(verdict.keep)} of {verdict.files_total} files may match"
        )
        if one.consumer.by_rows:
            reasons[one.filter] += ", and so may most rows"
    return reasons
