"""Measure watermark pushdown against its bars: `python -m bench.watermark`.

Streams run with Headgate and without it in turn, after a round that is not counted; a stream's time is the sum of
Spark's own `triggerExecution` of its batches, its lead-in left out. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import headgate
from bench import restarts
from bench.results import Result, all_met
from headgate import WatermarkFilter

SECOND = 1_000_000
HOUR = 3600 * SECOND
NOW = 1_709_294_400 * SECOND
FILES = 10  # in each batch
LEAD_IN = 2  # batches until a watermark counts


def as_time(seconds: float) -> str:
    """Return a short time in the unit that suits it."""
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else f"{seconds * 1e6:.2f} µs"


def as_ratio(ratio: float) -> str:
    """Return how many times as much."""
    return f"{ratio:.3f}" if ratio < 2 else f"{ratio:.1f}"


def as_count(count: float) -> str:
    """Return a whole number."""
    return f"{count:,.0f}"


def median_time(work: Callable[[], object], number: int = 2_000) -> float:
    """Return the median seconds of one call over 25 rounds of many."""
    return statistics.median(timeit.repeat(work, number=number, repeat=25)) / number


def arrow_batches() -> Iterator[Result]:
    """The generation check, and batches of 1,000 rows through `WatermarkFilter`."""
    draw = np.random.default_rng(seed=1)
    late = WatermarkFilter("ts", pa.timestamp("ms"))
    late.advance(500_000)
    seen = late.generation
    empty = median_time(lambda: None, 200_000)
    yield Result("generation check", median_time(lambda: late.generation != seen, 200_000) - empty, as_time, 100e-9)

    def batch_of(times: np.ndarray[Any, Any]) -> pa.RecordBatch:
        return pa.record_batch({"ts": pa.array(times, pa.timestamp("ms")), "value": pa.array(times)})

    on_time = batch_of(draw.integers(500_000, 1_000_000, 1_000))
    in_order = batch_of(np.sort(draw.integers(0, 1_000_000, 1_000)))
    scattered = batch_of(draw.integers(0, 1_000_000, 1_000))
    all_late = batch_of(draw.integers(0, 500_000, 1_000))
    copied = 0 if late.apply(on_time) is on_time else on_time.num_rows
    yield Result("1,000 rows, none late: rows copied", copied, as_count, 0)
    for name, batch in (("none late", on_time), ("half late, in order", in_order), ("all late", all_late)):
        yield Result(f"1,000 rows, {name}: filtered", median_time(partial(late.apply, batch)), as_time, 5e-6)
    yield Result("1,000 rows, half late, scattered: mask", median_time(lambda: late.evaluate(scattered)), as_time, 5e-6)
    yield Result("1,000 rows, half late, scattered: copied out", median_time(lambda: late.apply(scattered)), as_time)


def write_files(folder: Path, rows: int, batches: int, times: Callable[[int, np.random.Generator], Any]) -> int:
    """Write a lead-in that sets the watermark, then batches of ten files; return the rows after the lead-in."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed=2)
    for number in range((LEAD_IN + batches) * FILES):
        lead_in = number < LEAD_IN * FILES
        count = 100 if lead_in else rows
        found = NOW + draw.integers(0, 60 * SECOND, count) if lead_in else times(number - LEAD_IN * FILES, draw)
        table = pa.table(
            {
                "user": draw.integers(0, 2_000, count).astype(np.int32),
                "amount": draw.random(count),
                "page": pa.array(draw.integers(0, 50, count)).cast(pa.string()),
                "ts": pa.array(found, pa.timestamp("us", "UTC")),
            }
        )
        path = folder / f"part-{number:05}.parquet"
        pq.write_table(table, path, row_group_size=50_000)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return rows * batches * FILES


@dataclass
class Stream:
    """One input, and how long it took with Headgate and without."""

    folder: Path
    rows: int
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"off": [], "on": []})
    answers: dict[str, list[Any]] = field(default_factory=dict)
    late_rows: int = 0
    files_skipped: int = 0

    def speed_up(self) -> float:
        """How many times the rows per second of Spark alone."""
        return statistics.median(self.seconds["off"]) / statistics.median(self.seconds["on"])

    def rate(self, variant: str) -> float:
        """Rows per second."""
        return self.rows / statistics.median(self.seconds[variant])


def run_stream(spark: SparkSession, stream: Stream, variant: str, home: Path, name: str) -> float:
    """Run a windowed aggregation over a folder; return the seconds of its batches after the lead-in."""
    reader = spark.readStream.schema("user int, amount double, page string, ts timestamp")
    source = reader.option("maxFilesPerTrigger", FILES).parquet(str(stream.folder)).withWatermark("ts", "1 minute")
    counted = source.groupBy(sf.window("ts", "1 minute"), "user").agg(
        sf.count("*").alias("n"), sf.max("amount").alias("top")
    )
    query = (
        counted.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(home / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    stream.answers[variant] = sorted(map(tuple, spark.table(name).collect()))
    spark.catalog.dropTempView(name)
    if variant == "on":
        report = headgate.streaming_report(query)
        stream.late_rows, stream.files_skipped = report.late_rows, report.files_skipped
    batches = [told for told in query.recentProgress if told["batchId"] >= LEAD_IN]
    return float(sum(told["durationMs"]["triggerExecution"] for told in batches)) / 1000


def streams(home: Path, rounds: int, rows: int, batches: int) -> Iterator[Result]:
    """A backlog that is 90 percent late in files of its own, the same scattered over all files, and nothing late."""
    day, minute = 24 * HOUR, 60 * SECOND

    def recent(number: int, draw: np.random.Generator) -> Any:
        return NOW + (number // FILES) * 10 * SECOND + draw.integers(0, minute, rows)

    def backlog(number: int, draw: np.random.Generator) -> Any:
        on_time = number % FILES == FILES - 1
        return recent(number, draw) if on_time else NOW - day + draw.integers(0, 20 * HOUR, rows)

    def scattered(number: int, draw: np.random.Generator) -> Any:
        late = draw.random(rows) < 0.9
        return np.where(late, NOW - day + draw.integers(0, 20 * HOUR, rows), recent(number, draw))

    kinds = {"backlog": backlog, "scattered": scattered, "on time": recent}
    found = {name: Stream(home / name, write_files(home / name, rows, batches, times)) for name, times in kinds.items()}
    _interleave(home, found, rounds)
    late = found["backlog"]
    yield Result("backlog 90% late: rows/s, Spark alone", late.rate("off"), as_count)
    yield Result(
        f"  with Headgate ({late.late_rows:,} late rows, {late.files_skipped} files unread)", late.rate("on"), as_count
    )
    yield Result("  times as many, output identical", late.speed_up(), as_ratio, 3.0, at_least=True)
    yield Result("the same with late rows in every file: times as many", found["scattered"].speed_up(), as_ratio)
    yield Result(
        "nothing late: time with Headgate against Spark alone", 1 / found["on time"].speed_up(), as_ratio, 1.03
    )


def _interleave(home: Path, found: dict[str, Stream], rounds: int) -> None:
    """Take the streams and both variants in turn; which variant goes first changes with each round."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    sessions = {"off": spark.newSession(), "on": spark}
    headgate.enable(spark)
    for number in range(rounds + 1):
        for name, stream in found.items():
            for variant in ("off", "on") if number % 2 else ("on", "off"):
                label = f"{name.replace(' ', '_')}_{variant}_{number}"
                seconds = run_stream(sessions[variant], stream, variant, home / "checkpoints", label)
                if number:
                    stream.seconds[variant].append(seconds)
            if stream.answers["off"] != stream.answers["on"]:
                raise SystemExit(f"{name}: the output with Headgate differs")
    headgate.disable(spark)
    spark.stop()


def killing(home: Path, kills: int) -> Iterator[Result]:
    """Kill a query again and again; what it wrote must be what Spark alone writes undisturbed."""
    restarts.write_input(home / "source", seed=6)
    plain = restarts.run(home / "plain", home / "source", headgate=False)
    killed = restarts.run(home / "killed", home / "source", kills=kills, seed=6)
    differing = sum(plain.batches.get(name) != rows for name, rows in killed.batches.items())
    missing = len(plain.batches.keys() - killed.batches.keys())
    yield Result(f"killed {killed.kills} times: batches that differ", differing + missing, as_count, 0)


def main() -> int:
    """Measure everything, print the table, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000, help="rows in each file")
    parser.add_argument("--batches", type=int, default=6, help="batches of ten files")
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        results = [
            *arrow_batches(),
            *streams(Path(folder) / "streams", given.rounds, given.rows, given.batches),
            *killing(Path(folder) / "killing", given.kills),
        ]
    title = f"Watermark pushdown: medians, streams over {given.rounds} interleaved rounds"
    return 0 if all_met(title, results) else 1


if __name__ == "__main__":
    sys.exit(main())
