"""The report counts what each scan read, also where no filter went to it, and says so if the query failed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

import headgate
from headgate.catalyst.sentences import SPARK_ERRORS
from headgate.errors import BadInput
from tests.batch.differential import enabled, scan_of
from tests.batch.test_records import told

FILTERED = "select fact.k, num from fact join (select * from dim where grp = 3) d on fact.k = d.id"


def sizes(folder: Path) -> tuple[int, int]:
    files = list(folder.glob("*.parquet"))
    return len(files), sum(file.stat().st_size for file in files)


@pytest.mark.parametrize("query", ["select count(*) from fact", "select count(*) from fact left join dim on k = id"])
def test_a_scan_that_no_filter_goes_to(spark: SparkSession, star: Path, query: str) -> None:
    files, size = sizes(star / "fact")
    with enabled(spark):
        spark.sql(query).collect()
        report = headgate.report(spark)
    scan = scan_of(report, "fact")
    assert (scan.files_read, scan.files_total, scan.filters) == (files, files, [])
    assert (scan.bytes_read, scan.bytes_total, scan.rows_read) == (size, size, 800)
    read = sum(each.files_read for each in report.scans)
    assert f"{read} of {read} files" in repr(report)


def test_a_scan_whose_rows_are_in_the_plan(spark: SparkSession, star: Path) -> None:
    """It ran ahead of the query, and was counted then; the page and the log say the same."""
    with enabled(spark, strategy="always") as gate:
        spark.sql(FILTERED).collect()
        (record,) = told(spark, gate)
        dim = scan_of(headgate.report(spark), "dim")
    assert (dim.files_read, dim.files_total) == (sizes(star / "dim")[0],) * 2
    (logged,) = [scan for scan in record["parts"][-1]["scans"] if scan["table"] == "dim"]
    assert (logged["files_read"], logged["bytes_read"]) == (dim.files_read, dim.bytes_read)


def test_partitions_that_spark_prunes_itself(spark: SparkSession, tmp_path: Path) -> None:
    """It counts the files that are left, and those that its own filter left out."""
    spark.range(100).selectExpr("id", "id % 4 AS p").write.partitionBy("p").parquet(str(tmp_path / "parted"))
    spark.range(4).selectExpr("id AS key", "id AS w").write.parquet(str(tmp_path / "keys"))
    fact, keys = (spark.read.parquet(str(tmp_path / name)) for name in ("parted", "keys"))
    with enabled(spark, strategy="cost"):
        joined = fact.join(keys.where("w = 2"), fact.p == keys.key)
        assert {row["p"] for row in joined.collect()} == {2}
        scan = scan_of(headgate.report(spark), "parted")
    assert scan.files_total > scan.files_read > 0
    assert scan.bytes_read < scan.bytes_total
    assert "Spark already prunes" in scan.reason


def test_a_query_that_failed(spark: SparkSession, tmp_path: Path, star: Path) -> None:
    """The next one did not."""
    shutil.copytree(star / "fact", tmp_path / "gone")
    gone = spark.read.parquet(str(tmp_path / "gone"))
    for file in (tmp_path / "gone").glob("*.parquet"):
        file.unlink()
    with enabled(spark, strategy="always"):
        with pytest.raises(SPARK_ERRORS):
            gone.join(spark.table("dim").where("grp = 3"), gone.k == spark.table("dim").id).collect()
        failed = headgate.report(spark)
        spark.sql(FILTERED).collect()
        fine = headgate.report(spark)
    assert "The query failed: " in failed.note
    assert "The query failed: " in str(failed)
    assert "The query failed: " in repr(failed)
    assert fine.note == ""


def test_a_query_without_a_join_that_failed(spark: SparkSession, star: Path) -> None:
    with enabled(spark):
        with pytest.raises(SPARK_ERRORS):
            spark.sql("select raise_error(concat('no ', k)) from fact").collect()
        assert "The query failed: " in headgate.report(spark).note


def test_what_spark_alone_read_is_compared(spark: SparkSession, star: Path) -> None:
    found = headgate.compare(spark, lambda: spark.sql(FILTERED), rounds=1, strategy="always")
    (off, on) = found._lines()
    files = sizes(star / "fact")[0] + sizes(star / "dim")[0]
    assert off[2] == str(files)
    assert on[2].endswith(f" of {files}")
    assert int(on[2].split()[0]) < files


def test_what_subqueries_read_is_compared(spark: SparkSession, star: Path) -> None:
    """They are narrowed by themselves, and are parts of the query."""
    query = f"select (select max(num) from ({FILTERED})) m, count(*) from ({FILTERED.replace('grp = 3', 'grp = 7')})"
    found = headgate.compare(spark, lambda: spark.sql(query), rounds=1, strategy="always")
    (off, on) = found._lines()
    assert on[2].endswith(f" of {off[2]}")
    assert int(on[2].split()[0]) < int(off[2])


def test_what_makes_no_frame_is_refused(spark: SparkSession) -> None:
    with pytest.raises(BadInput, match="makes a DataFrame, not int"):
        headgate.compare(spark, lambda: 5)  # type: ignore[arg-type, return-value]


def test_an_error_of_the_user_has_no_trace_of_headgate(spark: SparkSession, star: Path) -> None:
    with enabled(spark):
        for _ in range(2):
            with pytest.raises(SPARK_ERRORS) as error:
                spark.sql("select nothing from fact").collect()
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
            assert "headgate." not in error.value._origin.toString()
            printed = spark._jvm.org.apache.spark.util.Utils.exceptionString(error.value._origin)
            assert "headgate." not in printed


def test_where_there_is_no_page(spark: SparkSession) -> None:
    with enabled(spark, page=False) as gate, pytest.raises(BadInput, match=r"spark\.headgate\.page is false"):
        gate.page_url  # noqa: B018 - asking is enough


def test_a_report_is_as_wide_as_the_terminal(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with enabled(spark, strategy="always"):
        spark.sql(FILTERED).collect()
        report = headgate.report(spark)
    for width in (80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, str(report).splitlines())) <= width
    monkeypatch.setenv("COLUMNS", "80")
    narrow = str(report)
    monkeypatch.setenv("COLUMNS", "200")
    assert len(str(report).splitlines()) < len(narrow.splitlines())


def test_the_outcome_of_a_command_is_explained_as_such(
    spark: SparkSession, tmp_path: Path, star: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.sql(f"create table outcome using parquet location '{tmp_path / 'outcome'}' as {FILTERED}")
    try:
        with enabled(spark):
            headgate.explain(spark.sql(f"insert into outcome {FILTERED}"))
        assert "what a command has said" in capsys.readouterr().out
    finally:
        spark.sql("drop table outcome")


def test_a_query_that_failed_and_runs_again(spark: SparkSession, tmp_path: Path, star: Path) -> None:
    """Its report is that of the last run."""
    shutil.copytree(star / "fact", tmp_path / "away")
    frame = spark.read.parquet(str(tmp_path / "away")).selectExpr("k + 1 AS n")
    (tmp_path / "away").rename(tmp_path / "moved")
    with enabled(spark):
        with pytest.raises(SPARK_ERRORS):
            frame.collect()
        assert "The query failed: " in headgate.report(spark).note
        (tmp_path / "moved").rename(tmp_path / "away")
        frame.collect()
        assert headgate.report(spark).note == ""


def test_a_query_that_runs_twice(spark: SparkSession, star: Path) -> None:
    """Spark does not count files a second time."""
    with enabled(spark):
        frame = spark.sql("select k + 1 from fact")
        for _ in range(2):
            frame.collect()
        scan = scan_of(headgate.report(spark), "fact")
    assert (scan.files_read, scan.rows_read) == (sizes(star / "fact")[0], 800)


def test_a_report_says_which_query_it_is_of(spark: SparkSession, star: Path) -> None:
    """Of a DataFrame that nobody wrote as SQL, the line of the program."""
    with enabled(spark, strategy="always") as gate:
        spark.sql(FILTERED).collect()
        spark.table("fact").join(spark.table("dim").where("grp = 3"), col("k") == col("id")).collect()
        told = gate.reports
    assert told[0].query == FILTERED
    assert "test_what_was_read.py" in told[1].query
    shown = told._repr_html_()
    assert "select fact.k, num from fact join" in shown
    assert FILTERED not in shown  # it is cut
    assert headgate.report(spark).query == ""  # not enabled any more
