"""What docs/differences.md says of streams: which numbers of Spark's progress change, and which errors are not seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.stream.streams import Row, Run, read_stream, write_batch
from tests.stream.test_pushdown import RISING, same, windowed


def test_progress_does_not_count_what_is_not_read(gated: SparkSession, tmp_path: Path) -> None:
    """The third batch has a late row beside one on time, the fourth nothing but a late row."""
    pair = same(gated, tmp_path, windowed, [*RISING, [(1, 9, 3.0), (2, 9, 300.0)], [(1, 9, 4.0)]])
    told: dict[str, dict[int, Any]] = {
        name: {progress["batchId"]: progress for progress in run.raw} for name, run in pair.runs.items()
    }
    assert [told["off"][number]["numInputRows"] for number in (2, 3)] == [2, 1]
    assert [told["on"][number]["numInputRows"] for number in (2, 3)] == [2, 0]  # what lies in one row group is read
    times = {name: {key: found[2]["eventTime"][key] for key in ("min", "max", "avg")} for name, found in told.items()}
    assert times["off"]["max"] == times["on"]["max"] == times["on"]["min"] == times["on"]["avg"]
    assert times["off"]["min"] != times["on"]["min"]
    assert "max" in told["off"][3]["eventTime"]
    assert "max" not in told["on"][3]["eventTime"]


def test_an_error_in_a_late_row_is_not_seen(gated: SparkSession, tmp_path: Path) -> None:
    """Spark alone computes a late row before it drops it."""
    batches: list[list[Row]] = [*RISING, [(1, 9, 3.0), (2, 2, 300.0)]]
    for number, rows in enumerate(batches):
        write_batch(tmp_path / "source", number, rows)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        stream = read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")
        failing = stream.withColumn("v", sf.when(sf.col("v") == 9, sf.raise_error("nine")).otherwise(sf.col("v")))
        return failing.groupBy(sf.window("ts", "20 seconds")).agg(sf.sum("v").alias("v"))

    run = Run(tmp_path / "on")
    run.finish(run.start(program(gated, [tmp_path / "source"])))
    assert sum(len(rows) for rows in run.batches.values()) > 0
    alone = Run(tmp_path / "off")
    with pytest.raises(StreamingQueryException, match="nine"):
        alone.finish(alone.start(program(gated.newSession(), [tmp_path / "source"])))
