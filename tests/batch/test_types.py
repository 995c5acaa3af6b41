"""Key columns of every type, and keys of two types: what a cast keeps and what it loses."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_unfiltered,
    compare,
    filter_on,
    rows_scanned,
    same_rows,
    settings,
)
from tests.batch.tables import write_table

CLUSTERED = (
    "k", "small", "big", "wide", "real", "num", "price", "huge", "s", "raw", "day", "ts", "ntz"
)  # fmt: skip
FEW = "(select k as key, * from fact where k in (3, 310, 311, 790))"


@pytest.mark.parametrize("column", CLUSTERED)
def test_keys_of_every_type(check: Check, column: str) -> None:
    """A set of keys of each type narrows the scan to the four row groups' files that hold them."""
    report = check(f"select f.k, d.key from fact f join {FEW} d on f.{column} = d.{column}")
    scans = [scan for scan in report.scans if scan.filters]
    assert [(scan.files_read, scan.row_groups_read) for scan in scans] == [(3, 3)]


def test_keys_of_every_type_behind_a_shuffle(spark: SparkSession, star: Path) -> None:
    """Where rows are shuffled between scan and join, each row is tested too, whatever the type of the key."""
    keys, equal = ", ".join(CLUSTERED), " and ".join(f"f.{c} = d.{c}" for c in CLUSTERED)
    query = (
        f"select f.k, f.c, d.key from (select {keys}, count(*) c from fact group by {keys}) f join {FEW} d on {equal}"
    )
    ran = compare(spark, lambda: spark.sql(query))
    assert [(scan.files_read, len(scan.filters)) for scan in ran.report.scans if scan.filters] == [(3, len(CLUSTERED))]
    tested = ran.frame._jdf.queryExecution().optimizedPlan().toString()
    assert all(f"{column}#" in tested for column in CLUSTERED)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_too_many_values_become_a_wider_kind(check: Check, most: int) -> None:
    """Beyond maxDistinctValues a set of any type becomes a bitmap, a bloom or a range; the rows stay the same."""
    equal = " and ".join(f"f.{c} = d.{c}" for c in CLUSTERED)
    report = check(f"select f.k, d.key from fact f join {FEW} d on {equal}", max_distinct_values=most)
    kinds = {f.column: f.kind for f in report.filters if f.kind}
    assert set(kinds) == set(CLUSTERED)
    assert "set" not in kinds.values()
    assert {kinds["k"], kinds["small"], kinds["big"], kinds["day"]} == {"bitmap"}
    assert {kinds["wide"], kinds["ts"]} == {"bitmap"}
    assert {kinds["num"], kinds["s"]} <= ({"ranges"} if most == 0 else {"ranges", "bloom"})


@pytest.mark.parametrize("most", [0, 1, 3])
@pytest.mark.parametrize("column", ["price", "s", "ts", "num"])
def test_a_range_of_keys_narrows_too(check: Check, column: str, most: int) -> None:
    """A filter that holds only the smallest and the largest key still cuts off what lies outside."""
    near = "(select k as key, * from fact where k between 310 and 420 and k % 10 = 5)"
    report = check(f"select f.k, d.key from fact f join {near} d on f.{column} = d.{column}", max_distinct_values=most)
    assert any(scan.filters and scan.files_read == 2 for scan in report.scans)


@pytest.mark.parametrize("op", ["<", ">="])
def test_inequalities_of_every_type(check: Check, op: str) -> None:
    """Inequalities cut the scan for each type that has an order."""
    both = " and ".join(f"f.{c} {op} d.{c}" for c in CLUSTERED)
    report = check(f"select f.k, d.key from fact f join (select k as key, * from fact where k = 310) d on {both}")
    scans = [scan for scan in report.scans if scan.filters]
    assert [scan.files_read for scan in scans] == [4 if op == "<" else 5]
    # NaN is above every float, so those two columns narrow nothing from below
    assert len(scans[0].filters) == len(CLUSTERED) - (0 if op == "<" else 2)


@pytest.mark.parametrize("column", ["real", "num"])
def test_nan_is_above_every_float(check: Check, column: str) -> None:
    """`float > x` also holds for NaN, which statistics leave out: any file may hold one, so none is skipped."""
    report = check(
        f"select f.k, d.key from fact f join (select k as key, * from fact where k = 310) d on f.{column} > d.{column}"
    )
    assert_unfiltered(report, "would skip nothing")


def test_boolean_keys(check: Check) -> None:
    """Booleans are values too: false lies in the first half of the files, true in the second."""
    report = check("select f.k, d.yes from fact f join (values (true)) d(yes) on f.late = d.yes")
    assert assert_narrowed(report, "fact", "late").files_read == 4


def test_int_probe_and_bigint_build(check: Check) -> None:
    """int = bigint compares as bigint: keys that int cannot hold are dropped, the others filter."""
    build = "(values (210L), (9999999999L), (-9999999999L)) d(id)"
    report = check(f"select k from fact join {build} on fact.k = d.id")
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_bigint_probe_and_int_build(check: Check) -> None:
    """bigint = int: int keys are bigint keys."""
    report = check("select k from fact join (select id from dim where grp = 3) d on fact.big = d.id")
    assert_narrowed(report, "fact", "big")


def test_smallint_probe_and_bigint_build(check: Check) -> None:
    """smallint = bigint: two steps of widening are one."""
    report = check("select k from fact join (values (210L), (70000L)) d(id) on fact.small = d.id")
    assert assert_narrowed(report, "fact", "small").files_read == 1


def test_exactly_the_matching_rows_leave_a_scan_below_a_shuffle(spark: SparkSession, star: Path) -> None:
    """int probe, bigint build, a shuffle in between: the scan puts out the matching rows and no others."""
    query = (
        "select f.big, c from (select big, count(*) c from fact group by big) f "
        "join (select id from dim where grp = 3) d on f.big = d.id"
    )
    ran = compare(spark, lambda: spark.sql(query))
    assert sum(rows_scanned(ran.frame)) == 5 * 25
    assert filter_on(ran.report, "big").values == 5


def test_decimals_of_two_scales(spark: SparkSession, tmp_path: Path) -> None:
    """decimal(7,2) joined to decimal(10,4): keys with more digits than the probe can hold match nothing."""
    write_table(tmp_path / "p", pa.table({"a": pa.array(range(800), pa.decimal128(7, 2))}), files=8, groups=2)
    build = (
        "(values (cast(210.0000 as decimal(10,4))), (cast(210.0001 as decimal(10,4))), (cast(650.1234 "
        "as decimal(10,4)))) d(b)"
    )
    report = same_rows(
        spark,
        lambda: spark.sql(f"select a, b from {{p}} join {build} on a = b", p=spark.read.parquet(str(tmp_path / "p"))),
    )
    assert assert_narrowed(report, "p", "a").files_read == 1


def test_decimal_build_of_the_narrower_scale(spark: SparkSession, tmp_path: Path) -> None:
    """decimal(10,4) probe, decimal(7,2) build: the build values are widened."""
    values = pa.array(range(800), pa.int64()).cast(pa.decimal128(38, 0)).cast(pa.decimal128(10, 4))
    write_table(tmp_path / "p", pa.table({"a": values}), files=8, groups=2)
    report = same_rows(
        spark,
        lambda: spark.sql(
            "select a, b from {p} join (values (cast(210.00 as decimal(7,2)))) d(b) on a = b",
            p=spark.read.parquet(str(tmp_path / "p")),
        ),
    )
    assert assert_narrowed(report, "p", "a").files_read == 1


def test_int_joined_to_decimal(check: Check) -> None:
    """int = decimal(12,2): whole keys filter, and keys with cents match nothing."""
    build = "(values (cast(210 as decimal(12,2))), (cast(410.5 as decimal(12,2)))) d(id)"
    report = check(f"select k from fact join {build} on fact.k = d.id")
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_int_joined_to_double(check: Check) -> None:
    """int = double loses nothing: fractions, infinities and NaN match no int."""
    build = "(values (210D), (410.5D), (double('NaN')), (double('Infinity'))) d(id)"
    report = check(f"select k from fact join {build} on fact.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_float_joined_to_double(check: Check) -> None:
    """float = double compares as double: 0.1 as a double is no float."""
    build = "(values (52.5D), (0.1D)) d(id)"
    report = check(f"select k from fact join {build} on fact.real = d.id")
    assert assert_narrowed(report, "fact", "real").files_read == 1


def test_bigint_joined_to_double_has_no_filter(check: Check) -> None:
    """bigint = double compares as double, which cannot tell large bigints apart: no filter."""
    report = check("select k from fact join (values (210D)) d(id) on fact.big = d.id")
    assert_unfiltered(report, "cast from bigint to double")


def test_string_joined_to_int_has_no_filter(check: Check) -> None:
    """string = int parses the string: ' 7', '07' and '7' are one number, so neither side can be filtered."""
    report = check("select k, x from fact join (values ('210'), (' 0610 '), ('7')) d(x) on fact.k = d.x")
    assert_unfiltered(report, "cast from string to")


def test_int_joined_to_string_of_the_scan_has_no_filter(spark: SparkSession, tmp_path: Path) -> None:
    """The other way round: a scanned string that is parsed to be compared is kept whole."""
    texts = [str(i) if i % 2 else f" 0{i}" for i in range(100)]
    write_table(tmp_path / "p", pa.table({"x": texts}), files=4)
    report = same_rows(
        spark,
        lambda: spark.sql(
            "select x, id from {p} join (values (10), (11)) d(id) on x = id", p=spark.read.parquet(str(tmp_path / "p"))
        ),
    )
    assert_unfiltered(report, "cast from string to")


def test_date_joined_to_timestamp_has_no_filter(check: Check) -> None:
    """date = timestamp goes through the session's time zone: no filter."""
    report = check("select k from fact join (values (timestamp'2024-02-01 00:00:00')) d(t) on fact.day = d.t")
    assert_unfiltered(report, "cast from date to timestamp")
    report = check("select k from fact join (values (date'2024-01-05')) d(t) on fact.ts = d.t")
    assert_unfiltered(report, "cast from date to timestamp")


def test_timestamp_with_and_without_zone(spark: SparkSession, check: Check) -> None:
    """timestamp_ntz = timestamp goes through the session's time zone: no filter; each with its own kind does."""
    build = "(values (timestamp_ntz'2024-01-10 00:00:00', timestamp'2024-01-10 00:00:00')) d(n, t)"
    report = check(f"select k from fact join {build} on fact.ntz = d.t")
    assert_unfiltered(report, "which may change values")
    with settings(spark, spark_sql_session_timeZone="America/Los_Angeles"):
        assert_narrowed(
            check("select k from fact join (values (timestamp'2024-01-10 00:00:00')) d(t) on fact.ts = d.t"),
            "fact",
            "ts",
        )
        assert_narrowed(check(f"select k from fact join {build} on fact.ntz = d.n"), "fact", "ntz")


def test_lossy_casts_have_no_filter(check: Check) -> None:
    """A cast that maps several values to one stops the filter, on the probe side and on the build side."""
    report = check("select k from fact join (values (52)) d(id) on cast(fact.num as int) = d.id")
    assert_unfiltered(report, "column is cast from double to int")
    report = check("select k from fact join (values (52.5D)) d(id) on fact.k = cast(d.id as int)", may_be_empty=True)
    assert_unfiltered(report, "cast from double to int")


def test_a_lossy_cast_hidden_inside_a_widening_one(check: Check) -> None:
    """bigint -> int -> bigint looks like no cast at all from outside; the step in the middle loses."""
    query = "select big, id from fact join (values (7L)) d(id) on cast(cast(fact.num as int) as double) = d.id"
    assert_unfiltered(check(query), "cast from double to int")
    query = (
        "select big, x from (select big, cast(cast(num as int) as double) x from fact) f join (values "
        "(7D)) d(id) on f.x = d.id"
    )
    assert_unfiltered(check(query), "cast from double to int")


def test_a_cast_under_a_name(check: Check) -> None:
    """A widening cast that a subquery gives a name is seen through."""
    report = check(
        "select x from (select cast(k as bigint) x from fact) f join (values (210L), (9999999999L)) d(id) on f.x = d.id"
    )
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_a_chain_of_widening_casts(check: Check) -> None:
    """smallint -> int -> bigint -> decimal: every step keeps every value."""
    query = (
        "select small from fact join (values (cast(210 as decimal(20,0)))) d(id) on "
        "cast(cast(fact.small as int) as bigint) = d.id"
    )
    assert assert_narrowed(check(query), "fact", "small").files_read == 1


def test_varchar_and_char_columns(spark: SparkSession, tmp_path: Path) -> None:
    """CHAR is padded on reading, so what is compared is not what the file holds; VARCHAR is a plain string."""
    spark.sql(f"create table padded (c char(5), v varchar(5), i int) using parquet location '{tmp_path / 'padded'}'")
    try:
        for i in range(4):
            spark.sql(f"insert into padded select concat('{i}', id % 10), concat('{i}', id % 10), id from range(10)")
        build = "(values ('12'), ('13')) d(x)"
        same_rows(spark, lambda: spark.sql(f"select c, i from padded join {build} on rpad(d.x, 5, ' ') = c"))
        same_rows(
            spark,
            lambda: spark.sql("select a.c, a.i from padded a join (select * from padded where i = 3) b on a.c = b.c"),
        )
        report = same_rows(spark, lambda: spark.sql(f"select v, i from padded join {build} on d.x = v"))
        assert_narrowed(report, "spark_catalog.default.padded", "v")
    finally:
        spark.sql("drop table padded")


def test_collated_strings_have_no_filter(spark: SparkSession, tmp_path: Path) -> None:
    """A collation that ignores case makes 'A' equal 'a', which bytes cannot tell: no filter."""
    write_table(tmp_path / "p", pa.table({"s": [f"{c}{i:02d}" for c in "AbCd" for i in range(20)]}), files=4)
    query = (
        "select p.s, d.t from (select s collate utf8_lcase s from {p}) p join (select t collate "
        "utf8_lcase t from values ('a03'), ('B04') d(t)) d on p.s = d.t"
    )
    report = same_rows(spark, lambda: spark.sql(query, p=spark.read.parquet(str(tmp_path / "p"))))
    assert_unfiltered(report, "")


def test_keys_without_an_order_have_no_filter(check: Check) -> None:
    """Arrays and structs as keys are compared by Spark alone."""
    report = check("select k from fact join (values (array(210))) d(a) on array(fact.k) = d.a")
    assert_unfiltered(report, "column is computed")
    report = check(
        "select k from fact join (select named_struct('a', 210, 'b', 's') x) d on named_struct('a', "
        "fact.k, 'b', 's') = d.x"
    )
    assert not [f for f in report.filters if f.state == "applied"] or report.failures == []


def test_interval_and_void_keys(check: Check) -> None:
    """Types without a domain are named in the reason."""
    report = check(
        "select k from fact join (select i from values (interval '5' day) d(i)) d on (fact.day - "
        "date'2024-01-01') = d.i"
    )
    assert_unfiltered(report, "")
    report = check("select k from fact join (select null as x) d on fact.k <=> d.x", may_be_empty=True)
    assert report.failures == []
