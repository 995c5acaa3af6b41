"""Run a query with Headgate off and on, compare the rows, and read what the report says.

Rows are compared as multisets: NaN equals NaN, 0.0 differs from -0.0, NULL is a value, nested values count in full.
A comparison of two empty answers proves little, so a test says so where it wants one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

import headgate
from headgate.observe import FilterReport, QueryReport, ScanReport

MakeFrame = Callable[[], DataFrame]
Check = Callable[..., QueryReport]
Answer = Counter[Any] | tuple[str, str]

# For plans that are large, or planned again and again: compiling their code takes longer than running it.
INTERPRETED = {"spark_sql_codegen_wholeStage": "false", "spark_sql_codegen_factoryMode": "NO_CODEGEN"}
GENERATED = {"spark_sql_codegen_wholeStage": "true", "spark_sql_codegen_factoryMode": "FALLBACK"}


@dataclass(frozen=True)
class Comparison:
    """Both runs of one query: the rows they agree on, the frame that ran with Headgate on, and the reports of that run."""

    rows: list[tuple[Any, ...]]
    frame: DataFrame
    report: QueryReport
    reports: list[QueryReport]


def same_rows(spark: SparkSession, make_df: MakeFrame, *, may_be_empty: bool = False, **options: Any) -> QueryReport:
    """Assert that a query gives the same rows with Headgate on as with it off; return the report of the filtered run."""
    return compare(spark, make_df, may_be_empty=may_be_empty, **options).report


def compare(spark: SparkSession, make_df: MakeFrame, *, may_be_empty: bool = False, **options: Any) -> Comparison:
    """Like `same_rows`, for tests that look further than the last report."""
    headgate.disable(spark)
    plain = make_df()
    expected = rows_of(plain)
    with enabled(spark, **options) as gate:
        frame = make_df()
        found = rows_of(frame)
        report = headgate.report(spark)
        reports, failures = list(gate.reports), gate.failures
    assert failures == [], f"the query ran unfiltered: {failures}"
    assert_same(expected, found, report)
    assert frame.schema == plain.schema
    assert may_be_empty or expected, "both answers are empty: the comparison proves nothing"
    return Comparison(sorted(expected.elements(), key=repr), frame, report, reports)


def assert_same(expected: Counter[Any], found: Counter[Any], report: object = "") -> None:
    """Assert that two multisets of rows are equal; show the difference where they are not."""
    lost, added = expected - found, found - expected
    assert not lost, f"{lost.total()} of {expected.total()} rows lost, such as {_some(lost)}\n{report}"
    assert not added, f"{added.total()} rows too many, such as {_some(added)}\n{report}"


def rows_of(df: DataFrame) -> Counter[tuple[Any, ...]]:
    """Run a query and return its rows as a multiset."""
    return Counter(tuple(canonical(value) for value in row) for row in df.collect())


def evict_all(spark: SparkSession) -> None:
    """Remove the blocks of every cache, as a lack of memory does; the caches stay, and are computed again."""
    for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
        rdd.unpersist(True)


def outcome(make_df: MakeFrame) -> Answer:
    """Return the rows of a query, or the Java class and the condition of the error that it ends with."""
    try:
        return rows_of(make_df())
    except (PySparkException, Py4JJavaError) as error:
        return error_kind(error)


def error_kind(error: Exception) -> tuple[str, str]:
    """Return what tells one kind of error from another: its Java class and Spark's name for its condition."""
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        while java is not None:  # a broadcast or a job wraps what went wrong in it
            name = str(java.getClass().getSimpleName())
            if name.startswith("Spark") and java.getCondition() is not None:
                return name, str(java.getCondition())
            java = java.getCause()
        return str(error.java_exception.getClass().getSimpleName()), ""
    return type(error).__name__, str(getattr(error, "getCondition", str)())


def canonical(value: Any) -> Any:
    """Return a hashable stand-in that tells apart exactly what counts as different."""
    match value:
        case float() | Decimal():
            return f"{type(value).__name__} {value!r}"
        case Row():
            return ("row", *value.__fields__, *(canonical(v) for v in value))
        case list():
            return ("list", *(canonical(v) for v in value))
        case dict():
            return ("map", *sorted(((canonical(k), canonical(v)) for k, v in value.items()), key=repr))
        case bytearray():
            return bytes(value)
    return value


@contextmanager
def enabled(spark: SparkSession, **options: Any) -> Iterator[headgate.Gate]:
    """Enable Headgate with every legal filter for a while."""
    gate = headgate.enable(spark, **{"strategy": "always", **options})
    try:
        yield gate
    finally:
        headgate.disable(spark)


@contextmanager
def settings(spark: SparkSession, **texts: str) -> Iterator[None]:
    """Set Spark settings for a while; underscores in the names stand for dots."""
    keys = {name.replace("_", "."): text for name, text in texts.items()}
    before = {key: spark.conf.get(key, None) for key in keys}
    for key, text in keys.items():
        spark.conf.set(key, text)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def filter_on(report: QueryReport, column: str) -> FilterReport:
    """Return the one filter that was applied to a column."""
    found = [f for f in report.filters if f.state == "applied" and f.column == column]
    assert len(found) == 1, f"{len(found)} filters applied to {column}\n{report}"
    return found[0]


def scan_of(report: QueryReport, table: str) -> ScanReport:
    """Return the one scan of a table, given by its name, its view's or its folder's."""
    found = [
        scan for scan in report.scans if table in (scan.table, *(p.rsplit("/", 1)[-1] for p in (scan.table, scan.path)))
    ]
    assert len(found) == 1, f"{len(found)} scans of {table}\n{report}"
    return found[0]


def assert_narrowed(report: QueryReport, table: str, column: str | None = None) -> ScanReport:
    """Assert that a filter left files or row groups of a table unread; return its scan."""
    scan = scan_of(report, table)
    assert_unread(scan, report)
    if column is not None:
        assert any(f.id in scan.filters and f.column == column for f in report.filters), (
            f"no filter on {column}\n{report}"
        )
    return scan


def assert_unread(scan: ScanReport, report: QueryReport) -> None:
    """Assert that a scan has a filter and left something unread."""
    assert scan.filters, f"{scan.table} has no filter: {scan.reason}\n{report}"
    fewer = scan.files_read < scan.files_total or scan.row_groups_read < scan.row_groups_total
    assert fewer, f"all of {scan.table} is read\n{report}"
    assert scan.bytes_read < scan.bytes_total


def assert_whole(report: QueryReport, table: str) -> ScanReport:
    """Assert that a table is read whole, and that the report says why."""
    scan = scan_of(report, table)
    assert not scan.filters, f"{table} is filtered\n{report}"
    assert scan.files_read == scan.files_total
    assert scan.bytes_read == scan.bytes_total
    assert scan.reason, f"no reason why {table} is read whole\n{report}"
    return scan


def assert_unfiltered(report: QueryReport, why: str) -> None:
    """Assert that no filter was applied, and that one of the reasons holds a text."""
    assert not [f for f in report.filters if f.state == "applied"], f"a filter was applied\n{report}"
    assert not [scan for scan in report.scans if scan.filters], f"a scan was narrowed\n{report}"
    assert_reason(report, why)


def assert_reason(report: QueryReport, why: str) -> None:
    """Assert that one of the reasons in the report holds a text."""
    assert any(why in reason for reason in reasons(report)), f"no reason says {why!r}: {reasons(report)}"


def reasons(report: QueryReport) -> list[str]:
    """Return every reason in a report, of filters, joins and scans."""
    found: list[Any] = [*report.filters, *report.joins, *report.scans]
    return [told.reason for told in found if told.reason]


def files_opened(df: DataFrame) -> list[int]:
    """Return how many files each file scan of a query that has run opened, by Spark's own count."""
    return [_metric(scan, "numFiles") for scan in _scans(df._jdf.queryExecution().executedPlan())]


def rows_scanned(df: DataFrame) -> list[int]:
    """Return how many rows each file scan of a query that has run put out, by Spark's own count."""
    return [_metric(scan, "numOutputRows") for scan in _scans(df._jdf.queryExecution().executedPlan())]


def _scans(plan: Any) -> list[Any]:
    name = plan.getClass().getSimpleName()
    if name == "FileSourceScanExec":
        return [plan]
    if name == "AdaptiveSparkPlanExec":
        return _scans(plan.executedPlan())
    if name.endswith("QueryStageExec"):
        return _scans(plan.plan())
    children = plan.children()
    return [scan for i in range(children.size()) for scan in _scans(children.apply(i))]


def _metric(scan: Any, name: str) -> int:
    return int(scan.metrics().apply(name).value())


def _some(rows: Counter[Any]) -> str:
    return ", ".join(repr(row) for row in sorted(rows, key=repr)[:5])
