"""Where it cannot be shown that a late row does not matter, nothing is cut, and the report says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

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


@pytest.mark.parametrize(
    ("program", "mode", "settings", "reason"),
    [
        (keyed, "update", {}, "Aggregate has no event time to find late rows by"),
        (counted, "complete", {}, "complete output keeps every group"),
        (
            sessions,
            "append",
            {"streaming.sessionWindow.merge.sessions.in.local.partition": "true"},
            "sessions are merged before late rows are dropped, so a late row may matter",
        ),
        (observed, "append", {}, "CollectMetrics stands before the operator that drops late rows"),
        (drawn, "append", {}, "Filter stands before the operator that drops late rows"),
        (fed_by_state, "append", {}, "another stateful operator feeds the same Deduplicate"),
    ],
    ids=["no event time", "complete", "merged sessions", "observed", "random", "fed by state"],
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
