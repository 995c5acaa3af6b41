"""Ten selective star queries over store_sales as Delta and as Iceberg: Headgate off, on, and with a range by hand."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

import headgate
from bench.batch import KEY, SELECTIVE, BenchQuery
from bench.results import Result
from bench.tables.session import PLACES, Place, files_read, make_once, register, timed

FILES = 64
WARM_UP = 2  # rounds of all queries
VARIANTS = ("off", "on", "by hand")


def make(spark: SparkSession, home: Path, parquet: Path) -> None:
    """Write the sales in both formats, clustered by date, and the small tables as views."""

    def write() -> None:
        sales = spark.read.parquet(str(parquet / "store_sales"))
        clustered = sales.repartitionByRange(FILES, KEY).sortWithinPartitions(KEY)
        clustered.write.format("delta").mode("overwrite").saveAsTable("store_sales_delta")
        # Iceberg would distribute the rows itself; the files are to be those of Delta
        clustered.writeTo("ice.db.store_sales").using("iceberg").option("distribution-mode", "none").createOrReplace()

    make_once(home, "stars", write)
    register(spark, home, "store_sales_delta")
    for table in sorted(path for path in parquet.iterdir() if path.is_dir() and path.name != "store_sales"):
        spark.read.parquet(str(table)).createOrReplaceTempView(table.name)


def by_hand(parquet: Path, query: BenchQuery) -> str:
    """Return the query with the range of its dates written into it."""
    connection = duckdb.connect()
    for name in ("date_dim", "promotion"):
        connection.execute(f"create view {name} as select * from read_parquet('{parquet}/{name}/*.parquet')")
    found = connection.execute(f"select min(d_date_sk), max(d_date_sk) from ({query.keys})").fetchone()
    assert found is not None
    test = f"{KEY} between {found[0]} and {found[1]}"
    return query.sql.replace("from store_sales", f"from (select * from store_sales where {test}) store_sales")


def measure(spark: SparkSession, parquet: Path, rounds: int) -> list[Result]:
    """Time each query in each format, interleaved; return the figures beside their bars."""
    results: list[Result] = []
    for place in PLACES:
        spark.table(
            place.name("store_sales" if place.kind == "iceberg" else "store_sales_delta")
        ).createOrReplaceTempView("store_sales")
        queries = [(query, by_hand(parquet, query)) for query in SELECTIVE]
        for query, hand in WARM_UP * queries:  # all of them, or the first would be timed while the JVM warms up
            _round(spark, place, query, hand)
        for query, hand in queries:
            results += _query(spark, place, query, hand, rounds)
        spark.catalog.dropTempView("store_sales")
    return results


def _query(spark: SparkSession, place: Place, query: BenchQuery, hand: str, rounds: int) -> list[Result]:
    # the first round does not count
    ran = [_round(spark, place, query, hand, backwards=number % 2 == 1) for number in range(rounds + 1)][1:]
    off, on, hand_s = (statistics.median(found[variant].seconds for found in ran) for variant in VARIANTS)
    what = f"{place.kind}, {query.name}"
    took_s = f"{off:.2f} s, {on:.2f} s, by hand {hand_s:.2f} s"
    all_files, on_files, hand_files = (ran[-1][variant].files for variant in VARIANTS)
    return [
        Result(f"{what}: times as fast ({took_s})", off / on, "{:.1f}".format, 3, at_least=True),
        Result(f"{what}: files read (of {all_files}; bar: by hand)", on_files, "{:.0f}".format, hand_files),
    ]


@dataclass(frozen=True)
class Ran:
    """One variant that ran."""

    seconds: float
    files: int
    rows: list[Any]


def _round(
    spark: SparkSession, place: Place, query: BenchQuery, hand: str, *, backwards: bool = False
) -> dict[str, Ran]:
    """Run each variant once, and see that the rows are the same."""
    ran = {}
    gate = headgate.enable(spark, enabled=False)
    for variant in reversed(VARIANTS) if backwards else VARIANTS:
        gate.configure(enabled=variant == "on")
        frame = spark.sql(hand if variant == "by hand" else query.sql)
        seconds, rows = timed(frame.collect)
        ran[variant] = Ran(seconds, files_read(frame, KEY), rows)
    headgate.disable(spark)
    if len({repr(found.rows) for found in ran.values()}) != 1:
        raise SystemExit(f"{place.kind}, {query.name}: the variants gave different rows")
    return ran
