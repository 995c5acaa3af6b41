"""Orders above a threshold that moves: a stream that keeps them up to date, against asking again after each move."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import headgate.api as api
from headgate.demo.shown import Shown, Tell, timed
from headgate.stream import dynamic_filter, streaming_report

MOVES = (900_000, 901_000, 899_500, 905_000, 904_000)
MOST = 1_000_000


def show(spark: SparkSession, home: Path, rows: int, tell: Tell) -> Shown:
    """Move the threshold, and compare the rows above it after each move."""
    tell("writing orders")
    _write(home, rows)
    tell("a threshold that moves, asked again after each move")
    api.disable(spark)
    orders = spark.read.parquet(str(home / "orders"))
    off = 0.0
    expected: list[int] = []
    for threshold in MOVES:
        took, above = timed(orders.where(f"amount > {threshold}").count)
        off, expected = off + took, [*expected, above]
    tell("a threshold that moves, as a stream")
    api.enable(spark)
    on, held, touched = _follow(spark, home)
    return Shown(off, on, f"{rows * len(MOVES):,} rows", f"{touched:,} rows after the first", held == expected)


def _follow(spark: SparkSession, home: Path) -> tuple[float, list[int], int]:
    one_file = spark.readStream.option("maxFilesPerTrigger", 1)
    above = dynamic_filter(
        one_file.schema("id bigint, amount bigint").parquet(str(home / "orders")),
        one_file.schema("at bigint, threshold bigint").parquet(str(home / "thresholds")),
        "amount > threshold",
        key="id",
        order="at",
    )
    held: list[int] = []

    def follow(changes: DataFrame, _: int) -> None:
        row = changes.selectExpr("sum(CASE WHEN _op LIKE '+%' THEN 1 ELSE -1 END) AS n").first()
        assert row is not None
        held.append((held[-1] if held else 0) + (row["n"] or 0))

    query = above.writeStream.foreachBatch(follow).option("checkpointLocation", str(home / "moves"))
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    took = sum(batch["durationMs"]["triggerExecution"] for batch in running.recentProgress[1:]) / 1000
    moved = [move.moved_in + move.moved_out for move in streaming_report(running).moves]
    return took, held, sum(moved[1:])


def _write(home: Path, rows: int) -> None:
    """Write all orders for the first micro-batch, and a threshold for each."""
    draw = np.random.default_rng(3)
    (home / "orders").mkdir(parents=True)
    (home / "thresholds").mkdir()
    orders = {"id": np.arange(rows), "amount": draw.integers(0, MOST, rows)}
    pq.write_table(pa.table(orders), home / "orders" / "all.parquet")
    for number, threshold in enumerate(MOVES):
        path = home / "thresholds" / f"{number:03}.parquet"
        pq.write_table(pa.table({"at": [number], "threshold": [threshold]}), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
