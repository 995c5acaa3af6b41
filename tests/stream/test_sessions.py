"""Streams run in clones of their session: the rule goes with them, and so does disabling it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import headgate
from tests.stream.streams import Row, read_stream, write_batch
from tests.stream.test_pushdown import RISING


def test_batch_queries_inside_foreach_batch_keep_working(gated: SparkSession, tmp_path: Path) -> None:
    """A join with a table inside `foreachBatch` gives its rows, while the stream around it is filtered."""
    batches: list[list[Row]] = [*RISING, [(1, 1, 2.0), (2, 2, 300.0)]]
    for number, rows in enumerate(batches):
        write_batch(tmp_path / "source", number, rows)
    gated.range(10).selectExpr("cast(id as int) id", "id * 10 as tens").write.parquet(str(tmp_path / "table"))
    found: dict[int, list[tuple[int, int]]] = {}

    def join(rows: DataFrame, number: int) -> None:
        table = rows.sparkSession.read.parquet(str(tmp_path / "table"))
        joined = rows.join(table, rows.k == table.id).select("k", "tens").collect()
        found[number] = sorted((row.k, row.tens) for row in joined)

    stream = read_stream(gated, tmp_path / "source").withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])
    writer = stream.writeStream.foreachBatch(join).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert [found[number] for number in range(3)] == [[(1, 10), (2, 20)], [(1, 10)], [(2, 20)]]
    assert headgate.streaming_report(query).late_rows == 1


def test_disabling_reaches_a_running_query(gated: SparkSession, tmp_path: Path) -> None:
    """The query goes on, unfiltered; nothing more is told of it."""
    batches: list[list[Row]] = [*RISING, [(1, 1, 2.0)]]
    for number, rows in enumerate(batches):
        write_batch(tmp_path / "source", number, rows)
    stream = read_stream(gated, tmp_path / "source").withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        filtered = headgate.streaming_report(query)
        headgate.disable(gated)
        write_batch(tmp_path / "source", 3, [(1, 1, 3.0)])
        query.processAllAvailable()
        dropped = sum(op["numRowsDroppedByWatermark"] for told in query.recentProgress for op in told["stateOperators"])
    finally:
        query.stop()
    assert filtered.late_rows == 1
    assert headgate.streaming_report(query) == filtered
    assert dropped == 1


def test_a_session_that_is_not_enabled_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_batch(tmp_path / "source", 0, RISING[0])
    stream = read_stream(spark, tmp_path / "source").withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        assert headgate.streaming_report(query).batches == []
    finally:
        query.stop()


def test_a_failure_is_counted_and_the_batch_goes_on_unfiltered(gated: SparkSession, tmp_path: Path) -> None:
    """The report tells how often, and why the last time; Spark drops the late row by itself."""
    headgate.enable(gated, watermark_strict=True)
    for number, rows in enumerate(RISING):
        write_batch(tmp_path / "source", number, rows)
    stream = read_stream(gated, tmp_path / "source").withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        assert headgate.streaming_report(query).failures == 0
        clone = query._jsq.streamingQuery().sparkSessionForStream()
        clone.sessionState().conf().settings().put("spark.headgate.watermark.slack", "soon")  # SET would refuse it
        write_batch(tmp_path / "source", 2, [(1, 9, 3.0), (2, 9, 300.0)])
        query.processAllAvailable()
        assert query.exception() is None
        dropped = sum(op["numRowsDroppedByWatermark"] for told in query.recentProgress for op in told["stateOperators"])
    finally:
        query.stop()
    report = headgate.streaming_report(query)
    assert report.failures == sum(bool(batch.failure) for batch in report.batches) >= 1
    assert "spark.headgate.watermark.slack=soon is not a duration" in report.last_failure
    assert "soon is not a duration" in str(report)
    assert dropped == 1
