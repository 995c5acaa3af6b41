"""A plan that Headgate has narrowed is not narrowed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

import headgate
from tests.batch.differential import enabled, files_opened, rows_of, settings

QUERY = "select k, v, name from cat_fact join (select * from cat_dim where id < 60) d on k = id"


def optimized(frame: Any) -> Any:
    return frame._jdf.queryExecution().optimizedPlan()


def test_a_query_is_narrowed_once(spark: SparkSession, pair: Path) -> None:
    """Asking a frame for its plan twice, and running it then, narrows it once; the optimizer's repeats do not count."""
    with enabled(spark) as gate:
        frame = spark.sql(QUERY)
        first, second = optimized(frame), optimized(frame)
        assert first.equals(second)
        assert first.toString().count("Relation") == 1  # the other side is rows that were kept
        assert len(gate.reports) == 1
        frame.collect()
        assert len(gate.reports) == 1


@pytest.mark.parametrize("threshold", ["-1", "10m"], ids=["shuffled", "broadcast"])
def test_a_plan_that_carries_its_filters_is_left_alone(spark: SparkSession, pair: Path, threshold: str) -> None:
    """A narrowed plan that is optimized once more is not narrowed again; its rows stay as they were."""
    expected = rows_of(spark.sql(QUERY))
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold), enabled(spark) as gate:
        narrowed = optimized(spark.sql(QUERY))
        made = len(gate.reports)
        datasets: Any = spark._jvm.org.apache.spark.sql.classic.Dataset
        again = DataFrame(datasets.ofRows(spark._jsparkSession, narrowed), spark)
        assert rows_of(again) == expected
        assert 1 in files_opened(again)
        assert len(gate.reports) == made
        assert headgate.report(spark).failures == []


def test_filtering_a_filtered_frame_changes_nothing(spark: SparkSession, pair: Path) -> None:
    """The frame of a narrowed plan is returned as it is."""
    with enabled(spark) as gate:
        narrowed = gate.filtered(spark.sql(QUERY))
        again = gate.filtered(narrowed)
        assert rows_of(again) == rows_of(narrowed)
        assert optimized(again).toString().count("Relation") == optimized(narrowed).toString().count("Relation")


def test_a_filtered_frame_is_filtered_with_what_it_is_joined_to(spark: SparkSession, pair: Path) -> None:
    """A filtered frame is narrowed in each query that it takes part in, as a whole."""
    expected = rows_of(spark.sql(QUERY).alias("a").join(spark.table("cat_fact").alias("b"), on="k"))
    with enabled(spark) as gate:
        narrowed = gate.filtered(spark.sql(QUERY))
        frame = narrowed.join(spark.read.parquet(str(pair / "cat_fact")).alias("b"), on="k")
        assert rows_of(frame) == expected
        report = headgate.report(spark)
        assert "k" in [f.column for f in report.filters if f.state == "applied"], str(report)
        assert report.failures == []
