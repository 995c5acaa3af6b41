"""Plan the filters that come while the query runs: which scans get a gate, and which build sides a tap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from headgate.catalyst.wire import LateGate, ScanEdit, Tap, TapFilter
from headgate.config import Settings
from headgate.domain import Limits
from headgate.plan import Consumer, PlannedFilter, QueryPlan
from headgate.plan.kinds import Feed
from headgate.plan.nodes import Join
from headgate.plan.taps import WHOLE_NUMBERS, shuffle_keys
from headgate.query.scans import Scans


@dataclass(frozen=True, slots=True)
class LateFilter:
    """One filter as the scans of one column type see it; ``number`` is what tasks count it under."""

    id: str
    number: int
    planned: PlannedFilter
    type: str
    consumers: tuple[Consumer, ...]


def late_filters(awaited: Sequence[PlannedFilter], scans: Scans, kept: frozenset[int]) -> list[LateFilter]:
    """Return the filters that can still come to some scan, one for each type of column; ``kept`` is scanned no more."""
    found: list[LateFilter] = []
    for planned in awaited:
        by_type: dict[str, list[Consumer]] = {}
        for consumer in planned.consumers:
            column = scans.nodes[consumer.scan].find_column(consumer.column)
            assert column is not None
            if consumer.scan not in kept and column.type in WHOLE_NUMBERS and scans.can_gate(consumer.scan):
                by_type.setdefault(column.type, []).append(consumer)
        for type_name, consumers in by_type.items():
            name = planned.id if len(by_type) == 1 else f"{planned.id}.{type_name}"
            found.append(LateFilter(name, len(found), planned, type_name, tuple(consumers)))
    return found


def gated(
    scans: dict[int, ScanEdit], filters: Sequence[LateFilter], plan: QueryPlan, settings: Settings, broadcast: int
) -> dict[int, ScanEdit]:
    """Return the edits of scans with gates for the late filters."""
    gates: dict[int, list[LateGate]] = {}
    shown: dict[int, list[str]] = {}
    for late in filters:
        build_bytes = plan.node(late.planned.build).scanned_bytes()
        for to in late.consumers:
            # rows are tested only where something dear lies between scan and join
            moved = to.by_rows or to.shuffles > 0 or build_bytes > broadcast
            gate = LateGate(id=late.id, number=late.number, column=to.column, rows=moved and settings.filter_rows)
            gates.setdefault(to.scan, []).append(gate)
            shown.setdefault(to.scan, []).append(f"{late.planned.title}, late")
    bare = ScanEdit()
    with_gates = {
        scan: msgspec.structs.replace(edit, late=late, shown=list(dict.fromkeys([*edit.shown, *shown[scan]])))
        for scan, late in gates.items()
        for edit in (scans.get(scan, bare),)
    }
    return {**scans, **with_gates}


def taps(awaited: Sequence[PlannedFilter], plan: QueryPlan, limits: Limits) -> dict[int, Tap]:
    """Return the taps to put on build sides, by join."""
    nodes, found = plan.nodes(), dict[int, Tap]()
    for planned in awaited:
        if planned.feed is not Feed.TAP:
            continue
        join, side = nodes[planned.join], nodes[planned.build]
        assert isinstance(join, Join)
        tap = found.get(join.id) or Tap(
            side=0 if join.left.id == side.id else 1,
            max_distinct=limits.max_distinct,
            max_bytes=limits.max_bytes,
            keys=[column.id for column in shuffle_keys(join, side)],
            filters=[],
        )
        tap.filters.append(TapFilter(id=planned.id, column=planned.build_column))
        found[join.id] = tap
    return found
