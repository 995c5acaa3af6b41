"""Spark's SQL tab shows what filters left out of a scan: what its store of executions has, which the tab and REST read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.batch.differential import enabled, rows_of, settings
from tests.batch.test_late_numbers import LATE, QUERY

FILES, GROUPS, ROWS = "headgate: files skipped", "headgate: row groups skipped", "headgate: rows removed"
# 0 to 35: the first two of four row groups of the first of eight files
SOME = QUERY.replace("0 and 100", "0 and 40")


def listed(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]


def store(spark: SparkSession) -> Any:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(30_000)
    return spark._jsparkSession.sharedState().statusStore()


def last_run(spark: SparkSession) -> list[tuple[str, str, dict[str, str]]]:
    """Of the last execution: each node with its text and the metrics that have a value, as the tab shows them."""
    found = store(spark)
    number = found.executionsList().last().executionId()
    values = found.executionMetrics(number)
    nodes = []
    for node in listed(found.planGraph(number).allNodes()):
        metrics = {str(m.name()): values.get(m.accumulatorId()) for m in listed(node.metrics())}
        nodes.append((node.name(), node.desc(), {n: v.get() for n, v in metrics.items() if v.isDefined()}))
    return nodes


def shown(spark: SparkSession, table: str = "fact") -> tuple[str, dict[str, str]]:
    """The text of the one scan of a table, and what Headgate added to its metrics."""
    nodes = [(desc, metrics) for name, desc, metrics in last_run(spark) if name.startswith("Scan") and table in desc]
    assert len(nodes) == 1, nodes
    return nodes[0][0], {name: value for name, value in nodes[0][1].items() if name.startswith("headgate")}


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_planning_left_out(spark: SparkSession, star: Path, adaptive: str) -> None:
    with settings(spark, spark_sql_adaptive_enabled=adaptive), enabled(spark):
        rows = rows_of(spark.sql(SOME))
        text, metrics = shown(spark)
        assert metrics == {FILES: "7", GROUPS: "2"}
        assert re.search(r"Headgate: \[df_\d+ \(.*\)\]", text), text
    assert rows == rows_of(spark.sql(SOME))
    assert shown(spark)[1] == {}, "without Headgate nothing is added"


def test_the_last_plan_of_an_adaptive_query_stays(spark: SparkSession, star: Path) -> None:
    """Its plan is told anew with each stage: the tab has the last one, as Spark's own listener left it, and our metrics."""
    query = SOME.replace("select * from dim", "select distinct * from dim")
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        expected = rows_of(spark.sql(query))
        with enabled(spark):
            assert rows_of(spark.sql(query)) == expected
    assert shown(spark)[1] == {FILES: "7", GROUPS: "2"}
    assert any(name.startswith("AQEShuffleRead") for name, _, _ in last_run(spark)), "only a last plan has it"
    described = store(spark).executionsList().last().physicalPlanDescription()
    assert "isFinalPlan=true" in described
    assert "Headgate: [" not in described


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_scan_that_is_left_with_no_file(spark: SparkSession, star: Path, adaptive: str) -> None:
    """Nothing of it is run, so no job tells when it ends."""
    query = SOME.replace("0 and 40", "-9 and -1")
    plain = {"spark_sql_adaptive_enabled": adaptive, "spark_sql_autoBroadcastJoinThreshold": "-1"}
    with settings(spark, **plain), enabled(spark):
        assert not rows_of(spark.sql(query))
    assert shown(spark)[1] == {FILES: "8"}


def test_what_late_filters_left_out(spark: SparkSession, star: Path, come_first: None) -> None:
    with enabled(spark, **LATE):
        spark.sql(SOME).collect()
        text, metrics = shown(spark)
        assert metrics == {FILES: "7", GROUPS: "2"}
        assert ", late]" in text, text


def test_rows_that_late_filters_removed(spark: SparkSession, star: Path, come_first: None) -> None:
    query = SOME.replace("select * from dim", "select distinct * from dim")  # which is not tapped
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"), enabled(spark, **LATE) as gate:
        spark.sql(query).collect()
        removed = sum(f.late.rows for f in gate.report().filters if f.late)
        assert removed
        assert shown(spark)[1] == {FILES: "7", GROUPS: "2", ROWS: f"{removed:,}"}


def test_a_second_run_of_one_plan(spark: SparkSession, star: Path) -> None:
    with settings(spark, spark_sql_adaptive_enabled="false"), enabled(spark):
        frame = spark.sql(SOME)
        assert rows_of(frame) == rows_of(frame)
        assert shown(spark)[1] == {FILES: "7", GROUPS: "2"}
