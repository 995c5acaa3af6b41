"""A query of three tables, dim -> fact and region -> dim, planned without Spark over real Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.collect import BuildKey, BuildRequest, BuildResult
from headgate.config import Settings
from headgate.domain import Domain
from headgate.plan import QueryPlan, RuleContext, Scan, Strategy, plan_filters
from headgate.query.scans import Scans
from headgate.query.schedule import ScheduledBuild
from headgate.tables import DataFile, FileReads, LayoutCache, ListedFiles, Listing
from tests.plan.fixture_text import parse_plan

PLAN = """
Join INNER k = d_id
  Scan fact(k int, v int) 100MB
  Join INNER d_region = r_id
    Scan dim(d_id int, d_region int) 10MB
    Filter r_id > 0
      Scan region(r_id int) 1MB
"""
FILES = 4


def chain() -> QueryPlan:
    """Plan ``fact join dim on k = d_id join region on d_region = r_id``, in which region narrows dim, and dim fact."""
    return plan_filters(parse_plan(PLAN), RuleContext(strategy=Strategy.ALWAYS))


def scan_of(plan: QueryPlan, table: str) -> Scan:
    """Return the scan of a table."""
    return next(scan for scan in plan.root.scans() if scan.table == table)


class FilesOf:
    """Lists the files of scans from folders; a scan without a folder has no files."""

    def __init__(self, folders: dict[int, Path]) -> None:
        self._folders = folders
        self.listed: list[int] = []

    def list_files(self, scan: int) -> Listing:
        self.listed.append(scan)
        paths = sorted(self._folders[scan].iterdir()) if scan in self._folders else []
        files = [
            DataFile(f"file:{path}", path.stat().st_size, path.stat().st_mtime_ns // 1_000_000, 0) for path in paths
        ]
        return Listing(repr(files).encode(), lambda _: ListedFiles(files, [], [[]]))

    def reads(self, scan: int) -> FileReads:
        def unexpected(*wanted: object, **how: object) -> list[Any]:
            raise AssertionError("local files are read directly, and none is ORC")

        return FileReads(unexpected, unexpected)


def write_fact(folder: Path, *, mixed: bool = False) -> Path:
    """Write k = 0 to 399 into four files, in order or spread over all of them."""
    folder.mkdir()
    for number in range(FILES):
        keys = range(number, 400, FILES) if mixed else range(number * 100, number * 100 + 100)
        table = pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array([1] * 100, pa.int32())})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=50)
    return folder


def scans_of(plan: QueryPlan, folders: dict[int, Path], settings: Settings | None = None) -> Scans:
    return Scans(FilesOf(folders), plan.root, LayoutCache(), settings or Settings())


def requests(plan: QueryPlan, wave: Sequence[ScheduledBuild]) -> list[BuildRequest]:
    """Ask for the builds of a wave, as a query run does."""
    made = []
    for build in wave:
        output = plan.node(build.node).output
        keys = [BuildKey(c.id, i, c.type) for i, c in enumerate(output) if c.id in build.columns]
        made.append(BuildRequest(build.node, tuple(keys), 0))
    return made


def done(request: BuildRequest, *values: int, has_rows: bool = True, error: str = "") -> BuildResult:
    """Let a build end: each of its keys has these values."""
    for key in request.keys:
        if error:
            key.filter.complete()
        else:
            key.filter.complete_with(Domain.of(key.type, list(values)))
    return BuildResult(0, len(values), has_rows, 8 * len(values), 5, error)
