"""Measure the dynamic filter operator against its bars: `python -m bench.operator`.

A stream of left rows is loaded in ten batches; then the right value moves, past few rows and past all. A move's time is
the time inside the operator, as its report has it, over the two cores; loading is timed by Spark's `triggerExecution`.
Beside it stands plain Spark, which joins everything again for each value. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from bench import restarts
from bench.results import Result, all_met
from headgate.stream import dynamic_filter
from headgate.suites.results import machine

CORES = 2
LOADS = 10
DOMAIN = 1_000_000
MIDDLE = DOMAIN // 2
MEGABYTE = 1024 * 1024


@dataclass
class Stream:
    """The operator over so many left rows, one file a batch."""

    spark: SparkSession
    home: Path
    rows: int
    epochs: int = 0
    seconds: list[float] = field(default_factory=list)
    query: Any = None

    def start(self) -> None:
        """Start the query; its changes are counted and thrown away."""
        for side in ("left", "right"):
            (self.home / side).mkdir(parents=True)
        self.query = self._start()

    def _start(self) -> Any:
        def read(side: str, schema: str) -> DataFrame:
            return self.spark.readStream.schema(schema).parquet(str(self.home / side))

        left = read("left", "pk bigint, v bigint, payload string")
        moved = dynamic_filter(left, read("right", "seq bigint, value bigint"), "v > value", "pk", order="seq")
        writer = moved.writeStream.format("noop").option("checkpointLocation", str(self.home / "checkpoint"))
        return writer.trigger(processingTime="0 seconds").start()

    def epoch(self, side: str, columns: dict[str, Any]) -> float:
        """Let one batch take a file; return its seconds."""
        path = self.home / side / f"{self.epochs:04}.parquet"
        hidden = path.with_name(f".{path.name}")
        pq.write_table(pa.table(columns), hidden)
        os.utime(hidden, (1_700_000_000 + self.epochs, 1_700_000_000 + self.epochs))
        hidden.rename(path)
        self.epochs += 1
        self.query.processAllAvailable()
        told = next(p for p in reversed(self.query.recentProgress) if p["numInputRows"])
        return float(told["durationMs"]["triggerExecution"]) / 1000

    def load(self) -> float:
        """Load all rows; return rows a second, without the first batch, which starts everything."""
        random, each = np.random.default_rng(0), self.rows // LOADS
        self.move(MIDDLE)
        times = []
        for i in range(LOADS):
            pk = np.arange(i * each, (i + 1) * each)
            payload = np.char.add("payload of row ", pk.astype(str))
            times.append(self.epoch("left", {"pk": pk, "v": random.integers(0, DOMAIN, each), "payload": payload}))
        return (LOADS - 1) * each / sum(times[1:])

    def move(self, value: int) -> float:
        """Move the value; return the seconds inside the operator."""
        self.epoch("right", {"seq": [self.epochs], "value": [value]})
        return headgate.streaming_report(self.query).moves[-1].scan_micros / 1e6 / CORES

    def there_and_back(self, value: int, rounds: int) -> float:
        """Move the value there and back; return the median."""
        return statistics.median(self.move(where) for _ in range(rounds) for where in (value, MIDDLE))


@contextmanager
def live_heap(spark: SparkSession) -> Iterator[list[int]]:
    """Collect how many bytes were live after each garbage collection, the first before anything is done."""
    jvm: Any = spark._jvm
    pools = list(jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans())
    heap = [pool for pool in pools if str(pool.getType()) == "Heap memory" and pool.getCollectionUsage() is not None]

    def live() -> int:
        return sum(int(pool.getCollectionUsage().getUsed()) for pool in heap)

    jvm.java.lang.System.gc()
    sizes, done = [live()], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            sizes.append(live())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        jvm.java.lang.System.gc()
        done.set()
        watcher.join()


def recomputed(spark: SparkSession, home: Path, value: int) -> float:
    """Return the seconds of plain Spark for one value: all left rows, joined with the right row again."""
    started = time.perf_counter()
    right = spark.createDataFrame([(value,)], "value bigint")
    left = spark.read.schema("pk bigint, v bigint, payload string").parquet(str(home / "left"))
    left.join(sf.broadcast(right), sf.expr("v > value")).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def measured(spark: SparkSession, home: Path, rows: int, rounds: int) -> dict[str, float]:
    """Load a stream and move its value about."""
    stream = Stream(spark, home, rows)
    stream.start()
    figures = {"rate": stream.load()}
    same = DOMAIN * 10_000 // rows  # past 10,000 rows, whatever is in the state
    figures["few"] = stream.there_and_back(MIDDLE - same, rounds)
    figures["percent"] = stream.there_and_back(MIDDLE - DOMAIN // 100, rounds)
    stream.move(DOMAIN)
    with live_heap(spark) as sizes:
        figures["all"] = statistics.median(stream.move(where) for where in (-1, DOMAIN) * 2)
    figures["heap"] = (max(sizes) - sizes[0]) / MEGABYTE
    moves = headgate.streaming_report(stream.query).moves
    assert max(move.moved_in for move in moves) == rows, "a move past all rows did not tell all rows"
    figures["again"] = statistics.median(recomputed(spark, home, MIDDLE) for _ in range(rounds))
    stream.query.stop()
    return figures


def killing(home: Path, kills: int, master: str) -> Result:
    """Kill a query that keeps a table again and again; count the rows in which it differs from an undisturbed one."""
    restarts.write_moves(home / "source", seed=1)
    undisturbed = restarts.run(home / "undisturbed", home / "source", query="table")
    killed = restarts.run(home / "killed", home / "source", kills=kills, seed=1, query="table", master=master)
    tables = [set(json.loads(run.batches["table"])) for run in (undisturbed, killed)]
    return Result(
        f"rows that differ after {killed.kills} kills, {master}", len(tables[0] ^ tables[1]), "{:,.0f}".format, 0
    )


def results(small: dict[str, float], large: dict[str, float], rows: int) -> list[Result]:
    """Compare the figures with the bars."""
    seconds, ratio = "{:.3f} s".format, "{:.2f}".format
    return [
        Result(f"left rows a second into {rows:,} rows", large["rate"], "{:,.0f}".format, 200_000, at_least=True),
        Result("a move past all rows", large["all"], seconds),
        Result("a move past 1 percent", large["percent"], seconds),
        Result("past 1 percent / past all", large["percent"] / large["all"], ratio, 1 / 20),
        Result(f"past 10,000 rows of {rows:,}", large["few"], seconds),
        Result(f"past 10,000 rows of {rows // 5:,}", small["few"], seconds),
        Result("the larger state / the smaller", large["few"] / small["few"], ratio, 1.5),
        Result("heap grown by a move past all rows, MB", large["heap"], "{:,.0f}".format, 256),
        Result("plain Spark: the join once more", large["again"], seconds),
    ]


def main() -> int:
    """Measure, print, and say whether all bars are met."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="left rows in the state")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--kills", type=int, default=20)
    chosen = arguments.parse_args()
    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.driver.memory", "3g")
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        small = measured(spark, Path(home, "small"), chosen.rows // 5, chosen.rounds)
        large = measured(spark, Path(home, "large"), chosen.rows, chosen.rounds)
        spark.stop()
        found = results(small, large, chosen.rows)
        for number, (kills, master) in enumerate(
            [(chosen.kills, "local[2]"), (chosen.kills // 4, "local-cluster[2,1,1024]")]
        ):
            if kills:
                found.append(killing(Path(home, f"killing-{number}"), kills, master))
    return 0 if all_met(f"Dynamic filter operator: {machine()}", found) else 1


if __name__ == "__main__":
    sys.exit(main())
