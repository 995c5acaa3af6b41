"""Random streaming programs from a seed: several operators, each over random streams of its own, united in one query.

Each input of an operator is a union of two streams, each with its own delay. The query has one watermark for all, the
lowest of its streams or the highest, as the policy says, so each stream sees a watermark that it did not make alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.stream.operators import OPERATORS
from tests.stream.streams import Row, read_stream


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

    def __call__(self, spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        """Build the query; the same seed always builds the same one."""
        draw = random.Random(self.seed)
        streams = [
            read_stream(spark, folder).withWatermark("ts", f"{delay} seconds")
            for folder, delay in zip(folders, self.delays, strict=True)
        ]
        each = self.streams_each
        inputs = [reduce(DataFrame.union, streams[i : i + each]) for i in range(0, len(streams), each)]
        parts, used = [], 0
        for name in self.names:
            operator = OPERATORS[name]
            built = operator.build(inputs[used : used + operator.inputs], draw)
            used += operator.inputs
            parts.append(built.select(sf.lit(name).alias("operator"), sf.to_json(sf.struct("*")).alias("row")))
        return reduce(DataFrame.union, parts)


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
    )


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
