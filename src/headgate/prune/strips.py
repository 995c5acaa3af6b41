"""Say which files and row groups of a scan are read, in order, when late filters have closed some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headgate.domain.arrays import Array
from headgate.prune.scan import ScanVerdict, runs_of
from headgate.tables.layout import TableLayout

WHOLE_FILE = -1


@dataclass(frozen=True, slots=True)
class Strips:
    """Files and row groups in order: how many are read, how many are not, how many are read again, and so on."""

    files: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()


def late_strips(verdict: ScanVerdict, layout: TableLayout, closed: Mapping[str, Sequence[int]]) -> Strips:
    """Take what late filters closed from what planning left.

    ``closed`` has by path where the closed row groups of a file start, and first `WHOLE_FILE` where none of it is read.
    """
    numbers = {file.path: number for number, file in enumerate(layout.files) if file.path in closed}
    files = _mask(verdict.file_runs())
    unread = {number for path, number in numbers.items() if WHOLE_FILE in closed[path]}
    files[sorted(unread)] = False
    groups = _mask(verdict.group_runs)
    if not len(groups):
        return Strips(runs_of(files))
    statistics = layout.statistics(verdict.looked_into, [])
    if len(statistics.files) != len(groups):
        return Strips(runs_of(files))
    starts = {number: sorted(closed[path]) for path, number in numbers.items()}
    for at, (number, start, end) in enumerate(zip(statistics.files, statistics.starts, statistics.ends, strict=True)):
        if number in unread or any(start <= closing < end for closing in starts.get(number, ())):
            groups[at] = False
    return Strips(runs_of(files), runs_of(groups))


def _mask(runs: Sequence[int]) -> Array:
    return np.repeat(np.arange(len(runs)) % 2 == 0, runs)
