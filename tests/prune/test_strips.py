"""Strips of a scan under late filters: each file and row group in its place, and only what was closed is unread."""

from __future__ import annotations

from pathlib import Path

from headgate.domain import Domain
from headgate.prune import ScanVerdict, prune_scan
from headgate.prune.strips import WHOLE_FILE, Strips, late_strips
from headgate.tables import ParquetLayout
from tests.prune.test_scan import _layout


def four_files(folder: Path) -> ParquetLayout:
    """Four files of three row groups each, keys rising."""
    return _layout(folder, [list(range(i * 30, i * 30 + 30)) for i in range(4)])


def whole() -> ScanVerdict:
    return ScanVerdict([0, 1, 2, 3], {}, 4, 12, 12, 100, 100, (12,), looked_into=range(4))


def test_nothing_closed(tmp_path: Path) -> None:
    assert late_strips(whole(), four_files(tmp_path), {}) == Strips((4,), (12,))


def test_a_file_and_two_row_groups_of_another(tmp_path: Path) -> None:
    layout = four_files(tmp_path)
    starts = layout.statistics([2], []).starts
    closed = {layout.files[1].path: [WHOLE_FILE], layout.files[2].path: starts[1:]}
    assert late_strips(whole(), layout, closed) == Strips((1, 1, 2), (3, 3, 1, 2, 3))


def test_planning_and_late_filters_add_up(tmp_path: Path) -> None:
    """Planning leaves the last two files, the first of them without its first row group; the last is closed late."""
    layout = four_files(tmp_path)
    verdict = prune_scan({"k": Domain.range("bigint", 70, 119)}, layout)
    assert (verdict.keep, verdict.group_runs) == ([2, 3], (0, 7, 5))
    closed = {layout.files[3].path: [WHOLE_FILE, *layout.statistics([3], []).starts]}
    assert late_strips(verdict, layout, closed) == Strips((0, 2, 1, 1), (0, 7, 2, 3))


def test_a_file_that_was_not_listed_is_passed_over(tmp_path: Path) -> None:
    assert late_strips(whole(), four_files(tmp_path), {"file:/elsewhere": [WHOLE_FILE]}) == Strips((4,), (12,))


def test_row_groups_that_nobody_counted(tmp_path: Path) -> None:
    layout = four_files(tmp_path)
    uncounted = ScanVerdict([0, 1, 2, 3], {}, 4, 0, 0, 100, 100)
    assert late_strips(uncounted, layout, {layout.files[0].path: [WHOLE_FILE]}) == Strips((0, 1, 3))
