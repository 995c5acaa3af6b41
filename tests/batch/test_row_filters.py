"""Where no file can be left out, rows are still dropped before a shuffle: on against off, identical."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate import QueryReport
from tests.batch.differential import compare, filter_on, scan_of, settings

SPREAD = "select fact.k, spread, grp from fact join (select * from dim where grp < 9) d on fact.spread = d.id"


def compared(spark: SparkSession, query: str, *, threshold: str = "100", **options: Any) -> tuple[QueryReport, str]:
    """Run a query off and on, where nothing but the smallest is broadcast; return the report and the plan."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
        found = compare(spark, lambda: spark.sql(query), **options)
        return found.report, str(found.frame._jdf.queryExecution().optimizedPlan())


def test_rows_are_dropped_where_every_file_is_read(spark: SparkSession, star: Path) -> None:
    report, plan = compared(spark, SPREAD)
    assert filter_on(report, "spread").applied_to == ["fact"]
    assert scan_of(report, "fact").files_read == scan_of(report, "fact").files_total == 8
    assert "spread" in next(line for line in plan.splitlines() if "Filter" in line and " IN" in line)


def test_many_keys_are_tested_in_a_bitmap(spark: SparkSession, star: Path) -> None:
    build = "(select l_line id from lineitem where l_line % 3 < 2 and l_line < 800)"
    report, plan = compared(spark, f"select k, id from fact join {build} d on fact.spread = d.id")
    assert filter_on(report, "spread").values == 534
    assert "headgate_bits" in plan


@pytest.mark.parametrize(
    ("threshold", "options"),
    [
        pytest.param("10MB", {}, id="the build side is broadcast"),
        pytest.param("100", {"filter_rows": False}, id="filterRows=false"),
    ],
)
def test_rows_are_left_to_the_join(spark: SparkSession, star: Path, threshold: str, options: dict[str, object]) -> None:
    report, plan = compared(spark, SPREAD, threshold=threshold, **options)
    assert [f.state for f in report.filters if f.column == "spread"] == ["collected"]
    assert not [line for line in plan.splitlines() if "Filter" in line and "spread" in line and " IN" in line]


THREE = """select f.k, d.grp, l.l_line from fact f join dim d on f.spread = d.id
           join lineitem l on d.grp = l.l_supplier where l.l_qty = 3 and l.l_line < 500"""


def test_keys_from_a_part_of_the_build_side(spark: SparkSession, star: Path) -> None:
    """fact <- {dim join lineitem} is built from dim, to which lineitem was applied before."""
    query = f"select s.k, t.grp, t.l_line from fact s join ({THREE.replace('f.k, ', 'd.id, ')}) t on s.spread = t.id"
    report, _ = compared(spark, query)
    assert any(f.state == "applied" and "fact" in f.applied_to for f in report.filters), report


@pytest.mark.parametrize("join", ["inner", "left", "right", "left semi", "left anti"])
@pytest.mark.parametrize("inner", ["join", "left join", "right join", "left semi join"])
def test_builds_of_joins_of_every_type(spark: SparkSession, star: Path, join: str, inner: str) -> None:
    """Whatever is joined inside a build side, taking keys from a part of it loses no row."""
    few, some = "(select * from dim where grp < 15) d", "(select * from supplier where s_nation > 0) s"
    build = f"(select d.id, d.grp from {few} {inner} {some} on d.grp = s.s_id)"
    columns = "f.k, f.spread" if "semi" in join or "anti" in join else "f.k, f.spread, b.grp"
    compared(spark, f"select {columns} from fact f {join} join {build} b on f.spread = b.id")


def test_equal_columns_with_nulls(spark: SparkSession, star: Path) -> None:
    """A key that the build side's join makes equal stands for the other, NULLs included."""
    build = "(select f.sparse, f.n, d.grp from fact f join dim d on f.sparse = d.id where d.grp < 9)"
    for op in ("=", "<=>"):
        compared(spark, f"select l.l_line, b.grp from lineitem l join {build} b on l.l_line {op} b.sparse")


def test_null_is_let_through_where_it_matches(spark: SparkSession, star: Path) -> None:
    """The build side holds a NULL: rows without a value are joined by `<=>`, and the row test keeps them."""
    build = "(select sparse x, grp from fact join dim on fact.k = dim.id where fact.k in (70, 119, 581))"
    report, plan = compared(spark, f"select fact.k, d.grp from fact join {build} d on fact.sparse <=> d.x")
    assert filter_on(report, "sparse").applied_to == ["fact"]
    assert any("Filter" in line and "isnull(sparse" in line for line in plan.splitlines()), plan


def test_the_ends_of_a_range_are_inside(spark: SparkSession, star: Path) -> None:
    """Too many texts for a list are a range from the smallest to the largest, and both of them match."""
    query = "select fact.k, grp from fact join (select * from dim where id between 210 and 490) d on fact.s = d.name"
    report, plan = compared(spark, query, max_distinct_values=0)
    assert filter_on(report, "s").kind == "ranges"
    assert any("Filter" in line and "<= k0490" in line for line in plan.splitlines()), plan
