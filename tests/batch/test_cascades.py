"""Filters that feed filters: region -> nation -> supplier -> lineitem, whatever the shape of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.batch.differential import (
    Check,
    assert_narrowed,
    compare,
    files_opened,
    filter_on,
    same_rows,
    scan_of,
    settings,
)

LEFT_DEEP = (
    "select l_line, s_name, n_name from lineitem join supplier on l_supplier = s_id join nation on s_nation = n_id "
    "join region on n_region = r_id where r_name = 'r2'"
)
BUSHY = (
    "select l_line, s_name, n_name from (select * from lineitem join supplier on l_supplier = s_id) "
    "join (select * from nation join region on n_region = r_id where r_name = 'r2') on s_nation = n_id"
)
RIGHT_DEEP = (
    "select l_line, s_name, n_name from region join (nation join (supplier join lineitem on "
    "l_supplier = s_id) on s_nation = n_id) "
    "on n_region = r_id where r_name = 'r2'"
)
NESTED = (
    "select l_line, l_qty from lineitem where l_supplier in (select s_id from supplier where s_nation in "
    "(select n_id from nation where n_region in (select r_id from region where r_name = 'r2')))"
)


@pytest.mark.parametrize(
    "query", [LEFT_DEEP, BUSHY, RIGHT_DEEP, NESTED], ids=["left-deep", "bushy", "right-deep", "nested"]
)
def test_a_chain_of_filters(check: Check, query: str) -> None:
    """One region of five is one fifth of the nations, of the suppliers and of the line items, in every shape of the plan."""
    report = check(query)
    scan = assert_narrowed(report, "lineitem", "l_supplier")
    assert (scan.files_read, scan.files_total) == (2, 10)


def test_each_link_of_the_chain_is_told(check: Check) -> None:
    """The report names the filter of each link, and how little of each table was read for it."""
    report = check(LEFT_DEEP)
    for column, table, files in (("n_region", "nation", 1), ("s_nation", "supplier", 1), ("l_supplier", "lineitem", 2)):
        assert filter_on(report, column).applied_to == [table]
        assert scan_of(report, table).files_read == files


def test_the_files_are_not_opened(spark: SparkSession, star: Path) -> None:
    """What the report calls unread is unread by Spark's own count of files."""
    ran = compare(spark, lambda: spark.sql(LEFT_DEEP))
    assert files_opened(ran.frame) == [scan_of(ran.report, "lineitem").files_read]


@pytest.mark.parametrize("threshold", ["10MB", "100", "-1"])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_every_way_to_join(spark: SparkSession, star: Path, threshold: str, adaptive: str) -> None:
    """Broadcast, partly broadcast and shuffled: the chain holds, nothing waits for itself, and rows agree."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold, spark_sql_adaptive_enabled=adaptive):
        report = same_rows(spark, lambda: spark.sql(LEFT_DEEP))
    assert_narrowed(report, "lineitem", "l_supplier")


def test_partitioned_and_bucketed_tables_in_a_chain(spark: SparkSession, star: Path) -> None:
    """A partitioned fact and a bucketed middle: the chain reaches the partitions."""
    spark.table("lineitem").write.partitionBy("l_supplier").saveAsTable("line_parts")
    spark.table("supplier").write.bucketBy(4, "s_id").sortBy("s_id").saveAsTable("supplier_buckets")
    try:
        query = LEFT_DEEP.replace("lineitem", "line_parts").replace("supplier on", "supplier_buckets on")
        report = same_rows(spark, lambda: spark.sql(query))
        scan = assert_narrowed(report, "spark_catalog.default.line_parts", "l_supplier")
        assert scan.files_read * 5 == scan.files_total
    finally:
        spark.sql("drop table line_parts")
        spark.sql("drop table supplier_buckets")


def test_a_circle_of_joins_ends(check: Check) -> None:
    """Joins that could feed each other in a circle are put in an order; nothing waits for ever."""
    report = check(
        "select a.k, b.l_line, c.s_id from fact a join lineitem b on a.k = b.l_line join supplier c on "
        "b.l_supplier = c.s_id and c.s_id = a.spread % 100 "
        "where a.late and c.s_nation between 10 and 24"
    )
    assert [f for f in report.filters if f.state == "applied"]


def test_two_chains_meet_in_one_scan(check: Check) -> None:
    """A snowflake with two branches: both narrow the scan they meet in."""
    report = check(
        LEFT_DEEP.replace(
            " join supplier on", " join (select id from dim where grp = 3) d on l_line = d.id join supplier on", 1
        )
    )
    scan = assert_narrowed(report, "lineitem", "l_supplier")
    assert len(scan.filters) == 2


def test_a_chain_through_an_aggregate_and_a_union(check: Check) -> None:
    """The links may pass through groupings and unions."""
    report = check(
        "select t.l_supplier, t.q from (select l_supplier, sum(l_qty) q from (select * from lineitem "
        "union all select * from lineitem where l_qty = 1) "
        "group by l_supplier) t join supplier on t.l_supplier = s_id join nation on s_nation = n_id where n_name = 'n7'"
    )
    assert all(scan.files_read < scan.files_total for scan in report.scans if scan.table.endswith("lineitem"))


def test_an_empty_link_empties_the_chain(check: Check) -> None:
    """No region of that name: nothing of the largest table is read."""
    report = check(LEFT_DEEP.replace("'r2'", "'nowhere'"), may_be_empty=True)
    assert assert_narrowed(report, "lineitem").files_read == 0


def test_a_chain_of_outer_joins(check: Check) -> None:
    """LEFT OUTER all the way: each right side is narrowed by the left, the first table is read whole."""
    report = check(
        "select r_name, n_name, s_name, l_line from (select * from region where r_id = 2) r left join "
        "nation on r_id = n_region "
        "left join supplier on n_id = s_nation left join lineitem on s_id = l_supplier"
    )
    assert_narrowed(report, "lineitem", "l_supplier")
