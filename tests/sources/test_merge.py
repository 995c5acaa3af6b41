"""MERGE into Delta tables, with Headgate on and off: the same table, the same counts in the commit, fewer files read.

A usual run draws a few statements; HEADGATE_MERGES=500 draws as many, and HEADGATE_FIRST=100 begins further on.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headgate
from headgate import QueryReport
from tests.batch.differential import enabled

FIRST = int(os.environ.get("HEADGATE_FIRST", "0"))
COUNT = int(os.environ.get("HEADGATE_MERGES", "2"))
ROWS, FILES = 2_000, 10
COUNTED = (
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
    "numSourceRows",
    "numOutputRows",
)


@dataclass(frozen=True)
class Merged:
    """A table after a MERGE, what its commit counted, and how many files of the target were looked at."""

    rows: Counter[Any]
    counts: dict[str, str]
    looked_at: int


def make_target(spark: SparkSession, name: str, *, vectors: bool = False, partitioned: bool = False) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    frame = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id AS k", "cast(id % 97 AS int) AS v", "concat('s', id % 13) AS s", "cast(id / 500 AS int) AS p"
    )
    writer = frame.write.format("delta").option("delta.enableDeletionVectors", str(vectors).lower())
    (writer.partitionBy("p") if partitioned else writer).saveAsTable(name)


def merge(spark: SparkSession, name: str, statement: str) -> Merged:
    spark.sql(statement.format(target=name))
    metrics = spark.sql(f"DESCRIBE HISTORY {name}").orderBy("version").tail(1)[0]["operationMetrics"]
    rows = Counter(tuple(row) for row in spark.table(name).collect())
    looked_at = int(metrics.get("numTargetFilesAfterSkipping", -1))
    return Merged(rows, {key: metrics.get(key, "") for key in COUNTED}, looked_at)


def same(spark: SparkSession, statement: str, **target: bool) -> tuple[Merged, QueryReport]:
    """Merge into two equal tables, and compare them."""
    headgate.disable(spark)
    make_target(spark, "merged_off", **target)
    make_target(spark, "merged_on", **target)
    off = merge(spark, "merged_off", statement)
    with enabled(spark, strategy="always") as gate:
        on = merge(spark, "merged_on", statement)
        reports = [report for report in gate.reports if report.joins]
    assert on.rows == off.rows
    assert on.counts == off.counts
    return on, reports[0] if reports else QueryReport()


UPSERT = """MERGE INTO {target} t USING changes s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, s, p) VALUES (s.k, s.v, 'new', 9)"""


def changes(spark: SparkSession, sql: str) -> None:
    spark.sql(sql).createOrReplaceTempView("changes")


def test_only_files_that_may_hold_a_key_are_read(spark: SparkSession) -> None:
    changes(spark, "SELECT id * 3 + 420 AS k, 7 AS v FROM range(50)")
    on, report = same(spark, UPSERT)
    assert [(scan.files_read, scan.files_total) for scan in report.scans if scan.filters] == [(1, FILES)], str(report)
    assert on.counts["numTargetRowsUpdated"] == "50"


def test_rows_that_the_source_does_not_match_need_the_whole_target(spark: SparkSession) -> None:
    changes(spark, "SELECT id AS k, 7 AS v FROM range(5)")
    on, _ = same(spark, UPSERT + " WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE")
    assert int(on.counts["numTargetRowsDeleted"]) > 0


def test_a_source_that_gives_other_rows_each_time_is_read_once(spark: SparkSession) -> None:
    make_target(spark, "merged_on")
    changes(spark, "SELECT cast(rand() * 2000 AS bigint) AS k, 7 AS v FROM range(1)")
    with enabled(spark, strategy="always"):
        merged = merge(spark, "merged_on", UPSERT)
    assert sum(1 for row in merged.rows if row[1] == 7 and row[2] != f"s{row[0] % 13}") == 0
    assert sum(merged.rows.values()) == ROWS


def test_a_table_merged_into_itself(spark: SparkSession) -> None:
    changes(spark, "SELECT id AS k, 7 AS v FROM range(5)")
    statement = """MERGE INTO {target} t USING (SELECT k FROM {target} WHERE k BETWEEN 100 AND 140) s ON t.k = s.k + 0
    WHEN MATCHED THEN DELETE"""
    same(spark, statement)
    same(spark, statement.replace("s.k + 0", "s.k"))


@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_random_merges(spark: SparkSession, number: int) -> None:
    draw = random.Random(number)
    changes(spark, _source(draw))
    same(spark, _statement(draw), vectors=draw.random() < 0.5, partitioned=draw.random() < 0.3)


def _source(draw: random.Random) -> str:
    count, first, step = draw.choice([0, 1, 7, 40, 400]), draw.randrange(-50, ROWS), draw.choice([1, 3, 17])
    key = draw.choice([f"id * {step} + {first}", f"CASE WHEN id % 9 = 0 THEN NULL ELSE id * {step} + {first} END"])
    kind = draw.choice(["bigint", "bigint", "int"])
    where = draw.choice(["", " WHERE id % 2 = 0", " LIMIT 5"])
    return f"SELECT cast({key} AS {kind}) AS k, cast(id % 31 AS int) AS v FROM range({count}){where}"


def _statement(draw: random.Random) -> str:
    on = draw.choice(
        ["t.k = s.k", "s.k = t.k AND t.v < 50", "t.k <=> s.k", "t.k = s.k AND t.s = concat('s', s.k % 13)"]
    )
    clauses = [
        draw.choice(["WHEN MATCHED AND s.v > 10 THEN UPDATE SET v = s.v", "WHEN MATCHED AND t.v > 40 THEN DELETE", ""]),
        draw.choice(["WHEN MATCHED THEN UPDATE SET v = t.v + 1", "WHEN MATCHED THEN DELETE", ""]),
        draw.choice(["WHEN NOT MATCHED THEN INSERT (k, v, s, p) VALUES (s.k, s.v, 'new', 9)", ""]),
        draw.choice(["WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE", "", "", ""]),
    ]
    if not any(clauses):
        clauses = ["WHEN MATCHED THEN DELETE"]
    return f"MERGE INTO {{target}} t USING changes s ON {on} " + " ".join(clauses)
