"""Sales in the order of their days, joined with one week of a calendar."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headgate.api as api
from headgate.demo.shown import Shown, Tell, best_of_two
from headgate.plan.sizes import readable_bytes

FILES, DAYS = 64, 1_825
QUERY = """select s.store, sum(s.price) revenue, count(*) sold from demo_sales s join demo_days d on s.day = d.day
where d.year = 3 and d.week = 27 group by s.store order by s.store"""


def show(spark: SparkSession, home: Path, rows: int, tell: Tell) -> Shown:
    """Run the query off and on."""
    tell("writing sales")
    _write(home, rows)
    for name in ("sales", "days"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(f"demo_{name}")
    tell("one week of sales, off")
    api.disable(spark)
    off, expected = best_of_two(lambda: spark.sql(QUERY).collect())
    tell("one week of sales, on")
    api.enable(spark)
    on, rows_on = best_of_two(lambda: spark.sql(QUERY).collect())
    report = api.report(spark)
    sales = next(scan for scan in report.scans if scan.table.endswith("sales"))
    return Shown(
        off,
        on,
        f"{sales.files_total} files, {readable_bytes(sales.bytes_total)}",
        f"{sales.files_read} files, {readable_bytes(sales.bytes_read)}",
        rows_on == expected,
    )


def _write(home: Path, rows: int) -> None:
    (home / "sales").mkdir(parents=True)
    (home / "days").mkdir()
    draw, each = np.random.default_rng(7), max(rows // FILES, 100)
    for number in range(FILES):
        first, last = number * DAYS // FILES, (number + 1) * DAYS // FILES
        columns = {
            "day": np.sort(draw.integers(first, last, each)),
            "item": draw.integers(0, 20_000, each),
            "store": draw.integers(0, 50, each),
            "quantity": draw.integers(1, 9, each),
            "price": draw.integers(100, 99_999, each),
        }
        pq.write_table(pa.table(columns), home / "sales" / f"{number:03}.parquet", row_group_size=max(each // 5, 100))
    days = np.arange(DAYS)
    calendar = {"day": days, "year": days // 365, "week": days % 365 // 7 + 1}
    pq.write_table(pa.table(calendar), home / "days" / "all.parquet")
