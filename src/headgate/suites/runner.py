"""Run every query with Headgate off and on, interleaved in one session, and compare all rows.

Each run builds a new DataFrame from the query's text, since a DataFrame keeps its plan and even its shuffle files.
The first round warms up and is not counted; it is also the round whose rows are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.catalyst.bridge import bytes_read
from headgate.observe import QueryReport, explain_text
from headgate.session import Gate
from headgate.suites.anchors import Anchor
from headgate.suites.compare import difference

LONG_SECONDS = 10.0
ENOUGH_SECONDS = 60.0
NEAR, NEAR_ROUNDS, NEAR_SECONDS = 1.5, 3, 15.0


@dataclass(slots=True)
class QueryResult:
    """What one query gave, off and on. Seconds are medians over the rounds; bytes are what the process read."""

    name: str
    off: float = 0.0
    on: float = 0.0
    off_bytes: int = 0
    on_bytes: int = 0
    rows: int = 0
    differs: str = ""
    failed: str = ""
    plan_ms: float = 0.0
    build_ms: float = 0.0
    filters: int = 0
    files_total: int = 0
    files_read: int = 0
    explain: str = ""
    is_warm: bool = False
    anchors: dict[str, float] = field(default_factory=dict)
    anchors_failed: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=lambda: {"off": [], "on": []})

    @property
    def times_faster(self) -> float:
        """Seconds off over seconds on."""
        return self.off / self.on if self.on else 1.0

    def needs_another(self, rounds: int, seconds: float) -> bool:
        """Whether one more round is due, of ``rounds`` asked for, after the query has taken ``seconds`` in all.

        What is slow needs fewer: after `ENOUGH_SECONDS` a query is not run again. What is near needs more: while off
        and on are within `NEAR` of each other, either way, noise decides which of them wins, so there are up to
        `NEAR_ROUNDS` as long as the query has not taken `NEAR_SECONDS`.
        """
        done = len(self.rounds["off"])
        if done < rounds:
            return not done or seconds < ENOUGH_SECONDS
        if not rounds or done >= NEAR_ROUNDS or seconds >= NEAR_SECONDS:
            return False
        return 1 / NEAR < statistics.median(self.rounds["off"]) / statistics.median(self.rounds["on"]) < NEAR


Advance = Callable[[QueryResult], None]


@contextmanager
def spark_over(folder: Path, **settings: str) -> Iterator[Any]:
    """Give a local Spark session with each folder of ``folder`` as a view."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("headgate bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "8g")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.sql.session.timeZone", "UTC")
    for key, value in settings.items():
        builder = builder.config(key.replace("__", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for table in sorted(path for path in folder.iterdir() if path.is_dir() or path.suffix == ".parquet"):
        spark.read.parquet(str(table)).createOrReplaceTempView(table.stem)
    try:
        yield spark
    finally:
        spark.stop()


def run_suite(
    spark: Any,
    queries: Mapping[str, str],
    rounds: int,
    advance: Advance = print,
    *,
    anchors: Sequence[Anchor] = (),
    **options: Any,
) -> list[QueryResult]:
    """Run all queries, each round off and on in turns, then each anchor, and return their results."""
    gate = Gate(spark, enabled=False, **options)
    results = []
    try:
        for name, text in queries.items():
            result = run_query(spark, gate, name, text, rounds)
            for anchor in anchors:
                if anchor.is_spark and result.off > LONG_SECONDS:
                    continue  # one more run of a slow query would double the time of the benchmark
                seconds, failed = anchor.timed(name, text)
                result.anchors |= {anchor.name: seconds} if seconds else {}
                result.anchors_failed |= {anchor.name: failed} if failed else {}
            results.append(result)
            advance(result)
    finally:
        gate.close()
    return results


def run_query(spark: Any, gate: Gate, name: str, text: str, rounds: int) -> QueryResult:
    """Run one query off and on, compare its rows, and time it over some rounds; a round of none only compares.

    A query of `LONG_SECONDS` or more needs no run to warm up, so its first run counts as a round.
    """
    result, began = QueryResult(name), time.perf_counter()
    try:
        expected, seconds, result.off_bytes = _timed(spark, text)
    except Exception as error:  # noqa: BLE001 - a query that Spark alone cannot run is listed with its reason
        result.failed = " ".join(str(error).split(" SQLSTATE")[0].split())[:200]
        return result
    if rounds and seconds >= LONG_SECONDS:
        result.is_warm = True
        result.rounds["off"].append(seconds)
    found, report = _filtered(spark, gate, text, result)
    result.rows, result.differs = len(expected), difference(expected, found)
    while result.needs_another(rounds, time.perf_counter() - began):
        for variant in ("on", "off") if len(result.rounds["off"]) % 2 else ("off", "on"):
            if variant == "on":
                _, report = _filtered(spark, gate, text, result)
            else:
                _, seconds, result.off_bytes = _timed(spark, text)
                result.rounds["off"].append(seconds)
    if rounds:
        root, report = gate.explain(spark.sql(text))
        result.explain = explain_text(root, report)
    _sum_up(result, report)
    return result


def _filtered(spark: Any, gate: Gate, text: str, result: QueryResult) -> tuple[list[Any], QueryReport]:
    """Run a query with Headgate on; the first run of a query warms up, and its time is not kept."""
    gate.configure(enabled=True)
    gate.forget()
    try:
        rows, seconds, result.on_bytes = _timed(spark, text)
    finally:
        gate.configure(enabled=False)
    if result.is_warm:
        result.rounds["on"].append(seconds)
    result.is_warm = True
    return rows, _whole_report(gate)


def _whole_report(gate: Gate) -> QueryReport:
    """A query with subqueries is several plans: add their reports up."""
    whole = QueryReport()
    for report in gate.reports:
        whole.filters += report.filters
        whole.scans += report.scans
        whole.plan_ms += report.plan_ms
        whole.build_ms += report.build_ms
    return whole


def _timed(spark: Any, text: str) -> tuple[list[Any], float, int]:
    before, started = bytes_read(spark), time.perf_counter()
    rows = spark.sql(text).collect()
    return rows, time.perf_counter() - started, bytes_read(spark) - before


def _sum_up(result: QueryResult, report: QueryReport) -> None:
    for variant in ("off", "on"):
        if result.rounds[variant]:
            setattr(result, variant, statistics.median(result.rounds[variant]))
    result.plan_ms, result.build_ms = report.plan_ms, report.build_ms
    result.filters = sum(f.state == "applied" for f in report.filters)
    result.files_total = sum(scan.files_total for scan in report.scans)
    result.files_read = sum(scan.files_read for scan in report.scans)
