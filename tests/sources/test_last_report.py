"""The report after a query or a statement is its own, and not that of what a table format or a command does besides."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

import headgate
from tests.batch.differential import enabled
from tests.batch.test_records import told
from tests.sources.merges import FILES, Target, changes


def test_a_query_of_delta(spark: SparkSession, tmp_path: Path) -> None:
    """When a query has ended, Delta looks at its log once more, in a thread of Spark's listeners."""
    spark.range(0, 2_000, 1, 4).selectExpr("id AS k", "id AS v").write.format("delta").save(str(tmp_path / "t"))
    dim = spark.range(3).selectExpr("id AS key")
    with enabled(spark, strategy="always") as gate:
        spark.read.format("delta").load(str(tmp_path / "t")).join(dim, col("k") == col("key")).collect()
        assert len(told(spark, gate)) == 1
        (scan,) = [scan for scan in headgate.report(spark).scans if scan.filters]
    assert (scan.files_read, scan.files_total) == (1, 4)
    size = sum(file.stat().st_size for file in (tmp_path / "t").glob("*.parquet"))
    assert 0 < scan.bytes_read < scan.bytes_total == size


@pytest.mark.parametrize("kind", ["delta", "copy-on-write", "merge-on-read"])
def test_a_statement_whose_outcome_is_shown(spark: SparkSession, kind: str) -> None:
    changes(spark, "SELECT id + 420 AS k, 7 AS v FROM range(9)")
    target = Target(kind).make(spark, "shown")
    merge = f"MERGE INTO {target} t USING changes s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
    statements = [merge, f"DELETE FROM {target} WHERE k IN (SELECT k FROM changes)"]
    with enabled(spark, strategy="always"):
        for statement in statements[: 1 if kind == "delta" else 2]:  # Delta takes no such subquery
            spark.sql(statement).show()
            (scan,) = [scan for scan in headgate.report(spark).scans if scan.filters]
            assert scan.files_read < scan.files_total >= FILES, (statement, scan)
            assert scan.bytes_read < scan.bytes_total, (statement, scan)
            assert "save it as Parquet" not in str(headgate.report(spark))


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_what_a_told_table_read_when_it_was_asked_again_or_not_at_all(spark: SparkSession, kind: str) -> None:
    """Spark does not count files a second time; and of a table that nothing matches in, nothing is read."""
    table = "read_again" if kind == "delta" else "ice.db.read_again"
    spark.range(0, 2_000, 1, 4).selectExpr("id AS k", "id AS v").writeTo(table).using(kind).createOrReplace()
    dim = spark.range(3).selectExpr("id AS key")
    with enabled(spark, strategy="always"):
        frame = spark.table(table).join(dim, col("k") == col("key"))
        for _ in range(2):
            assert len(frame.collect()) == 3
            (scan,) = [scan for scan in headgate.report(spark).scans if scan.filters]
            assert (scan.files_read, scan.files_total) == (1, 4)
            assert 0 < scan.bytes_read < scan.bytes_total
        assert spark.table(table).join(dim.where("key > 5"), col("k") == col("key")).collect() == []
        (scan,) = [scan for scan in headgate.report(spark).scans if scan.filters]
    assert (scan.files_read, scan.bytes_read) == (0, 0)


def test_a_commit_of_delta_between_planning_and_execution(spark: SparkSession, tmp_path: Path) -> None:
    """The table is read at its version, and what Delta notes in the session is no setting that changed."""
    spark.range(0, 2_000, 1, 4).selectExpr("id AS k").write.format("delta").save(str(tmp_path / "t"))
    table, dim = spark.read.format("delta").load(str(tmp_path / "t")), spark.range(3).selectExpr("id AS key")
    with enabled(spark, strategy="always"):
        frame = table.join(dim, col("k") == col("key"))
        frame._jdf.queryExecution().executedPlan()
        spark.sql(f"INSERT INTO delta.`{tmp_path / 't'}` SELECT id FROM range(5)")
        assert len(frame.collect()) == 3
        (told_of,) = [report for report in headgate.enable(spark).reports if any(s.filters for s in report.scans)]
    (scan,) = [scan for scan in told_of.scans if scan.filters]
    assert (told_of.note, scan.files_read, scan.files_total) == ("", 1, 4)
