"""The report of a scan with late filters has the real numbers: what there was, and what was read of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headgate.observe import QueryReport, ScanReport
from headgate.query.late import LateFilters
from tests.batch.differential import compare, enabled, rows_of, same_rows, scan_of, settings
from tests.batch.test_late_filters import held_back, late_filter

QUERY = "select fact.k, num from fact join (select * from dim where id between 0 and 100) d on fact.k = d.id"
LATE: dict[str, Any] = {"max_wait": "0s", "non_blocking": True}
PIECES = {"spark_sql_files_maxPartitionBytes": "4000", "spark_sql_files_openCostInBytes": "0"}


def numbers(scan: ScanReport) -> tuple[int, ...]:
    """Files, row groups and bytes, each as all and as read."""
    return (
        *(scan.files_total, scan.files_read),
        *(scan.row_groups_total, scan.row_groups_read),
        *(scan.bytes_total, scan.bytes_read),
    )


def strips(report: QueryReport, table: str = "fact") -> tuple[list[int], list[int]]:
    """Files and row groups in the order in which the store lists the files: how many lie in each run that is read.

    Which of the files comes first is up to the store, so what is not read is only added up.
    """
    scan = scan_of(report, table)
    return tuple([*filter(None, runs[::2]), -sum(runs[1::2])] for runs in (scan.file_runs, scan.group_runs))  # type: ignore[return-value]


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in sorted(folder.glob("*.parquet"))]


def group_sizes(path: Path) -> list[int]:
    footer = pq.ParquetFile(path).metadata
    columns = range(footer.num_columns)
    return [
        sum(footer.row_group(g).column(c).total_compressed_size for c in columns) for g in range(footer.num_row_groups)
    ]


def test_files_row_groups_and_bytes(spark: SparkSession, star: Path, come_first: None) -> None:
    """Keys 0 to 98 lie in the first of eight files, in all of its four row groups."""
    report = same_rows(spark, lambda: spark.sql(QUERY), **LATE)

    size = sizes(star / "fact")
    assert numbers(scan_of(report, "fact")) == (8, 1, 32, 4, sum(size), size[0])
    told = late_filter(report, "k").late
    assert told is not None
    assert (told.files, told.row_groups) == (7, 28)
    assert strips(report) == ([1, -7], [4, -28])


def test_a_file_in_part(spark: SparkSession, star: Path, come_first: None) -> None:
    """Keys 0 to 35 lie in the first two row groups of the first file: the bytes of the others count as not read."""
    report = same_rows(spark, lambda: spark.sql(QUERY.replace("0 and 100", "0 and 40")), **LATE)

    files, read, groups, groups_read, _, bytes_read = numbers(scan_of(report, "fact"))
    first = min((star / "fact").glob("*.parquet"))
    assert (files, read, groups, groups_read) == (8, 1, 32, 2)
    assert strips(report) == ([1, -7], [2, -30])
    assert bytes_read == first.stat().st_size - sum(group_sizes(first)[2:])


def test_a_file_in_several_splits_counts_once(spark: SparkSession, star: Path, come_first: None) -> None:
    with settings(spark, **PIECES):
        compared = compare(spark, lambda: spark.sql(QUERY), **LATE)

    assert compared.frame.rdd.getNumPartitions() > 8, "some file has to lie in several splits"
    size = sizes(star / "fact")
    assert numbers(scan_of(compared.report, "fact")) == (8, 1, 32, 4, sum(size), size[0])
    told = late_filter(compared.report, "k").late
    assert told is not None
    assert told.files == 7


def test_a_plan_that_runs_twice_is_told_once(spark: SparkSession, star: Path, come_first: None) -> None:
    with settings(spark, spark_sql_adaptive_enabled="false"), enabled(spark, **LATE) as gate:
        frame = spark.sql(QUERY)
        assert rows_of(frame) == rows_of(frame)
        assert numbers(scan_of(gate.report(), "fact"))[:4] == (8, 1, 32, 4)


def test_a_filter_that_never_comes_leaves_everything(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_back(monkeypatch) as release, enabled(spark, **LATE) as gate:
        spark.sql(QUERY).collect()
        assert not release.is_set()
        size = sum(sizes(star / "fact"))
        assert numbers(scan_of(gate.report(), "fact")) == (8, 8, 32, 32, size, size)
        assert strips(gate.report()) == ([8, 0], [32, 0])


def test_a_filter_that_removes_nothing_has_arrived_all_the_same(
    spark: SparkSession, star: Path, come_first: None
) -> None:
    """Every seventh key lies in every row group, and the join is by broadcast, so rows are not tested either."""
    report = same_rows(spark, lambda: spark.sql(QUERY.replace("0 and 100", "0 and 800")), **LATE)
    told = late_filter(report, "k").late
    assert told is not None
    assert (told.removed, told.applied, told.opened_before) == (0, None, 0)
    assert told.received is not None
    assert str(told).startswith("arrived after ")


def test_numbers_while_the_query_runs(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are run one by one: what a task has left unread counts when it has ended."""
    one_file_a_task = {
        "spark_sql_files_maxPartitionBytes": "1000000",
        "spark_sql_files_openCostInBytes": "1000000",
        "spark_sql_adaptive_enabled": "false",
    }
    with settings(spark, **one_file_a_task), held_back(monkeypatch) as release, enabled(spark, **LATE) as gate:
        rdd = spark.sql(QUERY.replace("0 and 100", "0 and 0")).rdd
        assert rdd.getNumPartitions() == 8

        def read_after(partitions: range) -> int:
            spark.sparkContext.runJob(rdd, list, partitions)
            return scan_of(gate.report(), "fact").files_read

        assert read_after(range(1)) == 8
        release.set()
        gate.queries[-1].late.join(60.0)
        closed = [8 - read_after(range(i, i + 1)) for i in range(1, 8)]
    # at most one of these seven files holds the key; each of the others counts when its task has ended
    steps = [after - before for before, after in zip([0, *closed], closed, strict=False)]
    assert sorted(steps) in ([0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1])


def test_what_planning_left_and_what_came_late_add_up(
    spark: SparkSession, star: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One filter is there when the query is planned, the other comes late: neither counts what the other removed."""
    late_too = "select fact.k from fact join (select * from dim where id between 0 and 40) d on fact.k = d.id"
    query = f"{late_too} join (select distinct id i2 from dim where id < 210) e on fact.big = e.i2"
    waits: list[Any] = []

    def only_first(self: Any, running: Any) -> Any:
        waits.append(running)
        return running.wait(60.0) if len(waits) == 1 else None

    monkeypatch.setattr("headgate.query.waiting.Waiting.wait", only_first)
    start: Callable[..., None] = LateFilters.start

    def start_and_finish(self: LateFilters, *arguments: Any) -> None:
        start(self, *arguments)
        self.join(60.0)

    monkeypatch.setattr(LateFilters, "start", start_and_finish)
    report = same_rows(spark, lambda: spark.sql(query), **LATE)
    scan = scan_of(report, "fact")
    assert (scan.files_total, scan.files_read, scan.row_groups_read) == (8, 1, 2), report
    assert 0 < scan.bytes_read < sizes(star / "fact")[0]
    assert strips(report) == ([1, -7], [2, -30])


def test_partitions_are_files_too(spark: SparkSession, tmp_path: Path, come_first: None) -> None:
    """A partition is closed without a look into its file, so nothing is said of row groups."""
    for part in range(6):
        (tmp_path / "p" / f"part={part}").mkdir(parents=True)
        pq.write_table(pa.table({"v": np.arange(10)}), tmp_path / "p" / f"part={part}" / "0.parquet")
    pq.write_table(pa.table({"id": pa.array([2, 3], pa.int32()), "name": ["a", "b"]}), tmp_path / "few.parquet")
    spark.read.parquet(str(tmp_path / "p")).createOrReplaceTempView("numbered_parts")
    spark.read.parquet(str(tmp_path / "few.parquet")).createOrReplaceTempView("numbered_few")
    query = "select v from numbered_parts join (select * from numbered_few where name = 'a') f on part = f.id"

    with settings(spark, spark_sql_optimizer_dynamicPartitionPruning_enabled="false"):
        report = same_rows(spark, lambda: spark.sql(query), **LATE)

    scan = scan_of(report, "numbered_parts")
    assert (scan.files_total, scan.files_read, scan.row_groups_total) == (6, 1, 0)
    assert scan.bytes_read == scan.bytes_total // 6
    assert strips(report, "numbered_parts") == ([1, -5], [0])


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_scan_is_named_by_its_view(spark: SparkSession, star: Path) -> None:
    spark.read.parquet(str(star / "fact")).createOrReplaceTempView("called_otherwise")
    report = same_rows(spark, lambda: spark.sql(QUERY.replace("fact", "called_otherwise")))
    scan = scan_of(report, "called_otherwise")
    assert scan.table == "called_otherwise"
    assert scan.path == f"file:{star}/fact"
    assert [f.applied_to for f in report.filters if f.state == "applied"] == [["called_otherwise"]]


@pytest.mark.parametrize("form", ["a glob", "several files", "several folders"])
def test_a_scan_of_several_paths_is_named_by_their_folder(spark: SparkSession, star: Path, form: str) -> None:
    """Never by the first file."""
    listed = sorted(str(path) for path in (star / "fact").glob("*.parquet"))
    given = {"a glob": [f"{star}/fact/*.parquet"], "several files": listed, "several folders": [str(star / "fact")] * 2}
    if form == "several folders":
        given[form][1] = str(star / "dim")
    frame = spark.read.parquet(*given[form]) if form != "several folders" else None
    if frame is None:
        frame = spark.read.schema("k int, num double").parquet(*given[form])
    few = spark.table("dim").where("grp = 3").selectExpr("id")
    with enabled(spark) as gate:
        frame.join(few, frame.k == few.id).collect()
        names = {scan.table for scan in gate.report().scans}
    assert f"file:{star}" + ("" if form == "several folders" else "/fact") in names


# --- which filters narrow a scan ------------------------------------------------------------------------------------


def test_a_filter_that_removes_nothing_is_not_applied(spark: SparkSession, star: Path) -> None:
    """Two filters meet in one scan, and only one of them removes files: the other is not told as applied."""
    query = """select fact.k from fact join (select * from dim where grp = 3) d on fact.k = d.id
               join (select id i2 from dim where id > 50) e on fact.spread = e.i2"""
    report = same_rows(spark, lambda: spark.sql(query), filter_rows=False)
    told = {f.column: f for f in report.filters}
    assert told["k"].state == "applied"
    assert told["spread"].state == "collected"
    assert told["spread"].reason == "the other filters of the scan already skip everything that this one would"
    assert scan_of(report, "fact").filters == [told["k"].id]


def test_filters_that_remove_something_only_together(spark: SparkSession, tmp_path: Path) -> None:
    """Each alone matches both files; what both allow lies in one of them."""
    (tmp_path / "pair").mkdir()
    for number in range(2):
        keys = np.arange(number * 100, number * 100 + 100)
        pq.write_table(pa.table({"k": keys}), tmp_path / "pair" / f"{number}.parquet")
    for name, ids in (("one", [1, 150]), ("two", [2, 150])):
        pq.write_table(pa.table({"id": ids, "flag": [1, 1]}), tmp_path / f"{name}.parquet")
        spark.read.parquet(str(tmp_path / f"{name}.parquet")).createOrReplaceTempView(f"together_{name}")
    spark.read.parquet(str(tmp_path / "pair")).createOrReplaceTempView("together")
    query = """select t.k from together t join (select * from together_one where flag = 1) a on t.k = a.id
               join (select id i2 from together_two where flag = 1) b on t.k = b.i2"""
    report = same_rows(spark, lambda: spark.sql(query), filter_rows=False)
    scan = scan_of(report, "together")
    assert scan.files_read == 1
    assert scan.filters
