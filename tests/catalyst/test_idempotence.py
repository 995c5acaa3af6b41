"""A plan that Headgate has narrowed is not narrowed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import headgate
from headgate.observe import QueryReport
from tests.batch.differential import enabled, files_opened, rows_of

QUERY = "select k, v, name from cat_fact join (select * from cat_dim where id < 60) d on k = id"


def reasons(report: QueryReport) -> set[str]:
    return {f.reason for f in report.filters}


def optimized(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().optimizedPlan()


def test_a_query_is_narrowed_once(spark: SparkSession, pair: Path) -> None:
    """Asking a frame for its plan twice, and running it then, narrows it once; the optimizer's repeats do not count."""
    with enabled(spark) as gate:
        frame = spark.sql(QUERY)
        first, second = optimized(frame), optimized(frame)
        assert first.equals(second)
        assert first.toString().count("Relation") == 2
        assert len(gate.reports) == 1
        frame.collect()
        assert len(gate.reports) == 1


@pytest.mark.parametrize("threshold", ["-1", "10m"], ids=["shuffled", "broadcast"])
def test_a_gated_plan_is_already_filtered(spark: SparkSession, pair: Path, threshold: str) -> None:
    """Through the journey again a narrowed scan gets no filter and says so; rows and files stay as they were."""
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    expected = rows_of(spark.sql(QUERY))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    try:
        with enabled(spark) as gate:
            narrowed = gate.filtered(spark.sql(QUERY))
            root, report = gate.explain(narrowed)
            assert [getattr(node, "source", "") for node in root.walk()].count("gated") == 1
            assert "already filtered" in reasons(report)
            assert not [f for f in report.filters if f.state == "applied" and f.column == "k"]
            assert rows_of(narrowed) == expected
            assert 1 in files_opened(narrowed)
            assert headgate.report(spark).failures == []
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)


def test_filtering_a_filtered_frame_changes_nothing(spark: SparkSession, pair: Path) -> None:
    """The frame of a narrowed plan is returned as it is."""
    with enabled(spark) as gate:
        narrowed = gate.filtered(spark.sql(QUERY))
        again = gate.filtered(narrowed)
        assert rows_of(again) == rows_of(narrowed)
        assert optimized(again).toString().count("Relation") == optimized(narrowed).toString().count("Relation")


def test_a_gated_scan_may_be_a_build_side(spark: SparkSession, pair: Path) -> None:
    """What is left of a narrowed table is stable, so it can feed the filter of another join."""
    expected = rows_of(spark.sql(QUERY).alias("a").join(spark.table("cat_fact").alias("b"), on="k"))
    with enabled(spark) as gate:
        narrowed = gate.filtered(spark.sql(QUERY))
        frame = narrowed.join(spark.read.parquet(str(pair / "cat_fact")).alias("b"), on="k")
        assert rows_of(frame) == expected
        report = headgate.report(spark)
        assert [f.column for f in report.filters if f.state == "applied"] == ["k"], str(report)
        assert report.failures == []
