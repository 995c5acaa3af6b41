"""Show Headgate at work: a small star schema in files, three queries off and on, and one of them explained.

    python examples/star_schema.py [ROWS]      so many rows in each of the 64 files; 250,000 unless told

Makes its own data in a temporary folder and removes it again.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import headgate
from headgate.plan.sizes import readable_bytes

FILES, ROWS, DAYS, ITEMS, ROUNDS = 64, 250_000, 1_825, 20_000, 3
GROUPS = 5  # of each file
QUERIES = {
    "one week of sales": """
        select s.store, sum(s.price) revenue from sales s join days d on s.day_id = d.day_id
        where d.year = 2023 and d.week = 27 group by s.store order by s.store""",
    "days in a subquery": """
        select count(*) sold, sum(quantity) pieces from sales
        where day_id in (select day_id from days where year = 2021 and month = 12 and weekday = 6)""",
    "brands of one month": """
        select i.brand, sum(s.price) revenue from sales s join days d on s.day_id = d.day_id
        join items i on s.item_id = i.item_id where d.year = 2022 and d.month = 5 and i.category = 3
        group by i.brand order by revenue desc, i.brand limit 5""",
}


def make_tables(home: Path, progress: Progress, rows: int) -> None:
    """Write sales in the order of their days, as they came in, and two small dimensions."""
    task = progress.add_task("making tables", total=FILES)
    random = np.random.default_rng(7)
    (home / "sales").mkdir()
    for number in range(FILES):
        first, last = number * DAYS // FILES, (number + 1) * DAYS // FILES
        columns = {
            "day_id": np.sort(random.integers(first, last, rows)),
            "item_id": random.integers(0, ITEMS, rows),
            "store": random.integers(0, 50, rows),
            "quantity": random.integers(1, 9, rows),
            "price": random.integers(100, 99_999, rows),
        }
        pq.write_table(pa.table(columns), home / "sales" / f"part-{number:03}.parquet", row_group_size=rows // GROUPS)
        progress.advance(task)
    day = np.datetime64("2020-01-01") + np.arange(DAYS)
    year, month = day.astype("datetime64[Y]").astype(int) + 1970, day.astype("datetime64[M]").astype(int) % 12 + 1
    of_year = (day - day.astype("datetime64[Y]")).astype(int)
    days = {
        "day_id": np.arange(DAYS),
        "year": year,
        "month": month,
        "week": of_year // 7 + 1,
        "weekday": np.arange(DAYS) % 7,
    }
    pq.write_table(pa.table(days), home / "days.parquet")
    items = {"item_id": np.arange(ITEMS), "brand": np.arange(ITEMS) % 97, "category": np.arange(ITEMS) % 10}
    pq.write_table(pa.table(items), home / "items.parquet")


def start_spark(home: Path) -> SparkSession:
    """Return a local session with the tables as views."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for name, path in {"sales": "sales", "days": "days.parquet", "items": "items.parquet"}.items():
        spark.read.parquet(str(home / path)).createOrReplaceTempView(name)
    return spark


def run(spark: SparkSession, query: str) -> tuple[float, list[Any]]:
    """Run a query from its text and return seconds and rows."""
    started = time.perf_counter()
    rows = spark.sql(query).collect()
    return time.perf_counter() - started, rows


def compare(spark: SparkSession, query: str) -> tuple[float, float, bool, headgate.QueryReport]:
    """Run a query off and on in turns, the first turn to warm up; return median seconds of both, and the report."""
    off, on, same, report = [], [], True, headgate.QueryReport()
    for _ in range(ROUNDS + 1):
        seconds, expected = run(spark, query)
        off.append(seconds)
        headgate.enable(spark)
        seconds, rows = run(spark, query)
        on.append(seconds)
        report = headgate.report(spark)
        headgate.disable(spark)
        same = same and rows == expected
    return statistics.median(off[1:]), statistics.median(on[1:]), same, report


def main(rows: int = ROWS) -> None:
    """Make the tables, run the queries, print one table and one plan."""
    console, home = Console(width=120), Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    try:
        table = Table(
            "query",
            "off s",
            "on s",
            "times",
            "files",
            "row groups",
            "bytes",
            "same answer",
            title="Headgate off and on",
        )
        with Progress(console=console, transient=True) as progress:
            make_tables(home, progress, rows)
            task = progress.add_task("running queries", total=len(QUERIES) + 1)
            spark = start_spark(home)
            progress.advance(task)
            for name, query in QUERIES.items():
                off, on, same, report = compare(spark, query)
                sales = next(scan for scan in report.scans if scan.table.endswith("sales"))
                table.add_row(
                    name,
                    f"{off:.2f}",
                    f"{on:.2f}",
                    f"{off / on:.1f}",
                    f"{sales.files_read} of {sales.files_total}",
                    f"{sales.row_groups_read} of {sales.row_groups_total}",
                    f"{readable_bytes(sales.bytes_read)} of {readable_bytes(sales.bytes_total)}",
                    "yes" if same else "NO",
                )
                progress.advance(task)
        console.print(table)
        headgate.enable(spark)
        headgate.explain(spark.sql(QUERIES["brands of one month"]))
        spark.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
