"""A table of 10,000 files, Delta and Iceberg: time and memory of planning, and the files a selective join reads."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headgate
from bench.results import Result
from bench.tables.session import PLACES, files_read, make_once, register, timed

FILES, ROWS = 10_000, 1_000_000
TABLE = "many_files"
# a hundred keys in three places
KEYS = "SELECT id * 20 + CASE id % 3 WHEN 0 THEN 5000 WHEN 1 THEN 400000 ELSE 900000 END AS id FROM range(100)"
QUERY = "SELECT count(*), sum(v) FROM {name} t JOIN few_keys d ON t.k = d.id"


def make(spark: SparkSession, home: Path) -> None:
    """Write the tables, a hundred rows a file."""

    def write() -> None:
        rows = spark.range(0, ROWS, 1, FILES).selectExpr("id AS k", "id % 97 AS v")
        rows.write.format("delta").mode("overwrite").saveAsTable(TABLE)
        rows.writeTo(f"ice.db.{TABLE}").using("iceberg").option("distribution-mode", "none").createOrReplace()

    make_once(home, "many_files", write)
    register(spark, home, TABLE)
    spark.sql(KEYS).write.mode("overwrite").parquet(str(home / "few_keys"))
    spark.read.parquet(str(home / "few_keys")).createOrReplaceTempView("few_keys")


def measure(spark: SparkSession, rounds: int) -> list[Result]:
    """Plan the join again and again; return the figures beside their bars."""
    results: list[Result] = []
    for place in PLACES:
        sql = QUERY.format(name=place.name(TABLE))
        # a hundred rows a file are few bytes, so that the table counts as small: every legal filter is asked for
        gate = headgate.enable(spark, enabled=False, strategy="always")
        seconds: dict[bool, list[float]] = {False: [], True: []}
        kept: dict[bool, list[float]] = {False: [], True: []}
        files, answers = {}, {}
        for number in range(rounds + 2):
            for on in (False, True) if number % 2 else (True, False):
                gate.configure(enabled=on)
                before = _heap(spark)
                frame = spark.sql(sql)
                took, _ = timed(partial(_plan, frame))
                held = _heap(spark) - before
                answers[on] = frame.collect()
                files[on] = files_read(frame, "k")
                if number > 1:
                    seconds[on].append(took)
                    kept[on].append(held)
        headgate.disable(spark)
        if answers[True] != answers[False]:
            raise SystemExit(f"{place.kind}: Headgate gave other rows")
        off, on_s = statistics.median(seconds[False]), statistics.median(seconds[True])
        more = statistics.median(kept[True]) - statistics.median(kept[False])
        what = f"{place.kind}, 10,000 files"
        results += [
            Result(f"{what}: planning with filters (off {off:.2f} s)", on_s, "{:.2f} s".format, 2),
            Result(f"{what}: driver's heap that a plan keeps, above off", more / 1e6, "{:.0f} MB".format, 300),
            Result(f"{what}: files read (of {files[False]})", files[True], "{:.0f}".format, FILES // 100 - 1),
        ]
    return results


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().executedPlan()


def _heap(spark: SparkSession) -> int:
    """Return the bytes of the heap that are in use after a collection."""
    jvm: Any = spark._jvm
    assert jvm is not None
    jvm.System.gc()
    return int(jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())
