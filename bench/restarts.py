"""Kill a streaming query with SIGKILL again and again, and compare what it wrote with a run that nobody disturbed.

    python -m bench.restarts child FOLDER SOURCE on|off QUERY MASTER     the query itself, in a process of its own

The child tells on its standard output where it is: before it writes a batch and after. The parent kills it at seeded
places, so a batch is lost before its rows are written, or after that and before Spark has noted it as done.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from bench.spark_home import spark_home

FILES = 24
ROWS = 200
SECOND = 1_000_000
START = 1_709_294_400 * SECOND


def write_input(folder: Path, seed: int, files: int = FILES) -> None:
    """Write one file a batch: time moves on, a third of the rows is late, some have no time."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    for number in range(files):
        now = START + number * 60 * SECOND
        late = draw.random(ROWS) < 0.33
        times = np.where(
            late, draw.integers(START - 600 * SECOND, now, ROWS), now + draw.integers(0, 60 * SECOND, ROWS)
        )
        table = pa.table(
            {
                "k": draw.integers(0, 4, ROWS).astype(np.int32),
                "v": draw.integers(0, 100, ROWS).astype(np.int32),
                "ts": pa.array(times, pa.timestamp("us", "UTC"), mask=draw.random(ROWS) < 0.02),
            }
        )
        path = folder / f"batch-{number:04}.parquet"
        pq.write_table(table, path, row_group_size=50)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the rows of each batch, how often it was killed, how many late rows it left unread."""

    batches: dict[str, str]
    kills: int
    late_rows: int


def write_moves(folder: Path, seed: int, files: int = FILES) -> None:
    """Write one file a batch: rows that come, change and go, and a value that jumps about, or is NULL."""
    folder.mkdir(parents=True)
    draw, there = random.Random(seed), dict[int, int]()
    for number in range(files):
        rows: list[dict[str, object]] = []
        for key in draw.sample(sorted(there), min(len(there), ROWS // 4)):
            rows.append({"_op": "-U", "id": key, "v": there.pop(key)})
            if draw.random() < 0.5:
                there[key] = draw.randrange(1_000)
                rows.append({"_op": "+U", "id": key, "v": there[key]})
            else:
                rows[-1]["_op"] = "-D"
        for key in range(number * ROWS, (number + 1) * ROWS):
            there[key] = draw.randrange(1_000)
            rows.append({"_op": "+I", "id": key, "v": there[key]})
        rows.append({"at": number, "m": None if draw.random() < 0.1 else draw.randrange(1_000)})
        schema = pa.schema([("_op", pa.string()), *((name, pa.int64()) for name in ("id", "v", "at", "m"))])
        path = folder / f"batch-{number:04}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


def run(
    home: Path,
    source: Path,
    *,
    kills: int = 0,
    seed: int = 0,
    headgate: bool = True,
    query: str = "windows",
    master: str = "local[2]",
) -> Outcome:
    """Run the query to its end, killing it at seeded places; return what it wrote."""
    draw, killed, late_rows = random.Random(seed), 0, 0
    most = 40 if query == "table" else 3  # it tells each tenth of a second, the others where they are
    home.mkdir(parents=True, exist_ok=True)
    while True:
        steps = draw.randint(1, most) if killed < kills else None
        ended, late = _attempt(home, source, steps, ["on" if headgate else "off", query, master])
        late_rows += late
        if ended:
            break
        killed += 1
    return Outcome(written(home), killed, late_rows)


def _attempt(home: Path, source: Path, steps: int | None, how: list[str]) -> tuple[bool, int]:
    """Start the query; kill it after some lines of its output, or wait for its end."""
    command = [sys.executable, "-m", "bench.restarts", "child", str(home), str(source), *how]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=os.environ | {"SPARK_HOME": str(spark_home(Path(folder, "spark")))},
        ) as child,
    ):
        late = 0
        for line in _told(child):
            if line.startswith("late"):
                late = int(line.split()[1])
            if steps is not None:
                steps -= 1
                if steps == 0:
                    os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the query ended with {child.returncode}: run {' '.join(command)} to see why")
    return child.returncode == 0, late


def _told(child: subprocess.Popen[str]) -> Iterator[str]:
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(("begin", "wrote", "late", "runs")):
            yield line


def child(home: Path, source: Path, headgate_on: bool, query: str, master: str) -> None:
    """Run the query in a Spark of its own, and say how many late rows it left unread."""
    import headgate

    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    if headgate_on:
        headgate.enable(spark)
    if query == "table":
        to_table(rows_above(spark, source), home)
    else:
        frame = rows_above(spark, source) if query == "moves" else counted_by_window(spark, source)
        print("late", headgate.streaming_report(to_files(frame, home)).late_rows, flush=True)
    spark.stop()


def counted_by_window(spark: SparkSession, source: Path) -> DataFrame:
    """Return sums by window, of a stream with late rows."""
    stream = spark.readStream.schema("k int, v int, ts timestamp").option("maxFilesPerTrigger", 1).parquet(str(source))
    windows = stream.withWatermark("ts", "30 seconds").groupBy(sf.window("ts", "20 seconds"), "k")
    return windows.agg(sf.sum("v").alias("v"))


def rows_above(spark: SparkSession, source: Path) -> DataFrame:
    """Return the rows above a value that moves."""
    import headgate

    schema = "_op string, id bigint, v bigint, at bigint, m bigint"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    left, right = stream.where("at is null").select("_op", "id", "v"), stream.where("at is not null").select("at", "m")
    return headgate.stream.dynamic_filter(left, right, "v > m", key="id", order="at", vnodes=4)


def to_files(frame: DataFrame, home: Path) -> StreamingQuery:
    """Run the query to its end, each batch into a file of its own; one that runs again writes the same file again."""
    (home / "out").mkdir(parents=True, exist_ok=True)

    def write(rows: DataFrame, number: int) -> None:
        print("begin", number, flush=True)
        told = sorted(row[0] for row in rows.select(sf.to_json(sf.struct("*"))).collect())
        hidden = home / "out" / f".{number}"
        hidden.write_text(json.dumps(told))
        hidden.rename(home / "out" / f"batch-{number:04}.json")
        print("wrote", number, flush=True)

    query = (
        frame.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def to_table(frame: DataFrame, home: Path) -> None:
    """Keep a table of the rows, saying all the time that it runs; write down what is in it at the end."""
    from headgate.stream import materialize, read_materialized

    query = materialize(frame, str(home / "table"), "id", available_now=True)
    while query.isActive:
        print("runs", flush=True)
        time.sleep(0.1)
    query.awaitTermination()
    found = read_materialized(frame.sparkSession, str(home / "table"))
    told = sorted(row[0] for row in found.select(sf.to_json(sf.struct("*"))).collect())
    (home / "out").mkdir(exist_ok=True)
    (home / "out" / "table.json").write_text(json.dumps(told))


def written(home: Path) -> dict[str, str]:
    """Return what each batch wrote."""
    return {path.stem: path.read_text() for path in sorted(home.glob("out/*.json"))}


if __name__ == "__main__":
    if len(sys.argv) != 7 or sys.argv[1] != "child" or sys.argv[4] not in ("on", "off"):
        raise SystemExit("use: python -m bench.restarts child FOLDER SOURCE on|off windows|moves|table MASTER")
    child(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "on", sys.argv[5], sys.argv[6])
