"""Tables that are written after a query is planned: what it reads is what Spark alone would read, filtered or not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.batch.differential import enabled, rows_of, settings
from tests.sources.formats import Tables

KEYS = "id * 2 + {first} AS key", "id AS w"


@pytest.mark.parametrize("broadcast", ["10mb", "-1"], ids=["rows kept", "rows not kept"])
@pytest.mark.parametrize("dim", ["delta", "iceberg"])
@pytest.mark.parametrize("fact", ["delta", "iceberg"])
@pytest.mark.sampled(3)
def test_the_small_side_is_written_between(
    spark: SparkSession, tables: Tables, fact: str, dim: str, broadcast: str
) -> None:
    """Both are bound to the version that they were planned with; versions are not mixed, and no match is missed."""
    read_fact = tables.put(fact, spark.range(0, 2_000, 1, 8).selectExpr("id AS k", "id % 7 AS v"))
    first = [text.format(first=1_000) for text in KEYS]
    read_dim = tables.put(dim, spark.range(40).selectExpr(*first))

    def joined() -> DataFrame:
        return read_fact().join(read_dim().where("w >= 0"), col("k") == col("key"), "right")

    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast):
        plain = joined()
        plain._jdf.queryExecution().executedPlan()
        with enabled(spark, strategy="always"):
            filtered = joined()
            filtered._jdf.queryExecution().executedPlan()
            tables.add(dim, spark.range(40).selectExpr(*[text.format(first=200) for text in KEYS]))
            found = rows_of(filtered)
            after = rows_of(joined())
        assert found == rows_of(plain)
        assert after == rows_of(joined())
        assert len(after) == 80


@pytest.mark.parametrize("broadcast", ["10mb", "-1"], ids=["rows kept", "rows not kept"])
@pytest.mark.parametrize("dim", ["delta", "iceberg"])
def test_a_setting_changes_after_keys_were_learned(
    spark: SparkSession, tables: Tables, dim: str, broadcast: str
) -> None:
    """What a table gives may depend on settings, so keys that were learned under others count for nothing."""
    key = "spark.sql.caseSensitive"
    read_fact = tables.put("parquet", spark.range(0, 2_000, 1, 8).selectExpr("id AS k", "id % 7 AS v"))
    read_dim = tables.put(dim, spark.range(40).selectExpr(*[text.format(first=1_000) for text in KEYS]))

    def found() -> Any:
        with settings(spark, spark_sql_caseSensitive="false"):
            frame = read_fact().join(read_dim().where("w >= 0"), col("k") == col("key"), "right")
            frame._jdf.queryExecution().executedPlan()
            spark.conf.set(key, "true")
            return rows_of(frame)

    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast):
        expected = found()
        with enabled(spark, strategy="always") as gate:
            assert found() == expected
            (note,) = {report.note for report in gate.reports}
            assert gate.failures == []
    assert note == f"The query ran unfiltered: the setting {key} changed after the query was planned"
