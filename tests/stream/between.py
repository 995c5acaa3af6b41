"""What stands between a watermark and an operator, in random programs: each step takes and gives k, v, x and ts."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tests.stream.functions import one_more, rows_in_batch, rows_so_far

COLUMNS = ("k", "v", "x", "ts")


def _with_table(stream: DataFrame) -> DataFrame:
    table = stream.sparkSession.range(1, 3).select(sf.col("id").cast("int").alias("id"))
    return stream.join(table, stream.k == table.id, "left").select(*COLUMNS, (sf.col("id") + 0.1).alias("y"))


STEPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "nothing": lambda stream: stream,
    "floats": lambda stream: stream.withColumn("v", sf.col("x")),
    "rows in Python": lambda stream: stream.withColumn("k", one_more("k")),
    "batches in pandas": lambda stream: stream.withColumn("v", rows_in_batch("k")),
    "numbers in pandas": lambda stream: stream.withColumn("v", rows_so_far("k")),
    "dealt out": lambda stream: stream.repartition(3),
    "by range": lambda stream: stream.repartitionByRange(2, "x"),
    "by key": lambda stream: stream.repartition(2, "k"),
    "coalesced": lambda stream: stream.coalesce(1),
    "with a table": lambda stream: _with_table(stream).withColumn("v", sf.col("x")).select(*COLUMNS),
}
