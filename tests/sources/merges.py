"""Statements that change rows, run on two equal tables, with Headgate off and on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

import headgate
from headgate import QueryReport
from headgate.observe import ScanReport
from tests.batch.differential import enabled

ROWS, FILES = 2_000, 5
ICEBERG = ("copy-on-write", "merge-on-read")
_DELTA_COUNTS = (
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
    "numSourceRows",
    "numOutputRows",
)
_ICEBERG_COUNTS = (
    "added-records",
    "deleted-records",
    "added-position-deletes",
    "total-records",
    "total-position-deletes",
)


@dataclass(frozen=True)
class Target:
    """What is changed: a Delta table, or an Iceberg table that is changed in one of the two ways.

    ``vectors`` marks deleted rows in bitmaps: Delta's deletion vectors, the third version of Iceberg's format.
    """

    kind: str = "delta"
    vectors: bool = False
    partitions: str = ""
    properties: str = ""

    @property
    def is_iceberg(self) -> bool:
        """Whether it is an Iceberg table."""
        return self.kind in ICEBERG

    def make(self, spark: SparkSession, name: str) -> str:
        """Write the table anew, and return its name in SQL."""
        table = f"ice.db.{name}" if self.is_iceberg else name
        frame = spark.range(0, ROWS, 1, FILES).selectExpr(
            "id AS k", "cast(id % 97 AS int) AS v", "concat('s', id % 13) AS s", "cast(id / 500 AS int) AS p"
        )
        frame.createOrReplaceTempView("rows_of_the_target")
        by = f"PARTITIONED BY ({self.partitions})" if self.partitions else ""
        properties = f"'delta.enableDeletionVectors' = '{str(self.vectors).lower()}'"
        if self.is_iceberg:
            modes = [f"'write.{command}.mode' = '{self.kind}'" for command in ("merge", "update", "delete")]
            properties = ", ".join([*modes, f"'format-version' = '{3 if self.vectors else 2}'"])
        properties = f"{properties}, {self.properties}" if self.properties else properties
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(
            f"CREATE TABLE {table} USING {'iceberg' if self.is_iceberg else 'delta'} {by} "
            f"TBLPROPERTIES ({properties}) AS SELECT * FROM rows_of_the_target"
        )
        return table


@dataclass(frozen=True)
class Changed:
    """A table after a statement, and what its last commit counted."""

    rows: Counter[Any]
    counts: dict[str, str]


def change(spark: SparkSession, table: str, statements: str, branch: str = "") -> Changed:
    """Run statements, with semicolons between them, and look at the table."""
    for statement in statements.format(target=table).split(";"):
        spark.sql(statement)
    rows = Counter(tuple(row) for row in spark.table(table + branch).collect())
    return Changed(rows, _counts(spark, table))


def _counts(spark: SparkSession, table: str) -> dict[str, str]:
    if not table.startswith("ice."):
        metrics = spark.sql(f"DESCRIBE HISTORY {table}").orderBy("version").tail(1)[0]["operationMetrics"]
        return {key: metrics.get(key, "") for key in _DELTA_COUNTS}
    snapshots = spark.table(f"{table}.snapshots").orderBy("committed_at").collect()
    summary = snapshots[-1]["summary"]
    counted = {key: value for key, value in summary.items() if key.startswith("spark.merge-into.")}
    return counted | {key: summary.get(key, "") for key in _ICEBERG_COUNTS} | {"commits": str(len(snapshots))}


def same(spark: SparkSession, statements: str, target: Target, *, branch: str = "") -> tuple[Changed, list[ScanReport]]:
    """Change two equal tables, and compare them; return also what was read of scans that got a filter."""
    headgate.disable(spark)
    off = change(spark, target.make(spark, "changed_off"), statements, branch)
    table = target.make(spark, "changed_on")
    with enabled(spark, strategy="always") as gate:
        on = change(spark, table, statements, branch)
        reports: list[QueryReport] = list(gate.reports)
        failures = headgate.report(spark).failures
    assert failures == []
    assert on.rows == off.rows
    assert on.counts == off.counts
    return on, [scan for report in reports for scan in report.scans if scan.filters]


def files(scans: list[ScanReport]) -> list[tuple[int, int]]:
    """How many files were read of how many, scan by scan."""
    return [(scan.files_read, scan.files_total) for scan in scans]


def changes(spark: SparkSession, sql: str) -> None:
    """Let a query be the source of the next MERGE: the view ``changes``."""
    spark.sql(sql).createOrReplaceTempView("changes")
