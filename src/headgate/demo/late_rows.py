"""A stream of events counted by the minute, most of whose files hold only rows that come too late to matter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate.api as api
from headgate.demo.shown import Shown, Tell
from headgate.stream import streaming_report

SECOND = 1_000_000
NOW = 1_709_294_400 * SECOND
FILES, PER_BATCH, LEAD_IN = 48, 8, 16  # a watermark counts from the third batch on


def show(spark: SparkSession, home: Path, rows: int, tell: Tell) -> Shown:
    """Run the stream off and on."""
    tell("writing events")
    _write(home / "events", max(rows // FILES, 100))
    tell("a stream with late rows, off")
    api.disable(spark)
    off, expected, _ = _run(spark, home, "off")
    tell("a stream with late rows, on")
    api.enable(spark)
    on, counted, query = _run(spark, home, "on")
    report = streaming_report(query)
    skipped = report.files_skipped
    return Shown(
        off,
        on,
        f"{FILES} files",
        f"{FILES - skipped} files, {report.late_rows:,} late rows cut",
        counted == expected,
    )


def _run(spark: SparkSession, home: Path, name: str) -> tuple[float, dict[Any, int], Any]:
    events = spark.readStream.schema("user int, at timestamp").option("maxFilesPerTrigger", PER_BATCH)
    counts = (
        events.parquet(str(home / "events"))
        .withWatermark("at", "1 minute")
        .groupBy(sf.window("at", "1 minute"), "user")
        .count()
    )
    found: dict[Any, int] = {}

    def keep(batch: DataFrame, _: int) -> None:
        found.update({(row.window.start, row.user): row["count"] for row in batch.collect()})

    writing = counts.writeStream.foreachBatch(keep).outputMode("update").option("checkpointLocation", str(home / name))
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()
    took = sum(batch["durationMs"]["triggerExecution"] for batch in query.recentProgress) / 1000
    return took, found, query


def _write(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True)
    draw = np.random.default_rng(2)
    for number in range(FILES):
        is_lead_in = number < LEAD_IN
        count = 100 if is_lead_in else rows
        hours = 0 if is_lead_in or number % PER_BATCH == 0 else -3600
        at = NOW + (hours + draw.integers(0, 60, count)) * SECOND
        events = {
            "user": draw.integers(0, 2_000, count).astype(np.int32),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
        }
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(events), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
