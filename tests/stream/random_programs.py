"""Random streaming programs from a seed: several operators, each over random streams of its own, united in one query.

Each input of an operator is a union of two streams, each with its own delay. The query has one watermark for all, the
lowest of its streams or the highest, as the policy says, so each stream sees a watermark that it did not make alone.
Each batch of a stream is several files of odd sizes. `x` differs from row to row, so that it tells which of several
duplicates was kept, and in which order and grouping a sum was made.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.stream.between import STEPS
from tests.stream.operators import OPERATORS
from tests.stream.streams import Row, aged, at, read_stream

FILES = 3  # of each stream in each batch
WIDE = "k int, v int, x double, ts timestamp"
TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class RandomProgram:
    """One seed's program and its input."""

    seed: int
    mode: str
    policy: str
    names: tuple[str, ...]
    delays: tuple[int, ...]
    batches: tuple[tuple[tuple[Row, ...], ...], ...]  # source, batch, row
    streams_each: int = 2  # united in each input
    steps: tuple[str, ...] = ()  # before the operator, one for each stream; none: streams of one file a batch

    def __call__(self, spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        """Build the query; the same seed always builds the same one."""
        draw = random.Random(self.seed)
        streams = [
            self._read(spark, folder).withWatermark("ts", f"{delay} seconds")
            for folder, delay in zip(folders, self.delays, strict=True)
        ]
        if self.steps:
            streams = [STEPS[step](stream) for step, stream in zip(self.steps, streams, strict=True)]
        each = self.streams_each
        inputs = [reduce(DataFrame.union, streams[i : i + each]) for i in range(0, len(streams), each)]
        parts, used = [], 0
        for name in self.names:
            operator = OPERATORS[name]
            built = operator.build(inputs[used : used + operator.inputs], draw)
            used += operator.inputs
            parts.append(built.select(sf.lit(name).alias("operator"), sf.to_json(sf.struct("*")).alias("row")))
        return reduce(DataFrame.union, parts)

    def _read(self, spark: SparkSession, folder: Path) -> DataFrame:
        if not self.steps:
            return read_stream(spark, folder)
        reader = spark.readStream.schema(WIDE).option("maxFilesPerTrigger", FILES)
        return reader.parquet(str(folder))


def write_files(folder: Path, number: int, rows: Iterable[Row]) -> None:
    """Write the files that micro-batch ``number`` reads: of odd sizes, some empty, some with other names and columns.

    Spark finds the event time whatever the case of its name; a column `a.ts` and a field `ts` of `a` are not it.
    """
    rows, draw = list(rows), random.Random(f"{folder.name} {number}")
    cuts = sorted(draw.randint(0, len(rows)) for _ in range(FILES - 1))
    for place, (first, last) in enumerate(pairwise([0, *cuts, len(rows)])):
        part = rows[first:last]
        moments = [None if row[2] is None else at(row[2]) for row in part]
        columns = {
            "k": pa.array([row[0] for row in part], pa.int32()),
            "v": pa.array([row[1] for row in part], pa.int32()),
            "x": pa.array([draw.uniform(-1e6, 1e6) for _ in part], pa.float64()),
        }
        if draw.random() < 0.3:
            columns["a.ts"] = pa.array([at(0)] * len(part), TIME)
            columns["a"] = pa.array([{"ts": at(0)}] * len(part), pa.struct([("ts", TIME)]))
        columns[draw.choice(["ts", "ts", "Ts"])] = pa.array(moments, TIME)
        path = folder / f".{number:04}-{place}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=draw.choice([1, 3, 8]))
        aged(path, number * FILES + place)
        path.rename(folder / path.name[1:])


def random_program(seed: int, *, inputs: int = 5, batches: int = 4) -> RandomProgram:
    """Draw a program whose operators have so many inputs together, and twice as many streams."""
    draw = random.Random(seed)
    mode = draw.choice(["append", "append", "update"])
    allowed = [name for name, operator in OPERATORS.items() if mode in operator.modes]
    names: list[str] = []
    left, streams = inputs, 2 * inputs
    while left:
        name = draw.choice([name for name in allowed if OPERATORS[name].inputs <= left])
        names.append(name)
        left -= OPERATORS[name].inputs
    return RandomProgram(
        seed=seed,
        mode=mode,
        policy=draw.choice(["min", "max"]),
        names=tuple(names),
        delays=tuple(draw.choice([0, 5, 30]) for _ in range(streams)),
        batches=tuple(_stream(draw, batches) for _ in range(streams)),
        steps=_steps(draw, inputs),
    )


def _steps(draw: random.Random, inputs: int) -> tuple[str, ...]:
    """One step for each input, on both of its streams: what is united must have the same types."""
    names = [*STEPS, *["nothing", "floats", "rows in Python", "coalesced"] * 2]  # most let late rows be cut
    return tuple(step for _ in range(inputs) for step in [draw.choice(names)] * 2)


def _stream(draw: random.Random, batches: int) -> tuple[tuple[Row, ...], ...]:
    """A stream whose time moves on by leaps, with rows out of order, late, without a time, and batches without rows."""
    now, found = draw.uniform(0, 30), []
    for _ in range(batches):
        now += draw.choice([0, 5, 20, 60, 120])
        size = draw.choice([0, 3, 10, 25])
        found.append(tuple(_row(draw, now) for _ in range(size)))
    return tuple(found)


def _row(draw: random.Random, now: float) -> Row:
    key, value = draw.choice([1, 2, 3, None]), draw.randint(0, 5)
    fate = draw.random()
    if fate < 0.05:
        return key, value, None
    if fate < 0.30:
        return key, value, float(draw.randint(int(now) - 200, int(now)))
    return key, value, float(draw.randint(int(now) - 15, int(now) + 5))
