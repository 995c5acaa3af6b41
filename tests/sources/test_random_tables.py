"""Random Delta and Iceberg tables with a history, joined at random, with Headgate on and off: the same rows.

A usual run draws a few tables; HEADGATE_TABLES=1000 draws as many, and HEADGATE_FIRST=100 begins further on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import compare, enabled, rows_of

FIRST = int(os.environ.get("HEADGATE_FIRST", "0"))
COUNT = int(os.environ.get("HEADGATE_TABLES", "4"))
TYPES = {
    "bigint": "{id}",
    "int": "cast({id} AS int)",
    "decimal(12,2)": "cast({id} / 4 AS decimal(12, 2))",
    "string": "lpad({id}, 7, '0')",
    "date": "date_add(date'1995-01-01', cast({id} AS int))",
    "timestamp": "timestamp_seconds({id} * 60)",
    "double": "cast({id} AS double)",
}


class History:
    """One table and what befalls it; ``key`` is what its join column is called by now."""

    def __init__(self, spark: SparkSession, draw: random.Random, number: int) -> None:
        self.spark, self.draw, self.delta = spark, draw, draw.random() < 0.5
        self.name = f"random_{number}" if self.delta else f"ice.db.random_{number}"
        self.type, self.key = draw.choice(list(TYPES)), "k"
        self.rows, self.partitioned, self.bucketed = draw.choice([50, 400, 2_000]), draw.random() < 0.3, False

    def make(self) -> None:
        """Write the table, in several files, by key or not."""
        properties = [f"'delta.enableDeletionVectors' = '{str(self.draw.random() < 0.5).lower()}'"]
        if self.delta:
            properties.append("'delta.columnMapping.mode' = 'name'")
            if self.draw.random() < 0.2:
                properties.append("'delta.dataSkippingNumIndexedCols' = '1'")
        else:
            mode = self.draw.choice(["merge-on-read", "copy-on-write"])
            version = self.draw.choice(["2", "3"])
            properties = [f"'write.delete.mode' = '{mode}'", f"'format-version' = '{version}'"]
        by = " PARTITIONED BY (g)" if self.partitioned else ""
        using = "delta" if self.delta else "iceberg"
        self.spark.sql(f"DROP TABLE IF EXISTS {self.name}")
        self.spark.sql(
            f"CREATE TABLE {self.name} (v bigint, k {self.type}, g int, s string) USING {using}{by} "
            f"TBLPROPERTIES ({', '.join(properties)})"
        )
        self.insert(0)

    def insert(self, first: int) -> None:
        shuffled = self.draw.random() < 0.2
        files = self.draw.choice([1, 4, 8])
        frame = self.spark.range(first, first + self.rows, 1, files).selectExpr(*self._columns())
        (frame.repartition(files) if shuffled else frame).createOrReplaceTempView("inserted")
        self.spark.sql(f"INSERT INTO {self.name} ({', '.join(self._names())}) SELECT * FROM inserted")

    def _names(self) -> list[str]:
        return ["v", self.key, "g", "s"]

    def _columns(self) -> list[str]:
        value = TYPES[self.type].format(id="id")
        missing = f"CASE WHEN id % 17 = 3 THEN NULL ELSE {value} END" if self.draw.random() < 0.5 else value
        return ["id AS v", f"{missing} AS k", "cast(id % 3 AS int) AS g", "concat('s', id % 5) AS s"]

    def befall(self) -> None:
        """Let something happen to the table that its format has to remember."""
        sql = self.spark.sql
        match self.draw.randrange(7):
            case 0:
                sql(f"DELETE FROM {self.name} WHERE v % {self.draw.choice([2, 7, 50])} = 1")
            case 1:
                sql(f"UPDATE {self.name} SET g = g + 1, s = 'u' WHERE v % 11 = 2")
            case 2:
                sql(f"ALTER TABLE {self.name} ADD COLUMN extra_{self.draw.randrange(10**6)} int")
            case 3:
                fresh = f"k{self.draw.randrange(10**6)}"
                sql(f"ALTER TABLE {self.name} RENAME COLUMN {self.key} TO {fresh}")
                self.key = fresh
            case 4 if not self.delta and not self.bucketed:
                sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD bucket(4, v)")
                self.bucketed = True
            case 5 if self.delta:
                sql(f"OPTIMIZE {self.name}")
            case _:
                self.insert(self.draw.choice([0, self.rows, 10 * self.rows]))


def _changes(draw: random.Random, history: History) -> Callable[[SparkSession], DataFrame]:
    first, count, step = draw.randrange(-20, history.rows), draw.choice([0, 1, 6, 60, 300]), draw.choice([1, 2, 31])
    value = TYPES[history.type].format(id=f"(id * {step} + {first})")
    return lambda spark: spark.range(count).selectExpr(f"{value} AS key", "id AS w").where("w >= 0")


def _joined(draw: random.Random, key: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
    kind = draw.choice(["inner", "left_semi", "right", "left", "left_anti", "full"])
    above = draw.choice(["", "v > 20", "g = 1", "s IN ('s1', 's2') OR v < 9"])
    safe = draw.random() < 0.2

    def join(fact: DataFrame, dim: DataFrame) -> DataFrame:
        narrowed = fact.where(above) if above else fact
        same = narrowed[key].eqNullSafe(dim.key) if safe else narrowed[key] == dim.key
        return dim.join(narrowed, same, kind) if kind == "left_anti" else narrowed.join(dim, same, kind)

    return join


@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_random_tables(spark: SparkSession, number: int) -> None:
    draw = random.Random(number)
    history = History(spark, draw, number)
    history.make()
    try:
        for _ in range(draw.randrange(4)):
            history.befall()
        for _ in range(2):
            join, dim = _joined(draw, history.key), _changes(draw, history)(spark)
            compare(
                spark,
                lambda join=join, dim=dim: join(spark.table(history.name), dim),
                may_be_empty=True,
                strategy="always",
            )
        _planned_before(spark, history, _joined(draw, history.key), _changes(draw, history)(spark))
    finally:
        spark.sql(f"DROP TABLE {history.name}")


def _planned_before(
    spark: SparkSession, history: History, join: Callable[[DataFrame, DataFrame], DataFrame], dim: DataFrame
) -> None:
    """A writer commits after the query is planned: it reads the version that it was planned with, filtered or not."""
    plain = join(spark.table(history.name), dim)
    plain._jdf.queryExecution().executedPlan()
    with enabled(spark, strategy="always"):
        filtered = join(spark.table(history.name), dim)
        filtered._jdf.queryExecution().executedPlan()
        history.insert(0)
        found = rows_of(filtered)
    assert found == rows_of(plain)
