"""What is remembered of a stream is numbers: the execution of a batch can go when the batch is over."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from tests.stream.streams import Row, read_stream, write_batch
from tests.stream.test_pushdown import RISING

LATE: list[Row] = [(1, 9, 3.0), (2, 9, 300.0)]


def _started(spark: SparkSession, home: Path) -> StreamingQuery:
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # the last batch is one with a source
    stream: DataFrame = (
        read_stream(spark, home / "source").withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])
    )
    return stream.writeStream.format("noop").option("checkpointLocation", str(home / "checkpoint")).start()


def _watched(query: StreamingQuery, jvm: Any, gone: Any) -> Any:
    """A weak reference to the execution of the last batch; `gone` is told when nothing holds it any more."""
    reference = jvm.java.lang.ref.WeakReference(query._jsq.streamingQuery().lastExecution(), gone)
    gc.collect()  # the execution's own stand-in in Python would hold it
    return reference


def _is_collected(jvm: Any, gone: Any) -> bool:
    """Whether the collector finds it; asked several times, since references are told of by a thread of their own."""
    for _ in range(20):
        gc.collect()
        jvm.java.lang.System.gc()
        if gone.remove(500) is not None:
            return True
    return False


def test_the_execution_of_an_early_batch_is_collected(gated: SparkSession, tmp_path: Path) -> None:
    """While the query runs on, and its report can still tell what was late in that batch."""
    jvm: Any = gated.sparkContext._jvm
    gone = jvm.java.lang.ref.ReferenceQueue()
    for number, rows in enumerate([*RISING, LATE]):
        write_batch(tmp_path / "source", number, rows)
    query = _started(gated, tmp_path)
    try:
        query.processAllAvailable()
        reference = _watched(query, jvm, gone)
        for number in (3, 4):
            write_batch(tmp_path / "source", number, LATE)
            query.processAllAvailable()
        assert _is_collected(jvm, gone), "something holds the execution of a batch that is over"
        assert reference is not None
        told = headgate.streaming_report(query).batches
    finally:
        query.stop()
    assert [batch.sources[0].late_rows for batch in told if batch.sources] == [0, 0, 1, 1, 1]


def test_nothing_of_a_stopped_stream_is_held_after_disable(gated: SparkSession, tmp_path: Path) -> None:
    """Not even its last execution; the report stays readable."""
    jvm: Any = gated.sparkContext._jvm
    gone = jvm.java.lang.ref.ReferenceQueue()
    for number, rows in enumerate([*RISING, LATE]):
        write_batch(tmp_path / "source", number, rows)
    query = _started(gated, tmp_path)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    query_id = str(query.id)
    reference = _watched(query, jvm, gone)
    headgate.disable(gated)
    del query
    assert _is_collected(jvm, gone), "something holds the last execution of a stopped stream"
    assert reference is not None
    assert headgate.streaming_report(query_id).late_rows == 1
