"""A build side that tells its keys while the query runs it: complete or silent, and never a row less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.batch.differential import Comparison, assert_same, compare, enabled, rows_of, settings
from tests.batch.test_late_filters import QUERY, late_filter

NO_BROADCAST = {"spark_sql_autoBroadcastJoinThreshold": "100"}


def tapped(spark: SparkSession, query: str, **options: Any) -> Comparison:
    with settings(spark, **NO_BROADCAST):
        return compare(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True, **options)


def plan_of(compared: Comparison) -> str:
    return str(compared.frame._jdf.queryExecution().optimizedPlan())


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_keys_are_noted_while_the_build_side_runs(spark: SparkSession, star: Path, adaptive: str) -> None:
    """No build job runs beside the query, and the filter has exactly the keys of the build side."""
    expected = {row.id for row in spark.sql("select id from dim where grp = 3").collect()}
    with settings(spark, **NO_BROADCAST, spark_sql_adaptive_enabled=adaptive):
        rows = rows_of(spark.sql(QUERY))
        with enabled(spark, max_wait="0s", non_blocking=True) as gate:
            frame = spark.sql(QUERY)
            assert_same(rows, rows_of(frame))
            late = gate.queries[-1].late
            assert late is not None
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
            late.join(60.0)
            told = late_filter(gate.report(), "k")
    assert "headgate_tap" in str(frame._jdf.queryExecution().optimizedPlan())
    assert told.values == len(expected)
    assert told.collect_ms == 0, "nothing was run for it"


def test_the_tapped_side_goes_first_and_columns_keep_their_order(spark: SparkSession, star: Path) -> None:
    compared = tapped(spark, "select * from fact join (select * from dim where grp = 3) d on fact.k = d.id")
    assert "headgate_tap" in plan_of(compared)


def test_one_shuffle_for_each_side(spark: SparkSession, star: Path) -> None:
    """The shuffle that is written out above the tap is the join's own: there is no second one."""
    with settings(spark, spark_sql_adaptive_enabled="false", **NO_BROADCAST):
        with enabled(spark, max_wait="0s", non_blocking=True):
            plan = str(spark.sql(QUERY)._jdf.queryExecution().executedPlan())
        assert "headgate_tap" in plan
        assert plan.count("Exchange hashpartitioning") == 2


def test_several_keys(spark: SparkSession, star: Path) -> None:
    query = """select f.k, d.grp from fact f join (select id, grp, big from dim where grp < 9) d
               on f.k = d.id and f.k = d.big"""
    tapped(spark, query)


def test_keys_with_null_and_empty_partitions(spark: SparkSession, star: Path) -> None:
    query = """select f.k from fact f join
               (select case when grp = 3 then id end id from dim where id < 700) d on f.k = d.id"""
    tapped(spark, query)


def test_an_empty_build_side_tells_nothing(spark: SparkSession, star: Path) -> None:
    compared = tapped(spark, QUERY.replace("grp = 3", "grp = 3000"), may_be_empty=True)
    assert compared.rows == []


@pytest.mark.parametrize("kind", ["left", "left semi", "left anti", "full"])
def test_only_inner_joins_are_tapped(spark: SparkSession, star: Path, kind: str) -> None:
    query = f"select f.k from fact f {kind} join (select * from dim where grp = 3) d on f.k = d.id"
    assert "headgate_tap" not in plan_of(tapped(spark, query))


def test_no_tap_on_a_side_that_is_broadcast(spark: SparkSession, star: Path) -> None:
    compared = compare(spark, lambda: spark.sql(QUERY), max_wait="0s", non_blocking=True)
    assert "headgate_tap" not in plan_of(compared)


def test_a_limit_above_does_not_make_a_tap_incomplete(spark: SparkSession, star: Path) -> None:
    """A join that stops early reads its shuffle in part, but the shuffle has been written whole."""
    with settings(spark, **NO_BROADCAST), enabled(spark, max_wait="0s", non_blocking=True) as gate:
        assert len(spark.sql(QUERY + " limit 2").collect()) == 2
        late = gate.queries[-1].late
        assert late is not None
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        late.join(60.0)
        expected = spark.sql("select count(*) c from dim where grp = 3").collect()[0].c
        assert late_filter(gate.queries[-1].report(), "k").values == expected


def test_taps_that_are_planned_and_never_run_are_given_up(spark: SparkSession, star: Path) -> None:
    """A plan that nobody runs leaves no thread behind when Headgate is taken out of the session."""
    with settings(spark, **NO_BROADCAST):
        with enabled(spark, max_wait="0s", non_blocking=True) as gate:
            spark.sql(QUERY)._jdf.queryExecution().optimizedPlan()
            late = gate.queries[-1].late
            assert late is not None
        late.join(60.0)
    assert not any(thread.is_alive() for thread in late._threads)
