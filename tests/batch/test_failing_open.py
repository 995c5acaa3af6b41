"""A query never fails because of Headgate: whatever goes wrong in it, the query runs unfiltered and the report tells."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headgate
from headgate.catalyst.wire import PlanEdits
from headgate.query import pipeline
from headgate.query.run import QueryRun
from tests.batch.differential import assert_narrowed, assert_same, enabled, files_opened, rows_of

QUERY = "select fact.k, num from fact join (select * from dim where grp = 3) d on fact.k = d.id"


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a stone in the gate")


@pytest.mark.parametrize("step", ["Scans", "plan_filters", "RunningWave", "read_settings"])
def test_a_step_that_fails_leaves_the_query_unfiltered(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Each step of the pipeline may fail: the rows are the same, all files are read, and the failure is told."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark) as gate:
        monkeypatch.setattr(pipeline, step, broken)
        frame = spark.sql(QUERY)
        assert_same(expected, rows_of(frame))
        monkeypatch.undo()
        assert sorted(files_opened(frame)) == [1, 8]
        assert gate.report().failures == ["RuntimeError: a stone in the gate"]
        assert "a stone in the gate" in str(gate.report())


def test_a_plan_that_cannot_be_written_leaves_the_query_unfiltered(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure inside the JVM, here a build that does not exist, is one like any other."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark) as gate:
        monkeypatch.setattr(QueryRun, "edits", lambda _: PlanEdits(builds={1: 99}))
        assert_same(expected, rows_of(spark.sql(QUERY)))
        monkeypatch.undo()
        assert len(gate.report().failures) == 1


def test_the_next_query_is_filtered_again(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure is of one query; the next one has its filters."""
    with enabled(spark) as gate:
        monkeypatch.setattr(pipeline, "plan_filters", broken)
        spark.sql(QUERY).collect()
        monkeypatch.undo()
        assert len(gate.report().failures) == 1
        spark.sql(QUERY).collect()
        assert_narrowed(headgate.report(spark), "fact", "k")
        assert gate.report().failures == []
        assert gate.reports[-1].failures == []
        assert len(gate.failures) == 1


def test_failures_are_logged_once_and_counted(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first failure is a warning in the log; later ones are only counted."""
    with enabled(spark) as gate, caplog.at_level(logging.WARNING, "headgate"):
        monkeypatch.setattr(pipeline, "plan_filters", broken)
        for _ in range(3):
            spark.sql(QUERY).collect()
        monkeypatch.undo()
        assert len(gate.failures) == 3
        assert gate.report().failures == gate.failures[-1:], "a report has what failed in its own query"
    assert [record.getMessage() for record in caplog.records if "stone" in record.getMessage()] != []
    assert sum("stone" in record.getMessage() for record in caplog.records) == 1


def test_filtered_keeps_the_query_running_too(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """headgate.filtered of a query whose planning fails gives the query as it was."""
    expected = rows_of(spark.sql(QUERY))
    monkeypatch.setattr(pipeline, "plan_filters", broken)
    assert_same(expected, rows_of(headgate.filtered(spark.sql(QUERY))))
