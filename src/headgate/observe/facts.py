"""What is known of one query when its report is asked for: what planning, builds and late filters leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.catalyst.wire import Unread
from headgate.domain import Domain
from headgate.observe.report import LateReport
from headgate.plan import PlannedFilter, QueryPlan
from headgate.prune import ScanVerdict
from headgate.prune.strips import Strips


@dataclass(frozen=True, slots=True)
class FilterFacts:
    """What became of one filter: the values that arrived (None: none did), how long that took, and what went wrong.

    ``given_up`` says why its values never came or were not used; ``widened`` why it is wider than what was found.
    """

    planned: PlannedFilter
    domain: Domain | None = None
    collect_ms: int = 0
    given_up: str = ""
    widened: str = ""


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """What filters made of one scan: which of them narrowed it, and why others did not.

    ``verdict`` is what is left of its files, or None where only its source knows.
    """

    verdict: ScanVerdict | None
    filters: tuple[str, ...] = ()
    idle: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LateFacts:
    """What late filters did so far: the story of each, and what they left unread of each scan.

    ``places`` has the same file by file, as `LateNumbers` has it.
    """

    filters: Mapping[str, LateReport] = field(default_factory=dict)
    scans: Mapping[int, Unread] = field(default_factory=dict)
    places: Mapping[int, Mapping[str, Sequence[int]]] | None = None


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """All that is known of one query.

    ``narrowed`` has the scans that filters were tried on, ``whole`` the scans whose files were listed, as they are
    without filters. ``kept`` are the scans in build sides whose rows are in the plan. ``late`` is None for a query
    that waited for all of its filters, and ``strips`` are the scans that late filters narrow, file by file.
    """

    plan: QueryPlan
    filters: Mapping[str, FilterFacts]
    narrowed: Mapping[int, ScanFacts]
    whole: Mapping[int, ScanVerdict]
    kept: frozenset[int] = frozenset()
    only_reported: bool = False
    plan_ms: float = 0.0
    build_ms: float = 0.0
    late: LateFacts | None = None
    strips: Mapping[int, Strips] = field(default_factory=dict)
