"""What the report says of operators with a moving value: it outlives the query, and counts all that is kept."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import headgate
from headgate.errors import BadInput
from headgate.stream import MoveReport
from tests.stream.epochs import Driver, left, right
from tests.stream.test_dynamic_filter import compared

pytestmark = pytest.mark.usefixtures("operators")


def moves(query: str) -> list[MoveReport]:
    return headgate.streaming_report(query).moves


def forgotten(spark: SparkSession, home: Path) -> None:
    """Collect all that is left of a query, after others have run."""
    other = Driver(spark, home, {"it": compared(">")})
    other.feed([left(("+I", 1))])
    other.run()
    spark.range(10).count()
    jvm = spark._jvm
    assert jvm is not None
    for _ in range(2):
        gc.collect()
        jvm.System.gc()


def test_the_report_outlives_the_query(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path / "one", {"it": compared(">")})
    driver.feed([left(("+I", 1), ("+I", 2)), right(1)])
    driver.run()
    said = moves(driver.query_id)
    assert [(move.batch_id, move.before, move.after, move.moved_in) for move in said] == [
        (0, "none", "none", 0),
        (1, "none", "1", 1),
    ]
    forgotten(spark, tmp_path / "two")
    assert moves(driver.query_id) == said


def test_the_report_outlives_a_failure(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path / "one", {"it": compared(">", order=None)})
    driver.feed([left(("+I", 1), ("+I", 2)), right(1), right(3, 2)])
    with pytest.raises(StreamingQueryException, match="has two rows"):
        driver.run()
    forgotten(spark, tmp_path / "two")
    assert [(move.batch_id, move.after, move.rows_kept) for move in moves(driver.query_id)] == [
        (0, "none", 2),
        (1, "1", 2),
    ]


def test_rows_kept_are_those_of_all_vnodes(spark: SparkSession, tmp_path: Path) -> None:
    """Most vnodes have no input in most batches; a restart forgets nothing, and tells no batch twice."""
    driver = Driver(spark, tmp_path, {"it": compared(">", vnodes=8)})
    driver.feed([left(*(("+I", k) for k in range(40))), left(("+I", 40)), left(("-D", 7)), right(3)])
    driver.run()
    assert [move.rows_kept for move in moves(driver.query_id)] == [40, 41, 40, 40]
    (tmp_path / "checkpoint" / "commits" / "3").unlink()
    driver.feed([left(("+I", 41))])
    driver.run()
    assert [(move.batch_id, move.rows_kept) for move in moves(driver.query_id)] == [
        (0, 40),
        (1, 41),
        (2, 40),
        (3, 40),
        (4, 41),
    ]


def test_a_report_of_what_is_no_query() -> None:
    with pytest.raises(
        BadInput, match=r"query is NoneType; give the StreamingQuery that start\(\) returned, or its id"
    ):
        headgate.streaming_report(None)
    assert headgate.streaming_report("never started").moves == []
