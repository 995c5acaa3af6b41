"""Time selective star queries: Spark alone, Spark with Headgate, and the hand-written limit, interleaved in one run.

native   Headgate off
on       Headgate on
oracle   the same query with the keys written as literals, over only the files that hold matches: the limit

Each round builds new DataFrames, since a DataFrame keeps its plan and even its shuffle files. Figures are medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import headgate
from headgate.catalyst.bridge import bytes_read
from headgate.suites.data import DEFAULT_HOME, tables
from headgate.suites.results import machine

KEY = "ss_sold_date_sk"
WARM_UP = 2  # rounds that are not counted: the JVM compiles what runs often


@dataclass(frozen=True)
class BenchQuery:
    """A query over ``store_sales``; ``keys`` selects, in DuckDB, the date keys that can match."""

    name: str
    sql: str
    keys: str


_MEASURES = """sum(ss_ext_sales_price) s, sum(ss_net_profit) profit, sum(ss_quantity) pieces, avg(ss_list_price) list,
      avg(ss_sales_price) price, sum(ss_ext_discount_amt) discount, sum(ss_ext_wholesale_cost) cost,
      sum(ss_ext_tax) tax, sum(ss_coupon_amt) coupons, sum(ss_net_paid) paid, max(ss_net_paid_inc_tax) top"""


def _star(dates: str, more: str = "") -> str:
    return f"""select i_brand_id, i_brand, {_MEASURES} from store_sales join date_dim on d_date_sk = ss_sold_date_sk
      join item on ss_item_sk = i_item_sk {more} where {dates} and i_manager_id between 1 and 40
      group by i_brand_id, i_brand order by s desc, i_brand_id limit 100"""


def _dates(where: str) -> str:
    return f"select d_date_sk from date_dim where {where}"


_MONTH, _WEEK, _DAY = "d_year = 2000 and d_moy = 11", "d_week_seq = 5270", "d_date = date '2001-04-16'"
_QUARTER, _WEEKENDS = "d_qoy = 1 and d_year = 2001", "d_year = 1999 and d_moy = 8 and d_dow in (0, 6)"
_PROMOTION = (
    "p_promo_id = (select min(p_promo_id) from promotion where p_start_date_sk > 2450820 and p_end_date_sk > 0)"
)

SELECTIVE = (
    BenchQuery("month by brand", _star(_MONTH), _dates(_MONTH)),
    BenchQuery("week by brand", _star(_WEEK), _dates(_WEEK)),
    BenchQuery("one day", _star(_DAY), _dates(_DAY)),
    BenchQuery("quarter by brand", _star(_QUARTER), _dates(_QUARTER)),
    BenchQuery("weekends of a month", _star(_WEEKENDS), _dates(_WEEKENDS)),
    BenchQuery(
        "month and store",
        _star(f"{_MONTH} and s_state = 'TN'", "join store on ss_store_sk = s_store_sk"),
        _dates(_MONTH),
    ),
    BenchQuery(
        "in (subquery)",
        f"""select ss_store_sk, {_MEASURES} from store_sales
            where ss_sold_date_sk in (select d_date_sk from date_dim where {_WEEK})
            group by ss_store_sk order by ss_store_sk""",
        _dates(_WEEK),
    ),
    BenchQuery(
        "week of a date",
        f"""select ss_store_sk, {_MEASURES} from store_sales join date_dim on ss_sold_date_sk = d_date_sk
           where d_week_seq = (select d_week_seq from date_dim where d_date = date '2002-03-08')
           group by ss_store_sk order by ss_store_sk""",
        _dates("d_week_seq = (select d_week_seq from date_dim where d_date = date '2002-03-08')"),
    ),
    BenchQuery(
        "promotion dates (between)",
        f"""select ss_store_sk, {_MEASURES} from store_sales
            join promotion on ss_sold_date_sk between p_start_date_sk and p_end_date_sk
            where {_PROMOTION} group by ss_store_sk order by ss_store_sk""",
        f"""select d_date_sk from date_dim, promotion
            where d_date_sk between p_start_date_sk and p_end_date_sk and {_PROMOTION}""",
    ),
    BenchQuery(
        "daily totals of a month",
        f"""select d_date, t.*
            from (select ss_sold_date_sk, {_MEASURES} from store_sales group by ss_sold_date_sk) t
            join date_dim on t.ss_sold_date_sk = d_date_sk where {_MONTH} order by d_date""",
        _dates(_MONTH),
    ),
)
UNPRUNABLE = (
    BenchQuery("all years", _star("d_year between 1990 and 2010"), _dates("true")),
    BenchQuery(
        "by item",
        """select i_brand_id, sum(ss_ext_sales_price) s from store_sales join item on ss_item_sk = i_item_sk
           where i_category = 'Books' group by i_brand_id order by s desc limit 100""",
        "",
    ),
    BenchQuery(
        "by store state",
        """select s_state, count(*) c, sum(ss_net_profit) p from store_sales join store on ss_store_sk = s_store_sk
           where s_number_employees > 200 group by s_state order by s_state""",
        "",
    ),
)


@dataclass
class Timing:
    """Seconds and bytes of one variant of a query over the rounds."""

    seconds: list[float] = field(default_factory=list)
    bytes: int = 0

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.seconds)


Results = dict[str, dict[str, Timing]]


class Bench:
    """One Spark session with the tables, and a way to time a query in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "8g")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("ERROR")
        for table in sorted(path for path in folder.iterdir() if path.is_dir()):
            self.spark.read.parquet(str(table)).createOrReplaceTempView(table.name)

    def oracle_sql(self, query: BenchQuery) -> str:
        """Write the keys into the query as literals, over a view of only the files that hold matches."""
        names = ("date_dim", "promotion")
        connection = duckdb.connect()
        for name in names:
            connection.execute(f"create view {name} as select * from read_parquet('{self.folder}/{name}/*.parquet')")
        keys = sorted(key for (key,) in connection.execute(query.keys).fetchall())
        listed = ", ".join(map(str, keys))
        files = connection.execute(
            f"select distinct filename from read_parquet('{self.folder}/store_sales/*.parquet', filename = true) "
            f"where {KEY} in ({listed})"
        ).fetchall()
        view = "matching_" + query.name.translate(str.maketrans(" ()", "___"))
        self.spark.read.parquet(*sorted(name for (name,) in files)).createOrReplaceTempView(view)
        contiguous = keys[-1] - keys[0] == len(keys) - 1
        test = f"{KEY} between {keys[0]} and {keys[-1]}" if contiguous else f"{KEY} in ({listed})"
        return query.sql.replace("from store_sales", f"from (select * from {view} where {test}) store_sales")

    def run(self, sql: str) -> tuple[float, list[Any], int]:
        """Run a query from its text; return seconds, rows and bytes read."""
        before, started = bytes_read(self.spark), time.perf_counter()
        rows = self.spark.sql(sql).collect()
        return time.perf_counter() - started, rows, bytes_read(self.spark) - before


def measure(bench: Bench, queries: tuple[BenchQuery, ...], rounds: int, *, oracle: bool, tell: Progress) -> Results:
    """Time each query in each variant, interleaved: all variants of a round before the next round."""
    variants = ("native", "on", "oracle") if oracle else ("native", "on")
    results = {q.name: {v: Timing() for v in variants} for q in queries}
    task = tell.add_task("rounds", total=(rounds + WARM_UP) * len(queries))
    gate = headgate.enable(bench.spark, enabled=False)
    texts = {q.name: bench.oracle_sql(q) for q in queries} if oracle else {}
    for number in range(rounds + WARM_UP):
        for query in queries:
            answers = {}
            for variant in variants if number % 2 else reversed(variants):
                gate.configure(enabled=variant == "on")
                seconds, answers[variant], read = bench.run(texts[query.name] if variant == "oracle" else query.sql)
                timing = results[query.name][variant]
                timing.bytes = read
                if number >= WARM_UP:
                    timing.seconds.append(seconds)
            if len({repr(rows) for rows in answers.values()}) != 1:
                raise SystemExit(f"{query.name}: the variants gave different rows")
            tell.advance(task)
    headgate.disable(bench.spark)
    return results


def ten_joins(bench: Bench) -> list[float]:
    """Return the planning times, builds not counted, of a query with ten joins."""
    gate = headgate.enable(bench.spark)
    times = []
    for _ in range(9):
        bench.spark.sql(TEN_JOINS)._jdf.queryExecution().optimizedPlan()
        times.append(gate.reports[-1].plan_ms)
    headgate.disable(bench.spark)
    return times[2:]


TEN_JOINS = """select count(*) from store_sales join date_dim on d_date_sk = ss_sold_date_sk
  join item on ss_item_sk = i_item_sk join store on ss_store_sk = s_store_sk
  join customer on ss_customer_sk = c_customer_sk
  join customer_address on c_current_addr_sk = ca_address_sk join household_demographics on ss_hdemo_sk = hd_demo_sk
  join income_band on hd_income_band_sk = ib_income_band_sk join promotion on ss_promo_sk = p_promo_sk
  join time_dim on ss_sold_time_sk = t_time_sk join customer_demographics on ss_cdemo_sk = cd_demo_sk
  where d_year = 2000 and d_moy = 3 and i_category = 'Books' and s_state = 'TN' and ca_state = 'CA'"""


def main() -> int:
    """Run the benchmark and print its tables; exit 1 when a bar is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--scale", type=float, default=14.0)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--markdown", type=Path, help="also write the tables into this file")
    chosen = arguments.parse_args()
    console = Console(width=150)
    folder = tables("tpcds", chosen.scale, "clustered", tell=console.print)
    bench = Bench(folder)
    sizes = [path.stat().st_size for path in (folder / "store_sales").iterdir()]
    console.print(f"store_sales: {sum(sizes) / 1e9:.2f} GB in {len(sizes)} files, clustered by date")
    with Progress(console=console, transient=True) as progress:
        selective = measure(bench, SELECTIVE, chosen.rounds, oracle=True, tell=progress)
        unprunable = measure(bench, UNPRUNABLE, chosen.rounds, oracle=False, tell=progress)
    planning = statistics.median(ten_joins(bench))
    missed = _print(console, selective, unprunable, planning)
    if chosen.markdown:
        chosen.markdown.write_text(_markdown(selective, unprunable, planning, chosen, sum(sizes)))
    plain = {
        n: {v: {"seconds": t.seconds, "bytes": t.bytes} for v, t in r.items()}
        for n, r in (selective | unprunable).items()
    }
    (DEFAULT_HOME / "batch.json").write_text(json.dumps({"queries": plain, "planning_ms": planning}, indent=1))
    return 1 if missed else 0


def _print(console: Console, selective: Results, unprunable: Results, planning: float) -> int:
    missed = 0
    table = Table(
        "query", "native s", "on s", "oracle s", "native/on", "on/oracle", "MB native", "MB on", "less", "met"
    )
    for name, r in selective.items():
        faster, over = r["native"].median / r["on"].median, r["on"].median / r["oracle"].median
        less = 1 - r["on"].bytes / max(1, r["native"].bytes)
        met = faster >= 3 and over <= 1.15 and less >= 0.6
        missed += not met
        table.add_row(
            name,
            *(f"{r[v].median:.2f}" for v in ("native", "on", "oracle")),
            f"{faster:.2f}",
            f"{over:.2f}",
            *(f"{r[v].bytes / 1e6:,.0f}" for v in ("native", "on")),
            f"{less:.0%}",
            "yes" if met else "NO",
        )
    console.print(table)
    table = Table("nothing to prune", "native s", "on s", "on/native (bar 1.03)", "met")
    for name, r in unprunable.items():
        over = r["on"].median / r["native"].median
        missed += over > 1.03
        table.add_row(
            name, f"{r['native'].median:.2f}", f"{r['on'].median:.2f}", f"{over:.3f}", "yes" if over <= 1.03 else "NO"
        )
    console.print(table)
    missed += planning > 50
    told = "yes" if planning <= 50 else "NO"
    console.print(f"planning a query with 10 joins, builds not counted: {planning:.0f} ms (bar 50): {told}")
    return missed


def _markdown(selective: Results, unprunable: Results, planning: float, chosen: argparse.Namespace, size: int) -> str:
    """Return the figures as a section of docs/benchmarks.md."""
    lines = ["## Selective star queries: Spark alone, with Headgate, and the limit", ""]
    lines += [f"`make bench-batch`: TPC-DS store_sales, {size / 1e9:.2f} GB in 64 files clustered by date; medians of"]
    lines += [f"{chosen.rounds} interleaved rounds. {machine()}; {datetime.now(UTC).date().isoformat()}.", ""]
    lines += [
        "| query | native s | on s | oracle s | native/on | on/oracle | MB native | MB on |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, r in selective.items():
        native, on, oracle = (r[v].median for v in ("native", "on", "oracle"))
        read = f"{r['native'].bytes / 1e6:,.0f} | {r['on'].bytes / 1e6:,.0f}"
        lines.append(
            f"| {name} | {native:.2f} | {on:.2f} | {oracle:.2f} | {native / on:.2f} | {on / oracle:.2f} | {read} |"
        )
    lines += ["", "Where nothing can be pruned:", "", "| query | native s | on s | on/native |", "|---|---|---|---|"]
    for name, r in unprunable.items():
        native, on = r["native"].median, r["on"].median
        lines.append(f"| {name} | {native:.2f} | {on:.2f} | {on / native:.3f} |")
    lines += ["", f"Planning a query with ten joins, its build jobs not counted: {planning:.0f} ms.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
