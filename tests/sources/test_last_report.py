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
