"""The scans of one query: their files, listed once and only when asked for, and what is known of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from headgate.config import Settings
from headgate.domain import Domain
from headgate.plan import Clustering, Node
from headgate.plan.kinds import Can
from headgate.plan.nodes import Scan
from headgate.plan.rules.remove_unsupported_filters import BY_FIELD_ID
from headgate.plan.statics import static_domains
from headgate.prune import PruneLevels, ScanVerdict, clustering_depth, prune_scan
from headgate.prune.scan import bounds_of
from headgate.prune.strips import Strips, late_strips
from headgate.tables import FileReads, LayoutCache, Listing, TableLayout, read_local_tails
from headgate.tables.footers import local_path
from headgate.tables.layout import ReadTails

_ALL_FOOTERS = 2048
_SAMPLE = 256
_BY_POSITION = "Headgate finds columns by name, not by position (orc.force.positional.evolution=true)"


class ScanSource(Protocol):
    """Where the files of scans come from: `CatalystQuery`, or in tests whatever lists files."""

    def list_files(self, scan: int) -> Listing:
        """Return the files of a scan."""
        ...

    def reads(self, scan: int) -> FileReads:
        """Return how the footers of a scan's files are read, in any store."""
        ...


class Scans:
    """Files and statistics of the scans of one query, by node number."""

    def __init__(
        self,
        source: ScanSource,
        root: Node,
        cache: LayoutCache,
        settings: Settings,
        *,
        case_sensitive: bool = False,
    ) -> None:
        self._source, self._cache, self._case_sensitive = source, cache, case_sensitive
        self.nodes = {node.id: node for node in root.walk() if isinstance(node, Scan)}
        self._levels = PruneLevels(settings.prune_partitions, settings.prune_files, settings.prune_row_groups)
        self._statics = static_domains(root)
        self._layouts: dict[int, TableLayout] = {}
        self._clustering: dict[tuple[int, int], Clustering] = {}

    def layout(self, scan: int) -> TableLayout:
        """Return the files of a scan."""
        if scan not in self._layouts:
            listing = self._source.list_files(scan)
            how = self.nodes[scan].format
            reads = self._source.reads(scan)
            reads = replace(reads, tails=partial(_read_tails, reads.tails))
            self._layouts[scan] = self._cache.get(listing, reads, format=how, case_sensitive=self._case_sensitive)
        return self._layouts[scan]

    def clustering(self, scan: int, column: int) -> Clustering:
        """Say how well the row groups of a scan separate the values of a column."""
        key = (scan, column)
        if key not in self._clustering:
            told = self.nodes[scan].is_told
            self._clustering[key] = self._told(scan) if told else self._judge(scan, column)
        return self._clustering[key]

    def prune(self, scan: int, domains: dict[str, Domain]) -> ScanVerdict:
        """Return what is left of a scan under these domains."""
        node, layout = self.nodes[scan], self.layout(scan)
        if Can.STATISTICS not in node.can:
            partitions = {name for name, _ in layout.partition_columns}
            domains = {name: domain for name, domain in domains.items() if name in partitions}
        if not node.tells_its_reader:
            return prune_scan(domains, layout, self._levels)
        # which parts of a file are read is then for the reader to know
        verdict = prune_scan(domains, layout, replace(self._levels, row_groups=False))
        return replace(verdict, row_groups_total=0, row_groups_read=0, group_runs=())

    def may_tell(self, scan: int, column: int, files: Sequence[int]) -> bool:
        """Whether the reader of these files can be told ranges of a column: each has it as it is read, with its bounds.

        A reader fails on a condition where a file stores another type.
        """
        node = self.nodes[scan]
        found = node.find_column(column)
        if found is None or found.name in node.partition_columns or not files or len(files) > _ALL_FOOTERS:
            return False
        if node.compares is not None and column not in node.compares:
            return False
        bounds = bounds_of(self.layout(scan).statistics(files, [(found.name, found.type)]), found.name, found.type)
        return bool((bounds.known | (bounds.nulls == bounds.rows) & (bounds.rows >= 0)).all())

    def bytes_left(self, scan: int, found: Mapping[str, Domain] | None = None) -> int:
        """Return the bytes of a scan that its own conditions, and what was found of its columns, leave to be read."""
        domains = dict(self._statics.get(scan, {}))
        for name, domain in (found or {}).items():
            domains[name] = domains[name] & domain if name in domains else domain
        if not domains or Can.PRUNE not in self.nodes[scan].can:
            return self.nodes[scan].bytes
        layout = self.layout(scan)
        partitions = {name for name, _ in layout.partition_columns}
        if len(layout.files) > _ALL_FOOTERS:  # an estimate is not worth that many footers
            domains = {name: domain for name, domain in domains.items() if name in partitions}
        return self.prune(scan, domains).bytes_read

    def rows(self, scan: int) -> int | None:
        """Return about how many rows the files of a scan hold, or None where some do not say."""
        if Can.PRUNE not in self.nodes[scan].can:
            return None
        files = self.layout(scan).files
        sample = _sampled(len(files))
        counts = self.layout(scan).statistics(sample, []).rows
        if not counts or None in counts:
            return None
        return sum(count for count in counts if count is not None) * len(files) // len(sample)

    def whole(self, scan: int, *, row_groups: bool = False) -> ScanVerdict | None:
        """Return the scan as it is when nothing is pruned, if its files are listed already; row groups cost footers."""
        if (layout := self._layouts.get(scan)) is None:
            return None
        count, size = len(layout.files), sum(file.size for file in layout.files)
        counted = row_groups and count <= _ALL_FOOTERS
        groups = len(layout.statistics(list(range(count)), []).rows) if counted else 0
        runs = (groups,) if groups else ()
        return ScanVerdict(
            list(range(count)), {}, count, groups, groups, size, size, runs, looked_into=range(count if groups else 0)
        )

    def late_strips(self, scan: int, verdict: ScanVerdict, closed: Mapping[str, Sequence[int]]) -> Strips:
        """Return which files and row groups are left when late filters have closed some of them."""
        return late_strips(verdict, self.layout(scan), closed)

    def can_gate(self, scan: int) -> bool:
        """Whether late filters can be applied to a scan: its files must be known, and its columns found by name."""
        return Can.GATE in self.nodes[scan].can and bool(self.layout(scan).files)

    def _told(self, scan: int) -> Clustering:
        """Say that a table with statistics of its own may skip something: how much, only it knows."""
        node = self.nodes[scan]
        why = "" if Can.RANGES in node.can else f"{node.format} files have no statistics to skip anything by"
        return Clustering(0, 0.0, why)

    def _judge(self, scan: int, column: int) -> Clustering:
        found = self.nodes[scan].find_column(column)
        assert found is not None
        layout = self.layout(scan)
        if found.name in {name for name, _ in layout.partition_columns}:
            count = max(1, len(layout.partitions))
            return Clustering(count, 1 / count, "" if count > 1 else "the scan has only one partition")
        node = self.nodes[scan]
        if node.by_field_id or node.by_position:
            return Clustering(0, 1.0, BY_FIELD_ID if node.by_field_id else _BY_POSITION)
        if not layout.files:
            return Clustering(0, 1.0, "the scan has no files")
        sample = _sampled(len(layout.files))
        statistics = layout.estimates(sample, [(found.name, found.type)])
        bounds = bounds_of(statistics, found.name, found.type)
        if not bounds.known.any():
            return Clustering(len(bounds), 1.0, f"the files have no usable statistics for column {found.name}")
        if node.tells_its_reader and node.compares is not None and column in node.compares:
            return Clustering(len(bounds), 0.0)  # the reader also has statistics of each ten thousand rows
        if len(bounds) < 2:
            return Clustering(len(bounds), 1.0, "the scan has only one row group, so there is little to skip")
        return Clustering(len(bounds), clustering_depth(bounds))


def _read_tails(elsewhere: ReadTails, wanted: Sequence[tuple[str, int, int]]) -> list[bytes | None]:
    """Read the ends of files, local ones directly."""
    if all(local_path(path) is not None for path, _, _ in wanted):
        return read_local_tails(wanted)
    return elsewhere(wanted)


def _sampled(count: int) -> list[int]:
    if count <= _ALL_FOOTERS:
        return list(range(count))
    return sorted({round(i * (count - 1) / (_SAMPLE - 1)) for i in range(_SAMPLE)})
