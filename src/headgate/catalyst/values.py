"""Streams of values that move: the time, the row of a batch DataFrame, and ticks while an operator has more to tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.catalyst.compiler import compiled


class ClockHand:
    """A time in the JVM that is set by hand, in microseconds since 1970."""

    def __init__(self, spark: SparkSession, micros: int) -> None:
        self.java = compiled(spark.sparkContext).new("changes.ClockHand", micros)

    def set(self, micros: int) -> None:
        """Set the time."""
        self.java.set(micros)


def clock_stream(spark: SparkSession, hand: ClockHand | None, tick: int, most_per_batch: int) -> DataFrame:
    """Return the time as a stream with one column `_now`; without a hand it is the machine's. 0 means any step."""
    java = None if hand is None else hand.java
    return _stream(spark, compiled(spark.sparkContext).new("changes.Clock", java, tick, most_per_batch))


def watched_stream(packed: DataFrame) -> DataFrame:
    """Return the only row of a batch DataFrame of one column as a stream, a row for each change; no row is a NULL."""
    spark = packed.sparkSession
    analyzed = packed._jdf.queryExecution().analyzed()
    return _stream(spark, compiled(spark.sparkContext).new("changes.WatchedRow", packed._jdf.sparkSession(), analyzed))


def ticks_while_moving(spark: SparkSession, counted: Any) -> DataFrame:
    """Return a stream that has a row as long as the operator with these records has a move under way."""
    context = spark.sparkContext
    return _stream(spark, compiled(context).new("changes.MovesUnderWay", context._jsc.sc(), counted))


def signed(records: DataFrame, what: str, parts: Mapping[str, str]) -> DataFrame:
    """Return the records of an operator; a checkpoint whose operator had other parts will be refused at the start."""
    spark = records.sparkSession
    text = msgspec.json.encode(parts).decode()
    made = compiled(spark.sparkContext).new("changes.Signature", records._jdf.sparkSession(), what, text)
    nothing = (sf.lit(None).cast(field.dataType).alias(field.name) for field in records.schema.fields)
    return records.union(_stream(spark, made).select(*nothing))


def _stream(spark: SparkSession, value: Any) -> DataFrame:
    classes, name = compiled(spark.sparkContext), str(uuid4())
    classes.call("changes.ValueSource", "offer", name, value)
    try:
        return spark.readStream.format("headgate.changes.ValueSource").option("id", name).load()
    finally:
        classes.call("changes.ValueSource", "withdraw", name)
