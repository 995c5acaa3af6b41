"""The same joins over the same table in every format, with Headgate on and off: the same rows, and less is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from headgate import QueryReport
from headgate.observe.explain import why_lines
from tests.batch.differential import compare
from tests.sources.formats import FORMATS, Tables

ROWS, FILES = 20_000, 20
Read = Callable[[], DataFrame]


@pytest.fixture(scope="session")
def fact(spark: SparkSession, tables: Tables, kind: str) -> Read:
    """20,000 rows in 20 files by key; ``n`` is NULL here and there, and ``g`` is in every file."""
    frame = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id AS k",
        "cast(id AS int) AS i",
        "date_add(date'2020-01-01', cast(id / 100 AS int)) AS d",
        "cast(id / 4 AS decimal(12, 2)) AS m",
        "lpad(id, 6, '0') AS s",
        "CASE WHEN id % 5 = 0 THEN NULL ELSE id END AS n",
        "id % 11 AS g",
    )
    return tables.put(kind, frame)


def keys(spark: SparkSession, column: str = "id", at: int = 8_000) -> DataFrame:
    """Forty keys in two clusters far apart: one range over both would help little."""
    found = spark.range(20).selectExpr(f"id * 3 + {at} AS id").union(spark.range(20).selectExpr("id * 5 + 200 AS id"))
    return found.selectExpr(f"{column} AS key", "id AS w").limit(40)


def told(report: QueryReport) -> bool:
    return any(scan.filters for scan in report.scans)


JOINS = {
    "inner": lambda fact, dim: fact.join(dim, fact.k == dim.key),
    "semi": lambda fact, dim: fact.join(dim, fact.k == dim.key, "left_semi"),
    "right": lambda fact, dim: fact.join(dim, fact.k == dim.key, "right"),
    "left": lambda fact, dim: fact.join(dim, fact.k == dim.key, "left").selectExpr("count(*)", "sum(w)"),
    "anti": lambda fact, dim: dim.join(fact.where("g < 6"), fact.k == dim.key, "left_anti"),
    "null safe": lambda fact, dim: fact.join(dim, fact.n.eqNullSafe(dim.key)).selectExpr("count(*)", "sum(n)"),
    "filtered": lambda fact, dim: fact.where("g < 4 AND k >= 100").join(dim, fact.k == dim.key).select("s", "w"),
    "aggregated": lambda fact, dim: fact.groupBy("k").count().join(dim, fact.k == dim.key),
    "limited": lambda fact, dim: fact.orderBy("k").limit(500).join(dim, fact.k == dim.key),
    "range": lambda fact, dim: fact.join(dim.selectExpr("max(key) + 11000 AS top"), col("k") >= col("top")),
    "union": lambda fact, dim: fact.select("k", "g").union(fact.select("k", "k")).join(dim, col("k") == dim.key),
    "unscanned": lambda fact, dim: fact.join(dim, fact.k == dim.key + 0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("join", JOINS)
def test_rows_are_the_same(spark: SparkSession, fact: Read, join: str) -> None:
    dim = keys(spark)
    compare(spark, lambda: JOINS[join](fact(), dim), may_be_empty=join == "limited", strategy="always")


@pytest.mark.parametrize(
    ("column", "of"), [("k", "id"), ("i", "cast(id AS int)"), ("m", "cast(id / 4 AS decimal(12, 2))")]
)
def test_numbers_are_told(spark: SparkSession, fact: Read, kind: str, column: str, of: str) -> None:
    dim = keys(spark, of)
    report = compare(spark, lambda: fact().join(dim, col(column) == col("key")), strategy="always").report
    assert told(report) == FORMATS[kind].skips, str(report)
    _reads_less(report, kind)


@pytest.mark.parametrize(
    ("column", "of"), [("s", "lpad(id, 6, '0')"), ("d", "date_add(date'2020-01-01', cast(id / 100 AS int))")]
)
def test_text_and_days_are_told_where_the_source_orders_them_as_spark_does(
    spark: SparkSession, fact: Read, kind: str, column: str, of: str
) -> None:
    dim = keys(spark, of)
    report = compare(spark, lambda: fact().join(dim, col(column) == col("key")), strategy="always").report
    if FORMATS[kind].skips and (column == "d" or FORMATS[kind].compares_text):
        assert told(report), str(report)
        _reads_less(report, kind)


def _reads_less(report: QueryReport, kind: str) -> None:
    scans = [scan for scan in report.scans if scan.filters]
    if FORMATS[kind].skips and FORMATS[kind].counts_rows:
        assert all(scan.rows_read is not None and scan.rows_read < ROWS / 2 for scan in scans), str(report)
    if FORMATS[kind].counts_files:
        assert [(scan.files_read, scan.files_total) for scan in scans] == [(2, FILES)], str(report)


def test_a_column_in_every_file_is_told_in_vain(spark: SparkSession, fact: Read, kind: str) -> None:
    """Files cannot be skipped by it; rows are the same, and the report says what would help."""
    dim = spark.range(3).selectExpr("id AS key")
    frame = lambda: fact().join(dim, col("g") == col("key")).selectExpr("count(*)", "sum(k)")  # noqa: E731
    report = compare(spark, frame, strategy="always").report
    if FORMATS[kind].counts_files:
        assert "every file may hold a match; cluster the table" in _why(report)
        assert any("20 of 20 files: every file may hold" in line for line in why_lines(report))


def _why(report: QueryReport) -> str:
    (scan,) = (scan for scan in report.scans if scan.filters)
    return scan.reason


@pytest.mark.parametrize(
    ("properties", "named"),
    [("'delta.dataSkippingNumIndexedCols' = '1'", "k"), ("'delta.dataSkippingStatsColumns' = 'other'", "k")],
)
def test_delta_says_which_column_has_no_statistics(spark: SparkSession, properties: str, named: str) -> None:
    spark.sql("DROP TABLE IF EXISTS bare")
    spark.sql(f"CREATE TABLE bare (other BIGINT, k BIGINT) USING delta TBLPROPERTIES ({properties})")
    spark.range(0, 1000, 1, 4).selectExpr("id AS other", "id AS k").write.insertInto("bare")
    assert f"keeps no statistics of {named} for its files" in _why(_joined(spark, "bare", "k"))
    assert _why(_joined(spark, "bare", "other")) == ""


def test_iceberg_says_which_column_has_no_statistics(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS ice.db.bare")
    modes = "'write.metadata.metrics.default' = 'counts', 'write.metadata.metrics.column.other' = 'full'"
    spark.sql(f"CREATE TABLE ice.db.bare (other BIGINT, k BIGINT) USING iceberg TBLPROPERTIES ({modes})")
    spark.range(0, 1000, 1, 4).selectExpr("id AS other", "id AS k").writeTo("ice.db.bare").append()
    assert "keeps no statistics of k for its files" in _why(_joined(spark, "ice.db.bare", "k"))
    assert _why(_joined(spark, "ice.db.bare", "other")) == ""


def _joined(spark: SparkSession, table: str, column: str) -> QueryReport:
    """Return the report of a join; the last one of the session may be of a query that Delta runs for itself."""
    dim = spark.range(3).selectExpr("id AS key")
    ran = compare(spark, lambda: spark.table(table).join(dim, col(column) == col("key")), strategy="always")
    return ran.reports[-1]


def test_a_table_joined_to_itself(spark: SparkSession, fact: Read) -> None:
    small = fact().where("k BETWEEN 9000 AND 9040").selectExpr("k AS key")
    compare(spark, lambda: fact().join(small, col("k") == col("key")), strategy="always")


def test_many_keys_are_few_ranges(spark: SparkSession, fact: Read, kind: str) -> None:
    """Five thousand keys in one corner: no list of them goes to the source."""
    dim = spark.range(5_000).selectExpr("id AS key").where("key <> 3")
    report = compare(spark, lambda: fact().join(dim, col("k") == col("key")), strategy="always").report
    if FORMATS[kind].counts_files:
        assert [scan.files_read for scan in report.scans if scan.filters] == [5]
