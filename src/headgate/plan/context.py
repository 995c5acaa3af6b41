"""What rules may ask of the world outside the plan: settings, and facts about scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from headgate.plan.nodes import QueryPlan, Scan

USEFUL_DEPTH = 0.6


class Strategy(Enum):
    """Which legal filters are applied."""

    COST = "cost"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Clustering:
    """How well the containers of a scan separate the values of one column.

    ``depth`` is the share of containers that an average one overlaps: 1/n when sorted, 1 when all are mixed.
    """

    containers: int
    depth: float
    why_not: str = ""

    @property
    def is_useful(self) -> bool:
        """Whether a filter on the column can leave containers out."""
        return not self.why_not and self.depth <= USEFUL_DEPTH


def nothing_known(scan: int, column: int) -> Clustering:
    """Say that nothing is known of a scan's files."""
    del scan, column
    return Clustering(0, 1.0, "nothing is known about the files of the scan")


def whole_files(scan: Scan) -> int:
    """Say that a scan reads all of its files."""
    return scan.bytes


@dataclass(frozen=True, slots=True)
class RuleContext:
    """One typed bag for all rules. ``bytes_left``: the bytes of a scan that its own conditions leave to be read."""

    strategy: Strategy = Strategy.COST
    broadcast_bytes: int = 10 * 1024 * 1024
    min_selectivity: float = 0.5
    max_build_share: float = 0.25
    min_scan_bytes: int = 8 * 1024 * 1024
    range_filters: bool = True
    filter_rows: bool = True
    non_blocking: bool = False
    never_waits: bool = False
    clustering: Callable[[int, int], Clustering] = nothing_known
    bytes_left: Callable[[Scan], int] = whole_files


Rule = Callable[[QueryPlan, RuleContext], QueryPlan]
