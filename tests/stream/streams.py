"""Run one streaming program twice, with Headgate and without it, and compare all that can be seen of the two runs.

A program is a function from a session and folders of input files to a streaming DataFrame. Each micro-batch takes one
file from each folder, so both runs see the same batches. The run without Headgate is in a session of its own, which has
no rule.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from headgate import StreamingReport

SCHEMA = "k int, v int, ts timestamp"
ARROW = pa.schema([("k", pa.int32()), ("v", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])
START = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)

Row = tuple[int | None, int, float | None]  # key, value, seconds after START
Program = Callable[[SparkSession, Sequence[Path]], DataFrame]


def at(seconds: float) -> dt.datetime:
    """Return a moment of the test's own day."""
    return START + dt.timedelta(seconds=seconds)


def micros(seconds: float) -> int:
    """Return a moment of the test's own day in microseconds since 1970."""
    return round((START.timestamp() + seconds) * 1_000_000)


def write_batch(folder: Path, number: int, rows: Iterable[Row], row_group_size: int = 8) -> Path:
    """Write the file that micro-batch ``number`` reads."""
    rows = list(rows)
    columns = {
        "k": [row[0] for row in rows],
        "v": [row[1] for row in rows],
        "ts": [None if row[2] is None else at(row[2]) for row in rows],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"batch-{number:04}.parquet"
    hidden = folder / f".{path.name}"
    pq.write_table(pa.table(columns, schema=ARROW), hidden, row_group_size=row_group_size)
    aged(hidden, number)
    hidden.rename(path)
    return path


def aged(path: Path | str, number: int) -> None:
    """Give a file the time that puts it in its place: a stream takes files in the order of their times."""
    os.utime(path, (1_000_000 + number, 1_000_000 + number))


def read_stream(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    """Return the stream of a folder, one file a batch."""
    return spark.readStream.schema(SCHEMA).options(maxFilesPerTrigger=1, **options).parquet(str(folder))


@dataclass
class Run:
    """What one run of a program shows: rows of each batch, progress of each batch, final state."""

    home: Path
    batches: dict[int, list[str]] = field(default_factory=dict)
    progress: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    raw: list[Any] = field(default_factory=list)
    dropped: int = 0
    query_id: str = ""

    def start(self, frame: DataFrame, output_mode: str = "append") -> StreamingQuery:
        """Start the query; each batch is kept as sorted JSON rows."""

        def keep(rows: DataFrame, number: int) -> None:
            told = rows.select(sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})).collect()
            self.batches[number] = sorted(row[0] for row in told)

        writer = frame.writeStream.foreachBatch(keep).outputMode(output_mode).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(self.home / "checkpoint")).start()

    def finish(self, query: StreamingQuery) -> None:
        """Wait for the query; note its watermarks and state sizes, and count late rows that its operators dropped."""
        query.awaitTermination()
        self.query_id = str(query.id)
        for told in query.recentProgress:
            self.raw.append(told)
            sizes = tuple((op["numRowsTotal"], op["numRowsUpdated"]) for op in told["stateOperators"])
            self.progress[told["batchId"]] = (told["eventTime"].get("watermark"), sizes)
            self.dropped += sum(op["numRowsDroppedByWatermark"] for op in told["stateOperators"])

    def state(self) -> dict[str, dict[bytes, bytes]]:
        """Return the final content of each state store, by operator, partition and store."""
        stores: dict[str, list[Path]] = defaultdict(list)
        for path in (self.home / "checkpoint" / "state").glob("*/*/**/*.delta"):
            stores[str(path.parent.relative_to(self.home))].append(path)
        return {name: _replayed(sorted(paths, key=lambda path: int(path.stem))) for name, paths in stores.items()}


def _replayed(deltas: list[Path]) -> dict[bytes, bytes]:
    """Apply the changes of a state store in order: key, value, key, value, ... with a size of -1 for a removed key."""
    content: dict[bytes, bytes] = {}
    for path in deltas:
        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
            data = memoryview(stream.read())
        position = 0
        while (size := struct.unpack_from(">i", data, position)[0]) != -1:
            key = bytes(data[position + 4 : position + 4 + size])
            position += 4 + size
            length = struct.unpack_from(">i", data, position)[0]
            position += 4
            if length == -1:
                content.pop(key, None)
            else:
                content[key] = bytes(data[position : position + length])
                position += length
    return content


SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (  # whose files `_replayed` can read
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.compression.codec": "zstd",  # which `_replayed` can read
    "spark.sql.streaming.minBatchesToRetain": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


class Pair:
    """One program in two sessions: ``on`` has Headgate, ``off`` does not."""

    def __init__(
        self, spark: SparkSession, home: Path, program: Program, *, mode: str = "append", **settings: str
    ) -> None:
        self.home, self.program, self.mode = home, program, mode
        self.sessions = {"on": spark, "off": spark.newSession()}
        self.runs = {name: Run(home / name) for name in self.sessions}
        self.settings = {**SETTINGS, **{f"spark.sql.{key}": value for key, value in settings.items()}}
        self.folders: list[Path] = []
        self._started: dict[str, StreamingQuery] = {}

    def feed(
        self,
        batches: Sequence[Sequence[Iterable[Row]]],
        first: int = 0,
        write: Callable[[Path, int, Iterable[Row]], object] = write_batch,
    ) -> None:
        """Write files: for each source the rows of its batches."""
        while len(self.folders) < len(batches):
            self.folders.append(self.home / f"source-{len(self.folders)}")
        for folder, rows in zip(self.folders, batches, strict=True):
            folder.mkdir(parents=True, exist_ok=True)
            for number, batch in enumerate(rows, first):
                write(folder, number, batch)

    def run(self) -> None:
        """Run both on all that is there, side by side; a second call restarts both from their checkpoints."""
        self.start()
        self.finish()

    def start(self) -> None:
        """Start both; several pairs may be under way at once."""
        for name, session in self.sessions.items():
            for key, value in self.settings.items():
                session.conf.set(key, value)
            self._started[name] = self.runs[name].start(self.program(session, self.folders), self.mode)

    def finish(self) -> None:
        """Wait until both have read all that was there when they were started."""
        for name in self.sessions:
            self.runs[name].finish(self._started.pop(name))

    def report(self) -> StreamingReport:
        """Return what Headgate did."""
        return headgate.streaming_report(self.runs["on"].query_id)

    def assert_same(self) -> None:
        """Assert that output, watermarks, state sizes and final state are the same."""
        on, off = self.runs["on"], self.runs["off"]
        assert on.batches.keys() == off.batches.keys(), f"batches {sorted(on.batches)} and {sorted(off.batches)}"
        for number, rows in off.batches.items():
            assert on.batches[number] == rows, f"batch {number} of {self.home}"
        for number, told in off.progress.items():
            assert on.progress[number] == told, f"progress of batch {number} of {self.home}"
        assert on.state() == off.state(), f"final state of {self.home}"
        assert not [batch.failure for batch in self.report().batches if batch.failure]

    def clean(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.home, ignore_errors=True)
