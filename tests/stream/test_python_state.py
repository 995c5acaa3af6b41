"""Stateful operators with Python functions: late rows do not reach them, and would not have without Headgate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from tests.stream.random_programs import random_program
from tests.stream.streams import Pair, Row, read_stream
from tests.stream.test_pushdown import RISING

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
INPUT: list[list[Row]] = [*RISING, [(1, 9, 3.0), (2, 9, 300.0)], [(1, 9, 4.0), (1, 8, 195.0)], [(3, 1, 500.0)]]


def _stream(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    return read_stream(spark, folders[0]).withWatermark("ts", "10 seconds").where("k is not null")


def _summed(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    (total,) = state.getOption or (0,)
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"k": [key[0]], "v": [-total]})
        return
    for frame in frames:
        total += int(frame.v.sum())
    state.update((total,))
    state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 60_000)
    yield pd.DataFrame({"k": [key[0]], "v": [total]})


def in_pandas(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """Sums with a time-out in event time."""
    grouped = _stream(spark, folders).groupBy("k")
    timeout = GroupStateTimeout.EventTimeTimeout
    return grouped.applyInPandasWithState(_summed, "k int, v int", "total int", "update", timeout)


def in_pandas_without_time(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """The same without a time-out: then Spark drops nothing."""

    def summed(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        (total,) = state.getOption or (0,)
        total += sum(int(frame.v.sum()) for frame in frames)
        state.update((total,))
        yield pd.DataFrame({"k": [key[0]], "v": [total]})

    grouped = _stream(spark, folders).groupBy("k")
    return grouped.applyInPandasWithState(summed, "k int, v int", "total int", "update", GroupStateTimeout.NoTimeout)


def with_state(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """Counts with timers in event time."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Count(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.count = handle.getValueState("count", "n int")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802,N803
            n = ((self.count.get() or (0,))[0] if self.count.exists() else 0) + sum(len(frame) for frame in rows)
            self.count.update((n,))
            self.handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 60_000)
            yield pd.DataFrame({"k": [key[0]], "n": [n]})

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802,N803
            n = (self.count.get() or (0,))[0] if self.count.exists() else 0
            self.count.clear()
            yield pd.DataFrame({"k": [key[0]], "n": [-n]})

        def close(self) -> None:
            pass

    grouped = _stream(spark, folders).groupBy("k")
    return grouped.transformWithStateInPandas(Count(), "k int, n int", "Update", "eventTime")


def _random_input(seed: int) -> list[list[Row]]:
    return [list(batch) for batch in random_program(seed, inputs=1).batches[0]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batches", [INPUT, _random_input(61), _random_input(62)], ids=["known", "61", "62"])
def test_apply_in_pandas_with_state(gated: SparkSession, tmp_path: Path, batches: list[list[Row]]) -> None:
    pair = Pair(gated, tmp_path, in_pandas, mode="update")
    pair.feed([batches])
    pair.run()
    pair.assert_same()
    assert pair.runs["on"].dropped == 0
    assert pair.runs["off"].dropped == pair.report().late_rows
    assert pair.report().late_rows == 2 or batches is not INPUT


def test_state_that_knows_no_event_time_keeps_late_rows(gated: SparkSession, tmp_path: Path) -> None:
    pair = Pair(gated, tmp_path, in_pandas_without_time, mode="update")
    pair.feed([INPUT])
    pair.run()
    pair.assert_same()
    reason = "FlatMapGroupsInPandasWithState does not use event time, so it drops no late rows"
    assert pair.report().batches[2].sources[0].reason == reason


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batches", [INPUT, _random_input(63)], ids=["known", "63"])
def test_transform_with_state(gated: SparkSession, tmp_path: Path, batches: list[list[Row]]) -> None:
    pair = Pair(gated, tmp_path, with_state, mode="update", **{"streaming.stateStore.providerClass": ROCKS})
    pair.feed([batches])
    pair.run()
    pair.assert_same()
    assert pair.runs["on"].dropped == 0
    assert pair.runs["off"].dropped == pair.report().late_rows
    assert pair.report().late_rows == 2 or batches is not INPUT
