"""The streams of the soak: with late rows and restarts, each compared with one without Headgate and restarts."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from bench.soak_load import Steps, codegen
from bench.soak_meters import Tally

FILES, ROWS, FILES_PER_BATCH = 10, 200, 2
SECOND = 1_000_000
START = 1_709_294_400 * SECOND
_PATIENCE = 240.0  # seconds for one stream


def _counted(stream: DataFrame) -> DataFrame:
    counts = stream.groupBy(sf.window("ts", "20 seconds"), "k").agg(sf.count("*").alias("n"), sf.sum("v").alias("v"))
    return counts.select(sf.col("window.start").alias("at"), "k", "n", "v")


def _deduplicated(stream: DataFrame) -> DataFrame:
    return stream.dropDuplicates(["k", "ts"]).select("k", "ts")


PROGRAMS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "windowed count": _counted,
    "dropDuplicates": _deduplicated,
    "dropDuplicates, then windowed count": lambda stream: _counted(stream.dropDuplicates(["k", "ts", "v"])),
}


def write_input(folder: Path, seed: int) -> None:
    """Write files: time moves on, a third of the rows is late, two files are late as a whole, some have no time."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    for number in range(FILES):
        now = START + number * 60 * SECOND
        late = draw.random(ROWS) < (1.0 if number in (5, 8) else 0.33)
        old = draw.integers(START - 600 * SECOND, START + max(1, (number - 3) * 60) * SECOND, ROWS)
        times = np.where(late, old, now + draw.integers(0, 60, ROWS) * SECOND)  # whole seconds: some are duplicates
        columns = {
            "k": draw.integers(0, 4, ROWS).astype(np.int32),
            "v": draw.integers(0, 100, ROWS).astype(np.int32),
            "ts": pa.array(times, pa.timestamp("us", "UTC"), mask=draw.random(ROWS) < 0.02),
        }
        path = folder / f"{number:04}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=50)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes the oldest file first


def batches_of(run: Path) -> list[list[str]]:
    """Return the files of each micro-batch of a run, from Spark's own logs; batches without files are left out."""
    offsets = [path for path in (run / "state" / "offsets").iterdir() if path.name.isdigit()]
    texts = [path.read_text() for path in sorted(offsets, key=lambda path: int(path.name))]
    ends = [int(json.loads(text.splitlines()[-1])["logOffset"]) for text in texts]
    batches, done = [], -1
    for end in ends:
        logs = [run / "state" / "sources" / "0" / str(number) for number in range(done + 1, end + 1)]
        files = [json.loads(line)["path"] for log in logs for line in log.read_text().splitlines()[1:]]
        batches.append(sorted(file.rsplit("/", 1)[-1] for file in files))
        done = end
    return [files for files in batches if files]


def watermarks_of(run: Path) -> list[int]:
    """Return the watermark that each micro-batch of a run left to the next, from Spark's own log."""
    commits = [path for path in (run / "state" / "commits").iterdir() if path.name.isdigit()]
    texts = [path.read_text() for path in sorted(commits, key=lambda path: int(path.name))]
    return [int(json.loads(text.splitlines()[-1])["nextBatchWatermarkMs"]) for text in texts]


class StreamThread:
    """One stream after the other, in a session with Headgate and in one without."""

    name = "streams"

    def __init__(self, spark: SparkSession, home: Path, tally: Tally, steps: Steps) -> None:
        self.gated, self._plain = spark.newSession(), spark.newSession()
        self._home, self._tally, self._steps, self._random = home, tally, steps, Random("streams")
        self.gate: headgate.Gate | None = None
        for session in (self.gated, self._plain):
            session.conf.set("spark.sql.shuffle.partitions", "1")
            session.conf.set("spark.sql.session.timeZone", "UTC")

    def run(self, stop: Event, enabled: bool) -> None:
        """Run streams until told to stop; not ``enabled``, Headgate is never there."""
        seed = 0
        while not stop.is_set():
            seed += 1
            self._pair(seed, enabled)

    def forget_gate(self) -> None:
        """Count the failures of a gate that is not used any more."""
        if self.gate is not None:
            self._tally.fail(self.gate.report().failures)
            self.gate = None

    def _enable(self) -> None:
        gate = headgate.enable(self.gated)
        if gate is not self.gate:
            self.forget_gate()
            self.gate = gate

    def _pair(self, seed: int, enabled: bool) -> None:
        """Run one program twice over the same files, and compare what was written."""
        program = self._random.choice(list(PROGRAMS))
        home = self._home / f"stream-{seed}"
        write_input(home / "source", seed)
        self._steps.note(self.name, f"{program}, seed {seed}")
        for key, text in codegen(self._random).items():
            self.gated.conf.set(key, text)
            self._plain.conf.set(key, text)
        self._finish(self._plain, program, home, "off", restarts=0, enabled=False)
        told = self._finish(self.gated, program, home, "on", restarts=self._random.choice((0, 1, 2)), enabled=enabled)
        on, off = home / "on", home / "off"
        if batches_of(on) != batches_of(off) or watermarks_of(on) != watermarks_of(off):
            # stopped between the source's log and its own, Spark puts the files of two batches into one; between the
            # sink's log and its own, it does not run the batch again, and the times of its rows move no watermark
            off = self._replayed(program, home)
        expected, found = (self._output(folder) for folder in (off, home / "on"))
        self._tally.add("streams run")
        if enabled:
            report = headgate.streaming_report(told)
            self._tally.add("late rows left unread in streams", report.late_rows)
            self._tally.fail([f"stream: {report.last_failure}"] * report.failures)
        if expected != found or not expected:
            lost, added = expected - found, found - expected
            story = f"{program}, seed {seed}: expected {expected.total()} rows, lost {lost}, too many {added}"
            shown = headgate.streaming_report(told) if enabled else "Headgate is not enabled"
            self._tally.differ("differing streams", f"{story}\nthe steps before:\n{self._steps}\n{shown}")
        else:
            shutil.rmtree(home, ignore_errors=True)

    def _finish(
        self, session: SparkSession, program: str, home: Path, name: str, *, restarts: int, enabled: bool
    ) -> str:
        """Run a program to its end, stopping it so many times on the way; return the id of its query."""
        end = time.monotonic() + _PATIENCE
        while True:
            if enabled:
                self._enable()
            query = self._start(session, program, home, name)
            if restarts > 0 and not self._ends(query, 1.0 + 5.0 * self._random.random()):
                query.stop()
                restarts -= 1
                self._note_restart(name, "stopped")
                continue
            if self._ends(query, max(1.0, end - time.monotonic())):
                return str(query.id)
            if query.isActive:
                query.stop()
                raise TimeoutError(f"the stream {program!r} did not end in {_PATIENCE:.0f} s")

    def _replayed(self, program: str, home: Path) -> Path:
        """Run a program without Headgate as the run with it was stopped: its files come batch by batch.

        Where a watermark did not move, the note that the batch is done is taken away. Spark does not run it again: the
        sink has it. So it forgets its times in the same way.
        """
        folder, source = home / "replayed", home / "replayed" / "source"
        source.mkdir(parents=True)
        batches, watermarks = batches_of(home / "on"), watermarks_of(home / "on")
        self._plain.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        for number, files in enumerate(batches):
            for name in files:
                shutil.copy2(home / "source" / name, source / name)
            if number == len(batches) - 1:
                self._plain.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
            self._ends(self._start(self._plain, program, folder, ".", most=FILES), _PATIENCE)
            if watermarks_of(folder)[number] != watermarks[number]:
                for done in (folder / "state" / "commits").glob(f"*{number}*"):
                    done.unlink()
                self._ends(self._start(self._plain, program, folder, ".", most=FILES), _PATIENCE)
        self._tally.add("streams whose batches a restart changed")
        return folder

    def _start(
        self, session: SparkSession, program: str, home: Path, name: str, most: int = FILES_PER_BATCH
    ) -> StreamingQuery:
        stream = session.readStream.schema("k int, v int, ts timestamp").option("maxFilesPerTrigger", most)
        frame = PROGRAMS[program](stream.parquet(str(home / "source")).withWatermark("ts", "30 seconds"))
        writer = frame.writeStream.format("parquet").option("path", str(home / name / "out"))
        return writer.option("checkpointLocation", str(home / name / "state")).trigger(availableNow=True).start()

    def _ends(self, query: StreamingQuery, seconds: float) -> bool:
        """Wait for the end of a query; one that died with an executor has not ended, and is started again."""
        began = time.monotonic()
        try:
            return bool(query.awaitTermination(seconds))  # type: ignore[arg-type]  # a float does
        except StreamingQueryException as error:
            if self._steps.last_kill < began - _PATIENCE:
                raise
            self._note_restart(str(query.id), f"failed: {str(error)[:200]}")
            return False

    def _note_restart(self, who: str, why: str) -> None:
        self._tally.add("restarts of streams")
        self._steps.note(self.name, f"{who} {why}, started again")

    def _output(self, home: Path) -> Counter[Any]:
        return Counter(map(tuple, self._plain.read.parquet(str(home / "out")).collect()))
