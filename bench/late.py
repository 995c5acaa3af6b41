"""Measure filters that arrive late against their bars: `python -m bench.late`.

open gate    a scan whose filter never comes, against the plain scan: what the gate costs
informed     from the call that publishes until the last of two executors, in processes of their own, has asked for more
slow build   a subquery of about ten seconds joined to a large fact table by shuffle, `maxWait=0s` against Headgate off

Variants are interleaved in one session, each round with new DataFrames; figures are medians. Exits with 1 when a bar is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyspark
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import headgate
from headgate.catalyst.wire import LateQuery
from headgate.config import Settings
from headgate.coordinator.polls import Polls
from headgate.domain import Domain, TupleDomain
from headgate.observe import QueryReport
from headgate.query.late import LateFilters
from headgate.suites.data import tables

PUBLICATIONS, WARM_UP = 300, 50
EXECUTORS = 2
OPEN_GATE = """select count(*), sum(ss_net_paid), sum(ss_ext_sales_price), avg(ss_list_price), max(ss_net_profit),
  sum(ss_quantity), sum(ss_coupon_amt) from store_sales
  join (select d_date_sk from date_dim where d_year between 1900 and 2100) on ss_sold_date_sk = d_date_sk"""
SLOW_BUILD = """select d, n, count(*), sum(ss_net_paid), sum(ss_ext_sales_price), avg(ss_list_price),
  max(ss_net_profit), sum(ss_quantity), sum(ss_coupon_amt), sum(ss_wholesale_cost), sum(ss_sales_price),
  sum(ss_ext_tax), sum(ss_ext_discount_amt), sum(ss_ext_wholesale_cost), sum(ss_ext_list_price),
  sum(ss_net_paid_inc_tax),
  count(distinct ss_customer_sk), count(distinct ss_ticket_number) from store_sales
  join (select cs_sold_date_sk d, count(*) n from catalog_sales
        where length(sha2(concat(cs_order_number, '/', cs_item_sk), 512)) = 128
        group by cs_sold_date_sk having pmod(bit_xor(xxhash64(cs_order_number, cs_item_sk)), 500) = 7)
  on ss_sold_date_sk = d
  group by d, n order by d"""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: what was measured, in which unit, and the most, or the least, that it may be."""

    what: str
    measured: float
    bar: float
    unit: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the measured value is on the right side of the bar."""
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def row(self) -> tuple[str, str, str, str]:
        """Return the cells of its line."""
        verdict = "[green]yes[/]" if self.is_met else "[red]no[/]"
        bar = f"{'≥' if self.at_least else '≤'} {self.bar:g} {self.unit}"
        return self.what, f"{self.measured:.3f} {self.unit}", bar, verdict


# --- open gate, and slow build --------------------------------------------------------------------------------------


def session(folder: Path) -> SparkSession:
    """A session of this machine's cores over the tables of the benchmark."""
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("headgate-late")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for name in ("store_sales", "catalog_sales", "date_dim"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    return spark


@contextmanager
def never_published() -> Iterator[None]:
    """Let no late filter arrive meanwhile."""
    original = LateFilters._bring
    LateFilters._bring = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        LateFilters._bring = original  # type: ignore[method-assign]


def off_and_on(spark: SparkSession, query: str, rounds: int, check: Callable[[QueryReport], None]) -> tuple[float, ...]:
    """Run a query without Headgate and with filters that nobody waits for, in turn; return the median seconds of each.

    The first round of both is not counted. The rows must be the same.
    """
    seconds: dict[bool, list[float]] = {False: [], True: []}
    rows = {}
    for turn in range(rounds + 1):
        for on in (False, True) if turn % 2 else (True, False):
            if on:
                headgate.enable(spark, strategy="always", max_wait="0s")
            began = time.perf_counter()
            rows[on] = spark.sql(query).collect()
            seconds[on].append(time.perf_counter() - began)
            if on:
                check(headgate.report(spark))
                headgate.disable(spark)
        assert rows[False] == rows[True]
    return statistics.median(seconds[False][1:]), statistics.median(seconds[True][1:])


def open_gate(spark: SparkSession, rounds: int) -> Iterator[Result]:
    """A gated scan whose filter never comes, against the plain scan."""

    def check(report: QueryReport) -> None:
        (told,) = [f.late for f in report.filters if f.late is not None]
        assert told.opened_before > 0
        assert told.files + told.row_groups + told.rows == 0

    with never_published():
        plain, gated = off_and_on(spark, OPEN_GATE, rounds, check)
    yield Result(f"scan behind an open gate ({gated:.2f} s) / plain scan ({plain:.2f} s)", gated / plain, 1.03)


def slow_build(spark: SparkSession, rounds: int) -> Iterator[Result]:
    """A slow subquery that the scan of the fact table does not wait for, against the unfiltered query."""

    def check(report: QueryReport) -> None:
        late = [f.late for f in report.filters if f.late is not None]
        assert sum(told.files + told.row_groups + told.rows for told in late) > 0, str(report)

    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        plain, on = off_and_on(spark, SLOW_BUILD, rounds, check)
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(before))
    name = f"slow build: unfiltered ({plain:.2f} s) / maxWait=0s ({on:.2f} s)"
    yield Result(name, plain / on, 1.5, "times", at_least=True)


# --- informed, in a process of its own ------------------------------------------------------------------------------


class Asked:
    """When each executor asked the coordinator for what is newer than a version: by then it has that version."""

    def __init__(self) -> None:
        self._times: dict[int, dict[Any, float]] = {}  # by version and connection, which an executor keeps
        original = Polls.next

        async def watched(polls: Polls, query: str, since: int, wait: float, client: Any, **more: Any) -> Any:
            self._times.setdefault(since, {}).setdefault(client, time.monotonic())
            return await original(polls, query, since, wait, client, **more)

        Polls.next = watched  # type: ignore[assignment,method-assign]

    def last(self, version: int) -> float:
        """Wait until all executors have a version; return when the last of them asked for more."""
        end = time.monotonic() + 60
        while len(self._times.get(version, ())) < EXECUTORS:
            assert time.monotonic() < end, f"not all executors heard of version {version}"
            time.sleep(0.0005)
        return max(self._times[version].values())


@contextmanager
def many_expected(count: int) -> Iterator[None]:
    """Tell executors that so many filters will come, so that they go on asking."""
    original = LateFilters.register

    def register(filters: LateFilters, settings: Settings) -> LateQuery:
        return msgspec.structs.replace(original(filters, settings), filters=count)

    LateFilters.register = register  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        LateFilters.register = original  # type: ignore[method-assign]


def cluster(folder: Path) -> SparkSession:
    """Two executors, and a view of so many files of a fact table that both of them get tasks."""
    spark = (
        SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]")
        .appName("headgate-informed")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .config("spark.cores.max", str(EXECUTORS))  # jobs wait until so many are there
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .config("spark.sql.files.maxPartitionBytes", "4m")
        .config("spark.sql.files.openCostInBytes", "4m")  # each file is a task
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    some = sorted(folder.glob("store_sales/*.parquet"))[: 4 * EXECUTORS]
    spark.read.parquet(*map(str, some)).createOrReplaceTempView("store_sales")
    spark.read.parquet(str(folder / "date_dim")).createOrReplaceTempView("date_dim")
    return spark


def tell_executors(folder: Path) -> list[float]:
    """Publish one filter after the other; return the seconds until the last executor had each of them."""
    asked = Asked()
    spark = cluster(folder)
    gate = headgate.enable(spark, strategy="always", max_wait="0s")
    with never_published(), many_expected(10 * PUBLICATIONS):
        spark.sql(OPEN_GATE).collect()
    assert gate._coordinator is not None
    registry = gate._coordinator.registry
    query = next(story.query for story in registry.stories() if story.state == "RUNNING")
    seconds = []
    for turn in range(WARM_UP + PUBLICATIONS):
        registry.add_filter(query, f"bench_{turn}", ["k"], blocking=False)
        asked.last(registry.get(query).version)
        domain = TupleDomain({"k": Domain.of_array("bigint", np.arange(100) + turn)})
        began = time.monotonic()
        registry.publish(query, f"bench_{turn}", domain)
        seconds.append(asked.last(registry.get(query).version) - began)
    headgate.disable(spark)
    spark.stop()
    return seconds[WARM_UP:]


def informed(folder: Path) -> Iterator[Result]:
    """Publications to executors in processes of their own, which ask through Headgate's own Java client."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    command = [sys.executable, "-m", "bench.late", "--tables", str(folder.resolve()), "--executors"]
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds = json.loads(next(line for line in ran.stdout.splitlines() if line.startswith("[")))
    p99 = float(np.percentile(seconds, 99)) * 1000
    yield Result(f"publish to the last of {EXECUTORS} executors informed, p99 of {len(seconds)}", p99, 50, "ms")


def measured(folder: Path, only: str, rounds: int) -> Iterator[Result]:
    """Measure one subject or all of them."""
    if only in ("", "informed"):
        yield from informed(folder)
    if only in ("", "open", "slow"):
        spark = session(folder)
        if only in ("", "open"):
            yield from open_gate(spark, 2 * rounds + 1)
        if only in ("", "slow"):
            yield from slow_build(spark, rounds)
        spark.stop()


def main() -> int:
    """Measure everything, print the table, and return 1 when a bar is missed."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tables", type=Path, help="a folder of TPC-DS tables; left out, one is made")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", choices=("", "informed", "open", "slow"), default="")
    arguments.add_argument("--executors", action="store_true", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    console = Console()
    folder = chosen.tables or tables("tpcds", 10.0, "clustered", tell=console.print)
    if chosen.executors:
        print(json.dumps(tell_executors(folder)))
        return 0
    table = Table(title="Late filters")
    table.add_column("what")
    for column in ("measured", "bar", "met"):
        table.add_column(column, justify="right", no_wrap=True)
    results = list(measured(folder, chosen.only, chosen.rounds))
    for result in results:
        table.add_row(*result.row())
    console.print(table)
    return 0 if all(result.is_met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
