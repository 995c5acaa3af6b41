"""NULL, NaN, zeros, empty and odd values: what Spark calls equal stays equal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import Check, assert_narrowed, assert_reason, compare, filter_on, same_rows
from tests.batch.tables import write_table

NAN, INF = float("nan"), float("inf")
FLOATS = {"float": pa.float32(), "double": pa.float64()}


def reader(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder))


def write_files(folder: Path, column: str, kind: pa.DataType, files: list[list[Any]], **options: Any) -> Path:
    """Write one file of one column for each list of values, with a number for each row."""
    folder.mkdir(parents=True)
    for number, values in enumerate(files):
        table = pa.table({column: pa.array(values, kind), "row": pa.array(range(len(values)), pa.int32())})
        pq.write_table(table, folder / f"{number}.parquet", **options)
    return folder


def floats_joined(spark: SparkSession, folder: Path, kind: str, ops: list[str], builds: Sequence[str]) -> DataFrame:
    """One join for each comparison and each list of values, put together, with the number of the join in front."""
    joins = [
        f"select {i} i, x, row, y from {{p}} join (select cast(t as {kind}) y from values {values} d(t)) on x {op} y"
        for i, (op, values) in enumerate((op, values) for op in ops for values in builds)
    ]
    return spark.sql(" union all ".join(joins), p=reader(spark, folder))


def test_null_keys_match_nothing(check: Check) -> None:
    """NULL = NULL is not true: NULL keys of either side add nothing and remove nothing."""
    report = check("select k, n, id from fact join (values (210), (null)) d(id) on fact.n = d.id")
    assert assert_narrowed(report, "fact", "n").files_read == 1


def test_a_build_side_of_nulls_only(check: Check) -> None:
    """A build key that is NULL in every row matches nothing under `=`, and nothing is read."""
    report = check(
        "select k from fact join (select cast(null as int) id from dim where grp = 3) d on fact.n = d.id",
        may_be_empty=True,
    )
    assert not [scan for scan in report.scans if scan.files_read]


def test_an_all_null_key_under_plain_equality(check: Check) -> None:
    """LEFT OUTER with an all-NULL key: no match, all rows of the left side, NULLs beside them."""
    report = check(
        "select d.*, fact.k from (select id, nullif(id, id) x from dim where grp = 3) d left join fact "
        "on fact.k = d.x and fact.big = d.id"
    )
    assert_narrowed(report, "fact")


def test_an_empty_build_side_reads_nothing(check: Check) -> None:
    """A build side without rows leaves nothing of the probe side to read."""
    report = check("select * from fact join (select * from dim where id < 0) d on fact.k = d.id", may_be_empty=True)
    scan = assert_narrowed(report, "fact", "k")
    assert (scan.files_read, scan.bytes_read) == (0, 0)
    assert filter_on(report, "k").kind == "none"


def test_an_empty_build_side_of_outer_joins(check: Check) -> None:
    """RIGHT OUTER with an empty right side reads nothing; LEFT OUTER with one keeps every left row."""
    empty = "(select * from dim where id < 0)"
    report = check(f"select * from fact right join {empty} d on fact.k = d.id", may_be_empty=True)
    assert assert_narrowed(report, "fact").files_read == 0
    check(f"select * from fact left join {empty} d on fact.k = d.id")
    check(f"select * from fact left anti join {empty} d on fact.k = d.id")


def test_an_empty_build_side_of_many_tasks(spark: SparkSession, star: Path) -> None:
    """Many build tasks that all find nothing make an empty filter, and the query ends."""
    query = "select f.k from fact f join (select /*+ repartition(50) */ id from dim where id < 0) d on f.k = d.id"
    report = same_rows(spark, lambda: spark.sql(query), may_be_empty=True)
    assert assert_narrowed(report, "fact").files_read == 0


@pytest.mark.parametrize("dictionary", [True, False], ids=["dictionary", "plain"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_nan_joins_nan(spark: SparkSession, tmp_path: Path, kind: str, dictionary: bool) -> None:
    """Spark joins NaN to NaN, and Parquet statistics leave NaN out: no row with NaN is lost."""
    files: list[list[Any]] = [[1.0, 2.0], [NAN, 3.0], [NAN, NAN], [50.0, None]]
    write_files(tmp_path / "p", "x", FLOATS[kind], files, use_dictionary=dictionary)
    builds = ("('NaN')", "('NaN'), ('2')", "('50')", "('NaN'), ('-Infinity')")
    report = same_rows(spark, lambda: floats_joined(spark, tmp_path / "p", kind, ["="], builds))
    assert sum(bool(scan.filters) for scan in report.scans) == 1


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "<=>"])
def test_nan_under_inequalities(spark: SparkSession, tmp_path: Path, op: str) -> None:
    """NaN is above every number: `> 5` and `>= NaN` hold for it, though statistics do not show it."""
    files: list[list[Any]] = [[1.0, 2.0], [NAN, 3.0], [NAN, NAN], [50.0, None], [INF, -INF]]
    write_files(tmp_path / "p", "x", pa.float64(), files)
    builds = ("('5')", "('NaN')", "('Infinity')", "('-Infinity')")
    same_rows(spark, lambda: floats_joined(spark, tmp_path / "p", "double", [op], builds))


@pytest.mark.parametrize("dictionary", [True, False], ids=["dictionary", "plain"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_zeros_of_both_signs_are_equal(spark: SparkSession, tmp_path: Path, kind: str, dictionary: bool) -> None:
    """-0.0 = 0.0 in Spark, whichever of them the file, its dictionary, its statistics or the build side holds."""
    files = [[-0.0], [0.0], [-0.0, 0.0], [-0.0, 5.0], [7.0], [-3.0, -0.0]]
    write_files(tmp_path / "p", "x", FLOATS[kind], files, use_dictionary=dictionary)
    builds = ("('0.0')", "('-0.0')", "('0.0'), ('7')", "('-0.0'), ('7')")
    ran = compare(spark, lambda: floats_joined(spark, tmp_path / "p", kind, ["="], builds))
    assert len(ran.rows) == 4 * 6 + 2
    assert [scan.files_read for scan in ran.report.scans if scan.filters] == [5, 5]


def test_zeros_under_inequalities(spark: SparkSession, tmp_path: Path) -> None:
    """`<= -0.0` holds for 0.0, and `< 0.0` does not hold for -0.0."""
    write_files(tmp_path / "p", "x", pa.float64(), [[-0.0], [0.0], [-1.0], [1.0]])
    ops = ["<", "<=", ">", ">=", "<=>"]
    same_rows(spark, lambda: floats_joined(spark, tmp_path / "p", "double", ops, ("('0.0')", "('-0.0')")))


def test_floats_behind_a_shuffle(spark: SparkSession, tmp_path: Path) -> None:
    """NaN and both zeros pass the test of each row too, below a grouping that makes them one group."""
    files: list[list[Any]] = [[-0.0, 1.5], [NAN, 3.0], [0.0, -0.0], [50.0, None], [60.0], [70.0]]
    write_files(tmp_path / "p", "x", pa.float64(), files)
    grouped = "(select x, count(*) c from {p} group by x)"
    query = " union all ".join(
        f"select {i}, g.x, c from {grouped} g join (select double(t) y from values {values} d(t)) d on g.x = y"
        for i, values in enumerate(("('0.0')", "('-0.0')", "('NaN')", "('NaN'), ('-0.0'), ('50')"))
    )
    report = same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))
    assert [scan.files_read for scan in report.scans] == [2, 2, 6, 6]


def test_many_floats_behind_a_shuffle(spark: SparkSession, tmp_path: Path) -> None:
    """A long list of floats with NaN and -0.0 in it is a set test of each row, with Spark's idea of equal."""
    write_files(
        tmp_path / "p", "x", pa.float64(), [[-0.0, NAN, *map(float, range(i * 40 + 1, i * 40 + 40))] for i in range(6)]
    )
    build = (
        "(select cast(id as double) y from range(1, 60) union all select double('NaN') union all select double('0.0'))"
    )
    query = f"select g.x, c from (select x, count(*) c from {{p}} group by x) g join {build} d on g.x = y"
    same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))


def test_strings_in_byte_order(spark: SparkSession, tmp_path: Path) -> None:
    """Strings compare as UTF-8 bytes: astral characters above the private use area, capitals below small letters."""
    words = ["", "A", "Z", "a", "z", "é", "ﬀ", "\ue000", "\uffff", "😀", "𝄞", "a\x00b"]
    write_files(tmp_path / "p", "x", pa.string(), [[w, w + "x"] for w in words])
    query = " union all ".join(
        f"select {i} i, x, y from {{p}} join (values ('{word}')) d(y) on x {op} y"
        for i, (op, word) in enumerate((op, word) for op in ("=", "<", ">=") for word in ("é", "😀", "a", ""))
    )
    report = same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))
    assert sum(bool(scan.filters) for scan in report.scans) == 11


def test_strings_that_are_not_utf8(spark: SparkSession, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 text, cast to string, are keys like any others."""
    raw = [b"\xff\xfe", b"abc", b"\x80", b"\xed\xa0\x80", "é".encode()]
    write_files(tmp_path / "p", "x", pa.binary(), [[r, r + b"1"] for r in raw])
    spark.read.parquet(str(tmp_path / "p")).selectExpr("cast(x as string) x", "row").repartition(3).write.parquet(
        str(tmp_path / "s")
    )
    build = "(select cast(t as string) y from values (x'FFFE'), (x'80'), (x'616263') d(t))"
    report = same_rows(
        spark,
        lambda: spark.sql(f"select hex(x), row from {{p}} join {build} d on x = y", p=reader(spark, tmp_path / "s")),
    )
    assert report.failures == []


def test_long_strings(spark: SparkSession, tmp_path: Path) -> None:
    """Strings longer than any writer keeps in its statistics are found all the same."""
    words = [f"{'x' * 5000}{i:03d}" for i in range(40)]
    write_table(tmp_path / "p", pa.table({"x": words}), files=8)
    query = f"select length(x), y from {{p}} join (values ('{words[17]}')) d(y) on x = y"
    same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))


def test_binary_keys(spark: SparkSession, tmp_path: Path) -> None:
    """Binary compares as unsigned bytes."""
    write_files(
        tmp_path / "p", "x", pa.binary(), [[b"\x00", b"\x01"], [b"\x7f", b"\x80"], [b"\xff", b"\xff\x00"], [b""]]
    )
    query = " union all ".join(
        f"select '{op}' op, x, y from {{p}} join (values (x'80'), (x'FF')) d(y) on x {op} y" for op in "=<>"
    )
    report = same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))
    assert all(scan.filters for scan in report.scans)
    query = (
        "select g.x, c from (select x, count(*) c from {p} group by x) g join (values (x'80'), (x''), "
        "(x'FF')) d(y) on g.x = y"
    )
    same_rows(spark, lambda: spark.sql(query, p=reader(spark, tmp_path / "p")))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-(2**63), -(2**62), -1, 0, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1]),
        (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1]),
        (pa.int8(), [-128, -1, 0, 1, 127]),
        (pa.decimal128(38, 0), [Decimal(-(10**37)), Decimal(-1), Decimal(0), Decimal(10**18), Decimal(10**37)]),
        (pa.decimal128(18, 18), [Decimal("-0.999999999999999999"), Decimal(0), Decimal("0.000000000000000001")]),
        (
            pa.date32(),
            [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
        ),
        (
            pa.timestamp("us", "UTC"),
            [dt.datetime(y, 1, 1, tzinfo=dt.UTC) for y in (1000, 1500, 1899, 1900, 1969, 1970, 2024, 9999)],
        ),
    ],
    ids=["bigint", "int", "tinyint", "wide decimal", "decimal", "date", "timestamp"],
)
def test_the_ends_of_each_type(spark: SparkSession, tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    """The smallest and the largest values of a type, and those around zero, join and compare as ever."""
    write_files(tmp_path / "p", "x", kind, [[v, None] for v in values])
    p = reader(spark, tmp_path / "p")
    query = " union all ".join(
        f"select '{op}' op, a.x, b.x y from {{p}} a join (select x from {{p}} where x is not null order "
        f"by x {order} limit 2) b on a.x {op} b.x"
        for op in ("=", "<", ">=")
        for order in ("asc", "desc")
    )
    for most in (100, 0):
        same_rows(spark, lambda: spark.sql(query, p=p), max_distinct_values=most)


def test_timestamps_of_every_unit(spark: SparkSession, tmp_path: Path) -> None:
    """Millisecond, microsecond, nanosecond-as-INT96 and zoneless timestamps are read as Spark reads them."""
    hours = [dt.datetime(2024, 1, 1, i % 24, tzinfo=dt.UTC) for i in range(24)]
    for unit in ("ms", "us"):
        write_table(tmp_path / unit, pa.table({"t": pa.array(hours, pa.timestamp(unit, "UTC"))}), files=4)
    write_table(
        tmp_path / "int96",
        pa.table({"t": pa.array(hours, pa.timestamp("us", "UTC"))}),
        files=4,
        use_deprecated_int96_timestamps=True,
    )
    for name in ("ms", "us", "int96"):
        report = same_rows(
            spark,
            lambda n=name: spark.sql(
                "select t from {p} join (values (timestamp'2024-01-01 05:00:00')) d(x) on t = x",
                p=reader(spark, tmp_path / n),
            ),
        )
        if name != "int96":
            assert assert_narrowed(report, name, "t").files_read == 1
        else:
            assert_reason(report, "would skip nothing")
