"""Against brute force over tables in memory: narrowing a scan leaves no row that matters unread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, value_type
from headgate.prune import ColumnBounds, PruneLevels, clustering_depth, prune_scan
from headgate.tables.layout import DataFile, FileStatistics
from tests.domain.strategies import models

FILE_BYTES = 1000
Row = tuple[Any, Any]


@dataclass
class Layout:
    """A table in memory: partitions by ``p``, files of row groups, rows of ``k`` and ``s``; some footers unreadable."""

    values_of_p: list[int | None]
    groups: list[list[list[Row]]]
    partition_of: list[int]
    unreadable: frozenset[int] = frozenset()

    partition_columns: Sequence[tuple[str, str]] = (("p", "int"),)

    @property
    def files(self) -> list[DataFile]:
        return [DataFile(f"f{i}", FILE_BYTES, 0, self.partition_of[i]) for i in range(len(self.groups))]

    @property
    def partitions(self) -> list[list[Any]]:
        return [[value] for value in self.values_of_p]

    def statistics(self, files: Sequence[int], columns: Sequence[tuple[str, str]]) -> FileStatistics:
        found = FileStatistics([], [], [], [], {name: ([], [], []) for name, _ in columns})
        for number in files:
            groups: list[list[Row] | None] = list(self.groups[number])
            for i, group in enumerate([None] if number in self.unreadable else groups):
                step = FILE_BYTES // max(1, len(groups))
                found.files.append(number)
                found.starts.append(0 if group is None else i * step)
                found.ends.append(FILE_BYTES if group is None else (i + 1) * step)
                found.rows.append(None if group is None else len(group))
                for name, _ in columns:
                    self._add(found.columns[name], group, name)
        return found

    estimates = statistics

    @staticmethod
    def _add(statistics: tuple[list[Any], list[Any], list[int | None]], group: list[Row] | None, name: str) -> None:
        column = None if group is None else [row[0 if name == "k" else 1] for row in group]
        kept: list[Any] = sorted(v for v in column or [] if v is not None)
        statistics[0].append(kept[0] if kept else None)
        statistics[1].append(kept[-1] if kept else None)
        statistics[2].append(None if column is None else column.count(None))

    def groups_with(self, domains: dict[str, Domain]) -> set[tuple[int, int]]:
        """The row groups, by file and number, that hold a row which satisfies every domain."""
        found = set()
        for number, groups in enumerate(self.groups):
            p = self.values_of_p[self.partition_of[number]]
            for i, group in enumerate(groups):
                for k, s in group:
                    row = {"p": p, "k": k, "s": s}
                    if all(row[column] in domain for column, domain in domains.items()):
                        found.add((number, i))
        return found


rows = st.lists(st.tuples(st.none() | st.integers(-5, 5), st.none() | st.text("ab", max_size=2)), max_size=4)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    partitions = draw(st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=3, unique=True))
    groups = draw(st.lists(st.lists(rows, min_size=1, max_size=3), max_size=4))
    where = [draw(st.integers(0, len(partitions) - 1)) for _ in groups]
    unreadable = draw(st.sets(st.integers(0, 3), max_size=2))
    return Layout(partitions, groups, where, frozenset(unreadable))


domains_by_column = st.fixed_dictionaries(
    {},
    optional={
        "p": models("int").map(lambda m: m.domain),
        "k": models("int").map(lambda m: m.domain),
        "s": models("string").map(lambda m: m.domain),
    },
)
levels = st.builds(PruneLevels, st.booleans(), st.booleans(), st.booleans())


@given(layouts(), domains_by_column, levels)
def test_no_row_group_with_a_matching_row_is_left_unread(
    layout: Layout, domains: dict[str, Domain], chosen: PruneLevels
) -> None:
    """Against brute force over all rows: whatever levels are on, what holds a matching row is read."""
    verdict = prune_scan(domains, layout, chosen)
    for number, group in layout.groups_with(domains):
        assert number in verdict.keep
        if number in verdict.row_groups:
            ranges = verdict.row_groups[number]
            start = group * (FILE_BYTES // len(layout.groups[number]))
            assert any(low <= start < high for low, high in zip(ranges[::2], ranges[1::2], strict=True))


@given(layouts(), domains_by_column, levels)
def test_the_account_adds_up(layout: Layout, domains: dict[str, Domain], chosen: PruneLevels) -> None:
    """Never more is read than there is, partly read files are among the kept ones, and off means off."""
    verdict = prune_scan(domains, layout, chosen)
    assert verdict.files_total == len(layout.files)
    assert verdict.keep == sorted(set(verdict.keep))
    assert set(verdict.row_groups) <= set(verdict.keep) <= set(range(len(layout.files)))
    assert verdict.bytes_read <= verdict.bytes_total == FILE_BYTES * len(layout.files)
    assert verdict.row_groups_read <= verdict.row_groups_total
    if not chosen.row_groups:
        assert not verdict.row_groups
    everything_off = prune_scan(domains, layout, PruneLevels(partitions=False, files=False, row_groups=False))
    assert not everything_off.removes_something
    assert everything_off.bytes_read == everything_off.bytes_total


def sorted_table() -> Layout:
    """Two partitions of two files of two row groups each; k rises through all of them by tens."""
    groups: list[list[list[Row]]] = [
        [[(f * 20 + g * 10 + i, "x") for i in range(10)] for g in (0, 1)] for f in range(4)
    ]
    return Layout([0, 1], groups, [0, 0, 1, 1])


def test_statistics_of_another_type_are_not_used() -> None:
    """A file that holds values which the table's type cannot is a file of which nothing is known."""
    table = sorted_table()
    table.groups[3][0].append((2**40, "x"))
    verdict = prune_scan({"k": Domain.of("int", [5])}, table)
    assert verdict.keep == [0, 1, 2, 3]


def test_clustering_depth_of_text() -> None:
    """Text is no different, with a maximum missing or cut off too."""
    text = value_type("string")
    assert clustering_depth(ColumnBounds.of(text, ["a", "c"], ["b", "d"])) == 0.5
    assert clustering_depth(ColumnBounds.of(text, ["a", "c"], ["b", None])) == 1.0
    assert clustering_depth(ColumnBounds.of(text, ["a", "c"], ["b", "d"], max_truncated=[False, True])) == 1.0
