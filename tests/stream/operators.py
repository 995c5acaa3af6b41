"""Every stateful operator that Spark's DataFrames offer without Python functions, as small queries over k, v and ts.

Each takes as many streams as it needs, already with their watermarks, and gives one stream.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

Build = Callable[[list[DataFrame], random.Random], DataFrame]


@dataclass(frozen=True)
class Operator:
    """A query over ``inputs`` streams; ``modes`` are the output modes it allows."""

    build: Build
    inputs: int = 1
    modes: tuple[str, ...] = ("append",)


def _seconds(random: random.Random, *choices: int) -> str:
    return f"{random.choice(choices)} seconds"


def tumbling(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Windows that follow one another."""
    window = sf.window("ts", _seconds(random, 5, 20, 60), startTime=f"{random.choice([0, 3])} seconds")
    return streams[0].groupBy(window, "k").agg(sf.count("*").alias("n"), sf.sum("v").alias("v"))


def sliding(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Windows that overlap."""
    length, step = random.choice([(20, 5), (30, 20), (45, 20), (60, 20)])
    return streams[0].groupBy(sf.window("ts", f"{length} seconds", f"{step} seconds"), "k").agg(sf.sum("v").alias("v"))


def session(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Sessions with one gap for all."""
    return streams[0].groupBy(sf.session_window("ts", _seconds(random, 5, 30)), "k").agg(sf.count("*").alias("n"))


def session_by_key(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Sessions whose gap depends on the row."""
    gap = sf.when(sf.col("k") == 1, "5 seconds").otherwise("20 seconds")
    return streams[0].groupBy(sf.session_window("ts", gap), "k").agg(sf.count("*").alias("n"))


def by_time(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """A group for each event time."""
    return streams[0].groupBy("ts", "k").agg(sf.sum("v").alias("v"))


def by_key(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """A group for each key, so that nothing is ever late."""
    return streams[0].groupBy("k").agg(sf.sum("v").alias("v"))


def deduplicated(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """One row for each key and event time."""
    return streams[0].dropDuplicates(["k", "ts"])


def deduplicated_by_key(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """One row for each key; the event time is not part of it."""
    return streams[0].dropDuplicates(["k", "v"])


def deduplicated_within(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """One row for each key until the watermark has passed it."""
    return streams[0].dropDuplicatesWithinWatermark(["k", "v"])


def _joined(streams: list[DataFrame], how: str) -> DataFrame:
    left = streams[0].select(sf.col("k").alias("lk"), sf.col("v").alias("lv"), sf.col("ts").alias("lts"))
    right = streams[1].select(sf.col("k").alias("rk"), sf.col("v").alias("rv"), sf.col("ts").alias("rts"))
    near = sf.expr("lk = rk and rts >= lts - interval 10 seconds and rts <= lts + interval 20 seconds")
    return left.join(right, near, how)


def joined(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Rows of two streams that lie near each other in time."""
    return _joined(streams, "inner")


def outer_joined(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """The same, with the rows that found nobody."""
    return _joined(streams, random.choice(["left_outer", "right_outer", "full_outer", "left_semi"]))


def deduplicated_then_counted(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Two stateful operators, one above the other."""
    return tumbling([deduplicated(streams, random)], random)


def counted_twice(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Windows of windows."""
    inner = streams[0].groupBy(sf.window("ts", "10 seconds"), "k").agg(sf.sum("v").alias("v"))
    return inner.groupBy(sf.window(sf.window_time("window"), "30 seconds")).agg(sf.count("*").alias("n"))


def joined_then_counted(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """An aggregate over a join of two streams."""
    return _joined(streams, "inner").groupBy(sf.window("lts", "20 seconds"), "lk").agg(sf.count("*").alias("n"))


def united(streams: list[DataFrame], random: random.Random) -> DataFrame:
    """Two streams in one window."""
    return tumbling([streams[0].union(streams[1])], random)


OPERATORS = {
    "tumbling": Operator(tumbling, modes=("append", "update")),
    "sliding": Operator(sliding, modes=("append", "update")),
    "session": Operator(session),
    "session_by_key": Operator(session_by_key),
    "by_time": Operator(by_time, modes=("append", "update")),
    "by_key": Operator(by_key, modes=("update",)),
    "deduplicated": Operator(deduplicated, modes=("append", "update")),
    "deduplicated_by_key": Operator(deduplicated_by_key, modes=("append", "update")),
    "deduplicated_within": Operator(deduplicated_within, modes=("append", "update")),
    "joined": Operator(joined, 2),
    "outer_joined": Operator(outer_joined, 2),
    "deduplicated_then_counted": Operator(deduplicated_then_counted),
    "counted_twice": Operator(counted_twice),
    "joined_then_counted": Operator(joined_then_counted, 2),
    "united": Operator(united, 2, modes=("append", "update")),
}
