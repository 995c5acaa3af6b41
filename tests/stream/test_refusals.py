"""Where it cannot be shown that a late row does not matter, nothing is cut, and the report says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType

from tests.stream.functions import rows_in_arrow, rows_in_batch, rows_so_far
from tests.stream.operators import by_key, session
from tests.stream.streams import Pair, Row, read_stream
from tests.stream.test_pushdown import RISING, _First

LATE: list[Row] = [(1, 9, 3.0), (2, 9, 300.0)]


def _stream(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")


def _counted(stream: DataFrame) -> DataFrame:
    return stream.groupBy(sf.window("ts", "20 seconds"), "k").agg(sf.sum("v").alias("v"))


def keyed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return by_key([_stream(spark, folders)], _First())


def sessions(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return session([_stream(spark, folders)], _First())


def counted(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders))


def observed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).observe("seen", sf.count(sf.lit(1)).alias("rows")))


def drawn(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).where(sf.rand(7) + sf.col("v") >= -1))


def fed_by_state(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    inner = _counted(_stream(spark, folders)).select("k", sf.window_time("window").alias("ts"))
    return inner.union(_stream(spark, folders).select("k", "ts")).dropDuplicates(["k", "ts"])


def in_batches(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).withColumn("v", rows_in_batch("v")))


def in_a_row(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).withColumn("v", rows_so_far("v")))


def in_arrow(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    function: Any = sf.arrow_udf  # type: ignore[attr-defined]  # PySpark finds it when it runs
    return _counted(_stream(spark, folders).withColumn("v", function(rows_in_arrow, LongType())("v")))


def dealt_out(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).repartition(3))


def by_range(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).repartitionByRange(3, "v"))


def numbered(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).withColumn("v", sf.spark_partition_id()))


def unmatched(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return _counted(_stream(spark, folders).join(spark.range(3), sf.col("id") > sf.col("k"), "left"))


BEFORE = "comes before the operator that drops late rows, and needs every row"


@pytest.mark.parametrize(
    ("program", "mode", "settings", "reason"),
    [
        (keyed, "update", {}, "Aggregate has no event time column to find late rows by"),
        (counted, "complete", {}, "complete output mode keeps every group, so Spark drops no late rows"),
        (
            sessions,
            "append",
            {"streaming.sessionWindow.merge.sessions.in.local.partition": "true"},
            "sessions are merged before late rows are dropped, so a late row may matter",
        ),
        (observed, "append", {}, f"CollectMetrics {BEFORE}"),
        (drawn, "append", {}, f"Filter {BEFORE}"),
        (fed_by_state, "append", {}, "another stateful operator feeds Deduplicate, so its watermark may be lower"),
        (in_batches, "append", {}, f"ArrowEvalPython {BEFORE}"),
        (in_a_row, "append", {}, f"ArrowEvalPython {BEFORE}"),
        pytest.param(
            *(in_arrow, "append", {}, f"ArrowEvalPython {BEFORE}"),
            marks=pytest.mark.skipif(not hasattr(sf, "arrow_udf"), reason="Spark 4.0 has no Arrow UDFs"),
        ),
        (numbered, "append", {}, f"Project {BEFORE}"),
        (dealt_out, "append", {}, f"Repartition {BEFORE}"),
        (by_range, "append", {}, f"RepartitionByExpression {BEFORE}"),
        (unmatched, "append", {}, f"Join {BEFORE}"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_nothing_is_cut_where_a_late_row_may_matter(
    gated: SparkSession,
    tmp_path: Path,
    program: Callable[[SparkSession, Sequence[Path]], DataFrame],
    mode: str,
    settings: dict[str, str],
    reason: str,
) -> None:
    pair = Pair(gated, tmp_path, program, mode=mode, **settings)
    pair.feed([[*RISING, LATE, LATE]])
    pair.run()
    pair.assert_same()
    refused = [source for source in pair.report().batches[2].sources if source.cut_off is None]
    assert [source.reason for source in refused] == [reason]
    observations = [[told["observedMetrics"] for told in run.raw] for run in pair.runs.values()]
    assert observations[0] == observations[1]
