"""Files as they come: partitions, odd names, missing columns, damaged footers, other orders, other readers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

import headgate
from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_unfiltered,
    assert_whole,
    compare,
    enabled,
    files_opened,
    outcome,
    rows_scanned,
    same_rows,
    settings,
)
from tests.batch.tables import write_table

FEW = "(select * from dim where grp = 3)"


def joined(spark: SparkSession, probe: DataFrame, column: str, *values: str, op: str = "=") -> DataFrame:
    """Join a table with a list of SQL values."""
    listed = ", ".join(f"({value})" for value in values)
    return spark.sql(
        f"select p.*, d.x as joined_to from {{p}} p join (values {listed}) d(x) on p.{column} {op} d.x", p=probe
    )


def numbered(folder: Path, *, files: int = 4, rows: int = 40, groups: int = 2, **options: Any) -> Path:
    """Write rows numbered in column x, in order, with a text beside each."""
    table = pa.table({"x": pa.array(range(rows), pa.int32()), "t": [f"t{i}" for i in range(rows)]})
    return write_table(folder, table, files=files, groups=groups, **options)


# --- partitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        ("int", [1, 2, 30, None], "2"),
        ("bigint", [1, 2**40, -5, None], "1099511627776L"),
        ("string", ["a", "b c", "ü/x", "50%", "a=b", "#?&", None], "'50%'"),
        ("string", ["a", "b c", "ü/x", "50%", "a=b", "#?&", None], "'ü/x'"),
        ("date", [dt.date(2024, 1, 1), dt.date(2024, 2, 1), None], "date'2024-02-01'"),
        ("timestamp", [dt.datetime(2024, 1, 1, 5), dt.datetime(2024, 2, 1), None], "timestamp'2024-02-01 00:00:00'"),
        ("decimal(9,2)", [Decimal("1.50"), Decimal("2.00"), None], "2.00BD"),
        ("boolean", [True, False], "true"),
        ("double", [1.5, float("nan"), -0.0, None], "1.5D"),
    ],
    ids=["int", "bigint", "percent", "slash", "date", "timestamp", "decimal", "boolean", "double"],
)
def test_partition_columns_of_every_type(
    spark: SparkSession, tmp_path: Path, kind: str, values: list[Any], wanted: str
) -> None:
    """Partition values are read from paths as Spark reads them, whatever characters they hold; NULL has its own folder."""
    rows = [(value, i) for i, value in enumerate(values) for _ in range(3)]
    spark.createDataFrame(rows, f"p {kind}, v int").write.partitionBy("p").parquet(str(tmp_path / "t"))
    probe = spark.read.schema(f"v int, p {kind}").parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "p", wanted))
    assert assert_narrowed(report, "t", "p").files_read < len(list((tmp_path / "t").glob("*/*.parquet")))
    same_rows(spark, lambda: joined(spark, probe, "p", f"cast(null as {kind})", wanted, op="<=>"))
    same_rows(spark, lambda: joined(spark, probe, "p", wanted, op=">="))


def test_double_partitions_of_odd_values(spark: SparkSession, tmp_path: Path) -> None:
    """A partition called NaN is joined by NaN, and one called -0.0 by 0.0."""
    rows = [(value, i) for i, value in enumerate([1.5, float("nan"), -0.0, float("inf"), None])]
    spark.createDataFrame(rows, "p double, v int").write.partitionBy("p").parquet(str(tmp_path / "t"))
    probe = spark.read.schema("v int, p double").parquet(str(tmp_path / "t"))
    for value in ("double('NaN')", "0.0D", "double('Infinity')"):
        same_rows(spark, lambda v=value: joined(spark, probe, "p", v))


def test_partitions_with_spark_pruning_of_its_own(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    """Spark prunes partitions at run time itself; together with Headgate the rows are the same, with either one off too."""
    spark.table("fact").selectExpr("k", "num", "k div 100 as p").write.partitionBy("p").parquet(str(tmp_path / "t"))
    probe = spark.read.parquet(str(tmp_path / "t"))
    query = "select t.k from {t} t join (select id div 100 as g, id from dim where grp = 3 and id > 300) d on t.p = d.g"
    for pruning in ("true", "false"):
        for reuse in ("true", "false"):
            with settings(
                spark,
                spark_sql_optimizer_dynamicPartitionPruning_enabled=pruning,
                spark_sql_optimizer_dynamicPartitionPruning_reuseBroadcastOnly=reuse,
            ):
                report = same_rows(spark, lambda: spark.sql(query, t=probe))
                assert_narrowed(report, "t", "p")


def test_partition_and_file_columns_together(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    """A key of a partition column and a column inside the files narrows by both."""
    spark.table("fact").selectExpr("k", "num", "k div 100 as p").write.partitionBy("p").parquet(str(tmp_path / "t"))
    probe = spark.read.parquet(str(tmp_path / "t"))
    build = "(values (2, 210), (2, 610), (3, 310), (7, 1)) d(g, id)"
    report = same_rows(
        spark, lambda: spark.sql(f"select t.k from {{t}} t join {build} on t.p = d.g and t.k = d.id", t=probe)
    )
    assert assert_narrowed(report, "t").files_read == 2


def test_a_partition_column_that_also_stands_inside_the_files(spark: SparkSession, tmp_path: Path) -> None:
    """The value in the path wins over the one in the file, so the path decides."""
    for value, inside in ((1, 100), (2, 200), (3, 300)):
        table = pa.table({"p": pa.array([inside] * 5, pa.int32()), "v": list(range(5))})
        write_table(tmp_path / "t" / f"p={value}", table)
    probe = spark.read.parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "p", "2"))
    assert assert_narrowed(report, "t", "p").files_read == 1
    report = same_rows(spark, lambda: joined(spark, probe, "p", "100", "300"), may_be_empty=True)
    assert assert_narrowed(report, "t", "p").files_read == 0


def test_a_partition_column_in_other_case_than_the_schema(spark: SparkSession, tmp_path: Path) -> None:
    """Folders P=1 read under the name p: names differ in case, the column is one."""
    for value in (1, 2, 3):
        write_table(tmp_path / "t" / f"P={value}", pa.table({"v": list(range(5)), "p": [9] * 5}))
    probe = spark.read.schema("v bigint, p int").parquet(str(tmp_path / "t"))
    same_rows(spark, lambda: joined(spark, probe, "p", "2"), may_be_empty=True)
    same_rows(spark, lambda: joined(spark, probe, "p", "9"), may_be_empty=True)


def test_tables_of_the_catalog(spark: SparkSession, star: Path) -> None:
    """A partitioned table of the catalog, also right after rows were added to it."""
    spark.table("fact").selectExpr("k", "num", "k div 100 as p").write.partitionBy("p").saveAsTable("parts")
    try:
        query = "select t.k, t.num from parts t join (values (2), (8)) d(x) on t.p = d.x"
        report = same_rows(spark, lambda: spark.sql(query))
        assert assert_narrowed(report, "spark_catalog.default.parts", "p").files_read < 8
        spark.sql("insert into parts partition (p = 8) select 5000 k, 1.5D num")
        ran = compare(spark, lambda: spark.sql(query))
        assert any(row[0] == 5000 for row in ran.rows)
    finally:
        spark.sql("drop table parts")


@pytest.mark.parametrize("threshold", ["10MB", "-1"])
def test_bucketed_tables(spark: SparkSession, star: Path, threshold: str) -> None:
    """Buckets whose files are all pruned are empty buckets: a bucketed join still pairs the right ones."""
    spark.table("fact").select("k", "num").write.bucketBy(4, "k").sortBy("k").saveAsTable("buckets")
    spark.table("dim").write.bucketBy(4, "id").sortBy("id").saveAsTable("dim_buckets")
    try:
        with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
            for query in (
                "select b.k, b.num from buckets b join (select * from dim_buckets where id = 21) d on b.k = d.id",
                (
                    "select b.k, c.num from buckets b join (values (21), (28)) d(id) on b.k = d.id join buckets c "
                    "on b.k = c.k"
                ),
                "select k, count(*) from buckets b join (values (21), (28)) d(id) on b.k = d.id group by k",
            ):
                report = same_rows(spark, lambda q=query: spark.sql(q))
                assert any(scan.filters for scan in report.scans)
    finally:
        spark.sql("drop table buckets")
        spark.sql("drop table dim_buckets")


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["with space", "100%", "%20", "a%20b", "ünï", "日本", "a#b", "a?b", "a+b&c", "it's", "{x}", "[x]"]
)
def test_folders_with_odd_names(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Paths are taken as they are: spaces, percent signs and other characters need no care from the user."""
    numbered(tmp_path / name)
    frame = spark.read.option("pathGlobFilter", "*.parquet").parquet(glob_safe(tmp_path / name))
    ran = compare(spark, lambda: joined(spark, frame, "x", "5", "6"))
    assert [scan.files_read for scan in ran.report.scans if scan.filters] == [1]
    assert files_opened(ran.frame) == [1]
    assert ran.report.scans[0].row_groups_read == 1


def glob_safe(path: Path) -> str:
    return "".join(f"\\{c}" if c in "{}[]?*" else c for c in str(path))


def test_files_with_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    """Two files whose names differ only by an escape are two files."""
    folder = tmp_path / "t"
    folder.mkdir()
    for i, name in enumerate(("a b", "a%20b", "a%2520b", "a+b")):
        pq.write_table(
            pa.table({"x": pa.array(range(i * 10, i * 10 + 10), pa.int32())}),
            folder / f"{name}.parquet",
            row_group_size=5,
        )
    for i in range(4):
        ran = compare(spark, lambda i=i: joined(spark, spark.read.parquet(str(folder)), "x", str(i * 10 + 7)))
        assert [(s.files_read, s.row_groups_read) for s in ran.report.scans] == [(1, 1)]


@pytest.mark.parametrize("name", ["with space", "ünï", "x`y", "select", "a,b;{}()=", "%"])
def test_columns_with_odd_names(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """A column's name may be anything."""
    write_table(tmp_path / "t", pa.table({name: pa.array(range(40), pa.int32()), "other": list(range(40))}), files=4)
    quoted = "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"
    report = same_rows(spark, lambda: joined(spark, spark.read.parquet(str(tmp_path / "t")), quoted, "5"))
    assert assert_narrowed(report, "t", name).files_read == 1


def test_a_dotted_name_and_a_nested_column(spark: SparkSession, tmp_path: Path) -> None:
    """Column `a.b` and field b of column a are two columns; a file may have one and lack the other."""
    folder = tmp_path / "t"
    folder.mkdir()
    nested = pa.array([{"b": i} for i in range(10)], pa.struct([("b", pa.int32())]))
    pq.write_table(pa.table({"a": nested, "v": list(range(10))}), folder / "0.parquet")
    pq.write_table(pa.table({"a.b": pa.array(range(100, 110), pa.int32()), "v": list(range(10))}), folder / "1.parquet")
    probe = spark.read.schema("a struct<b:int>, `a.b` int, v bigint").parquet(str(folder))
    for op, values in (("=", ("105",)), ("<=>", ("105", "cast(null as int)"))):
        report = same_rows(spark, lambda o=op, v=values: joined(spark, probe, "`a.b`", *v, op=o))
        assert_unfiltered(report, "would skip nothing")


def test_names_that_differ_in_case(spark: SparkSession, tmp_path: Path) -> None:
    """Column K of the file is column k of the query; in case-sensitive mode it is another column, and NULL."""
    write_table(tmp_path / "t", pa.table({"K": pa.array(range(40), pa.int32()), "v": list(range(40))}), files=4)
    probe = spark.read.schema("k int, v bigint").parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "k", "5"))
    assert assert_narrowed(report, "t", "k").files_read == 1
    with settings(spark, spark_sql_caseSensitive="true"):
        sensitive = spark.read.schema("k int, v bigint").parquet(str(tmp_path / "t"))
        same_rows(spark, lambda: joined(spark, sensitive, "k", "5", "cast(null as int)", op="<=>"))


def test_two_columns_that_differ_only_in_case(spark: SparkSession, tmp_path: Path) -> None:
    """In case-sensitive mode x and X are two columns with their own statistics."""
    table = pa.table({"x": pa.array(range(40), pa.int32()), "X": pa.array(range(100, 140), pa.int32())})
    write_table(tmp_path / "t", table, files=4)
    with settings(spark, spark_sql_caseSensitive="true"):
        probe = spark.read.parquet(str(tmp_path / "t"))
        for column, value in (("x", "5"), ("X", "105")):
            report = same_rows(spark, lambda c=column, v=value: joined(spark, probe, c, v))
            assert assert_narrowed(report, "t", column).files_read == 1


def test_columns_found_by_field_id(spark: SparkSession, tmp_path: Path) -> None:
    """With field ids the column x of the query may be called otherwise in the file, and another may be called x."""
    fields = [
        pa.field("x", pa.int32(), metadata={b"PARQUET:field_id": b"2"}),
        pa.field("y", pa.int32(), metadata={b"PARQUET:field_id": b"1"}),
    ]
    table = pa.table([pa.array(range(40), pa.int32()), pa.array(range(40, 80), pa.int32())], schema=pa.schema(fields))
    write_table(tmp_path / "t", table, files=4)
    schema = StructType([StructField("x", IntegerType(), metadata={"parquet.field.id": 1})])
    # Spark itself pushes filters down by name here, and loses rows; without them its answer is right
    with settings(spark, spark_sql_parquet_fieldId_read_enabled="true", spark_sql_parquet_filterPushdown="false"):
        probe = spark.read.schema(schema).parquet(str(tmp_path / "t"))
        ran = compare(spark, lambda: joined(spark, probe, "x", "45", "5"))
    assert [row[0] for row in ran.rows] == [45]


# --- schemas --------------------------------------------------------------------------------------------------------


def test_files_that_lack_the_column(spark: SparkSession, tmp_path: Path) -> None:
    """A file written before the column existed holds NULL in it: dropped by `=` only by the join, kept for `<=>`."""
    numbered(tmp_path / "t", files=4)
    pq.write_table(pa.table({"t": ["old"] * 3}), tmp_path / "t" / "old.parquet")
    probe = spark.read.schema("x int, t string").parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "x", "5"))
    assert assert_narrowed(report, "t", "x").files_read == 2
    ran = compare(spark, lambda: joined(spark, probe, "x", "5", "cast(null as int)", op="<=>"))
    assert sum(row[1] == "old" for row in ran.rows) == 3


def test_files_with_columns_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    """Columns are found by name, wherever they stand."""
    numbered(tmp_path / "t", files=4)
    pq.write_table(
        pa.table({"t": ["z"] * 3, "more": [1] * 3, "x": pa.array([5, 100, 101], pa.int32())}),
        tmp_path / "t" / "z.parquet",
    )
    probe = spark.read.schema("x int, t string").parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "x", "101"))
    assert assert_narrowed(report, "t", "x").files_read == 1
    same_rows(
        spark, lambda: joined(spark, spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "t")), "x", "5")
    )


@pytest.mark.parametrize(
    ("stored", "read", "wanted"),
    [
        (pa.int32(), "bigint", "25L"),
        (pa.int16(), "int", "25"),
        (pa.int32(), "double", "25D"),
        (pa.int32(), "decimal(12,2)", "25.00BD"),
        (pa.float32(), "double", "25D"),
        (pa.decimal128(7, 2), "decimal(12,4)", "25.0000BD"),
        (pa.date32(), "timestamp_ntz", "timestamp_ntz'1970-01-26 00:00:00'"),
        (pa.uint32(), "bigint", "25L"),
        (pa.uint8(), "smallint", "25S"),
    ],
    ids=str,
)
def test_files_of_another_type_than_the_table(
    spark: SparkSession, tmp_path: Path, stored: pa.DataType, read: str, wanted: str
) -> None:
    """A file that holds a narrower type than it is read as gives the same rows; what is not understood is kept."""
    values = (
        pa.array(range(40), pa.int32())
        .cast(pa.decimal128(38, 0) if pa.types.is_decimal(stored) else stored)
        .cast(stored)
    )
    write_table(tmp_path / "t", pa.table({"x": values}), files=4)
    probe = spark.read.schema(f"x {read}").parquet(str(tmp_path / "t"))
    same_rows(spark, lambda: joined(spark, probe, "x", wanted))
    same_rows(spark, lambda: joined(spark, probe, "x", wanted, op="<"))


def test_int_files_and_bigint_files_in_one_table(spark: SparkSession, tmp_path: Path) -> None:
    """Files of two generations, int and bigint, read as bigint."""
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"x": pa.array(range(10), pa.int32())}), folder / "0.parquet")
    pq.write_table(pa.table({"x": pa.array(range(2**40, 2**40 + 10), pa.int64())}), folder / "1.parquet")
    probe = spark.read.schema("x bigint").parquet(str(folder))
    for value in ("5L", str(2**40 + 5) + "L"):
        report = same_rows(spark, lambda v=value: joined(spark, probe, "x", v))
        assert assert_narrowed(report, "t", "x").files_read == 1


def test_nested_columns(spark: SparkSession, tmp_path: Path) -> None:
    """A field of a struct has no filter; columns beside structs, arrays and maps do, and those are read in full."""
    table = pa.table(
        {
            "x": pa.array(range(40), pa.int32()),
            "s": pa.array([{"x": 39 - i, "deep": {"z": i}} for i in range(40)]),
            "l": pa.array([[i, i + 1] for i in range(40)]),
            "m": pa.array([[("a", i)] for i in range(40)], pa.map_(pa.string(), pa.int32())),
        }
    )
    write_table(tmp_path / "t", table, files=4, groups=2)
    probe = spark.read.parquet(str(tmp_path / "t"))
    report = same_rows(spark, lambda: joined(spark, probe, "x", "5"))
    assert assert_narrowed(report, "t", "x").files_read == 1
    report = same_rows(spark, lambda: joined(spark, probe, "s.x", "5"))
    assert_unfiltered(report, "column is computed")
    same_rows(spark, lambda: spark.sql("select p.s.deep.z from {p} p join (values (5)) d(v) on p.x = d.v", p=probe))
    same_rows(spark, lambda: spark.sql("select p.x from {p} p join (values (5)) d(v) on p.l[0] = d.v", p=probe))


def test_only_the_columns_asked_for_are_read(spark: SparkSession, star: Path) -> None:
    """A narrowed scan still reads only the columns that the query needs."""
    ran = compare(spark, lambda: spark.sql(f"select fact.num from fact join {FEW} d on fact.k = d.id"))
    plan = ran.frame._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<k:int,num:double>" in plan
    ran = compare(spark, lambda: spark.sql(f"select count(*) from fact join {FEW} d on fact.k = d.id"))
    assert "ReadSchema: struct<k:int>" in ran.frame._jdf.queryExecution().executedPlan().toString()


def test_input_file_name(check: Check) -> None:
    """input_file_name() depends on where a row lies: below a join it stops the filter, and names agree."""
    report = check(f"select f.k, f.path from (select k, input_file_name() path from fact) f join {FEW} d on f.k = d.id")
    assert_unfiltered(report, "non-deterministic")


def test_hidden_metadata_columns(spark: SparkSession, star: Path) -> None:
    """File paths, sizes, and the place of each row in its file come out the same from a narrowed scan."""
    fields = ("file_path", "file_name", "file_size", "file_block_start", "file_modification_time", "row_index")
    fact = spark.read.parquet(str(star / "fact"))
    probe = fact.select("k", *(f"_metadata.{field}" for field in fields))
    report = same_rows(spark, lambda: joined(spark, probe, "k", "21", "665"))
    assert assert_narrowed(report, "fact", "k").row_groups_read == 2


@pytest.mark.parametrize(
    "setting",
    [
        "spark_sql_parquet_enableVectorizedReader",
        "spark_sql_parquet_filterPushdown",
        "spark_sql_codegen_wholeStage",
    ],
)
def test_other_ways_to_read_parquet(spark: SparkSession, star: Path, setting: str) -> None:
    """Rows one by one instead of batches, and no pushed filters: a narrowed scan gives the same rows."""
    probe = spark.read.parquet(str(star / "fact")).select("*", "_metadata.row_index")
    with settings(spark, **{setting: "false"}):
        report = same_rows(spark, lambda: joined(spark, probe, "k", "21", "665"))
    assert assert_narrowed(report, "fact", "k").row_groups_read == 2


@pytest.mark.parametrize("size", ["700", "2000", "9000"])
def test_files_split_between_tasks(spark: SparkSession, star: Path, size: str) -> None:
    """However a file is cut into splits, each surviving row group is read by exactly one of them."""
    query = "select fact.k, num from fact join (select id from dim where id > 200 and grp < 9) d on fact.k = d.id"
    with settings(spark, spark_sql_files_maxPartitionBytes=size, spark_sql_files_openCostInBytes="0"):
        report = same_rows(spark, lambda: spark.sql(query))
    scan = assert_narrowed(report, "fact", "k")
    assert scan.files_read < scan.row_groups_read < scan.row_groups_total


def test_parquet_by_the_second_data_source_api(spark: SparkSession, star: Path) -> None:
    """Parquet read through Spark's other API is told ranges."""
    with settings(spark, spark_sql_sources_useV1SourceList=""):
        probe = spark.read.parquet(str(star / "fact"))
        report = same_rows(spark, lambda: joined(spark, probe, "k", "21"))
    assert [f.state for f in report.filters if not f.reason] == ["applied"]


def test_several_folders_and_globs(spark: SparkSession, tmp_path: Path) -> None:
    """A relation over several folders, by list, by glob and by recursion, is one relation."""
    for i in range(3):
        table = pa.table({"x": pa.array(range(i * 10, i * 10 + 10), pa.int32())})
        write_table(tmp_path / "t" / f"f{i}", table, files=2)
    for frame in (
        spark.read.parquet(*(str(tmp_path / "t" / f"f{i}") for i in range(3))),
        spark.read.parquet(str(tmp_path / "t" / "f*")),
        spark.read.option("recursiveFileLookup", "true").parquet(str(tmp_path / "t")),
        spark.read.option("pathGlobFilter", "part-000*").parquet(str(tmp_path / "t" / "f*")),
    ):
        report = same_rows(spark, lambda f=frame: joined(spark, f, "x", "12"))
        assert [scan.files_read for scan in report.scans] == [1]


# --- statistics -----------------------------------------------------------------------------------------------------


def test_files_without_statistics_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Where nothing is known of a column, its files are read; files with statistics beside them are narrowed."""
    numbered(tmp_path / "t", files=4)
    pq.write_table(
        pa.table({"x": pa.array([5, 500], pa.int32()), "t": ["a", "b"]}),
        tmp_path / "t" / "z.parquet",
        write_statistics=False,
    )
    ran = compare(spark, lambda: joined(spark, spark.read.parquet(str(tmp_path / "t")), "x", "5"))
    assert assert_narrowed(ran.report, "t", "x").files_read == 2
    assert len(ran.rows) == 2


def test_files_with_long_footers(spark: SparkSession, tmp_path: Path) -> None:
    """A footer longer than the first read is read again in full."""
    table = pa.table(
        {"x": pa.array(range(4000), pa.int32()), **{f"c{i}": pa.array([i] * 4000, pa.int32()) for i in range(5)}}
    )
    write_table(tmp_path / "t", table, files=2, groups=400)
    assert pq.read_metadata(tmp_path / "t" / "part-000.parquet").serialized_size > 64 * 1024
    report = same_rows(spark, lambda: joined(spark, spark.read.parquet(str(tmp_path / "t")), "x", "1234"))
    scan = assert_narrowed(report, "t", "x")
    assert (scan.files_read, scan.row_groups_read, scan.row_groups_total) == (1, 1, 800)


def test_files_by_spark_itself(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    """Files that Spark wrote, with each codec, are narrowed like any others."""
    for codec in ("snappy", "zstd", "gzip", "none"):
        frame = spark.table("fact").repartitionByRange(4, "k").sortWithinPartitions("k")
        frame.write.option("compression", codec).option("parquet.block.size", "1024").parquet(str(tmp_path / codec))
        report = same_rows(spark, lambda c=codec: joined(spark, spark.read.parquet(str(tmp_path / c)), "k", "21", "22"))
        assert assert_narrowed(report, codec, "k").files_read == 1


def test_all_data_pages_and_dictionaries(spark: SparkSession, tmp_path: Path) -> None:
    """Row groups found by offset are right with and without dictionaries, bloom filters and page indexes."""
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"use_dictionary": False},
        "index": {"write_page_index": True},
        "v2": {"data_page_version": "2.0"},
        "large": {"data_page_size": 64},
    }
    for name, options in kinds.items():
        numbered(tmp_path / name, groups=5, **options)
        report = same_rows(spark, lambda n=name: joined(spark, spark.read.parquet(str(tmp_path / n)), "x", "5", "26"))
        assert assert_narrowed(report, name, "x").row_groups_read == 2


def test_the_first_column_is_nested_or_empty(spark: SparkSession, tmp_path: Path) -> None:
    """Where a row group begins is found by its first column, whatever that is."""
    table = pa.table(
        {
            "first": pa.array([None] * 40, pa.list_(pa.int32())),
            "x": pa.array(range(40), pa.int32()),
            "t": [f"t{i}" for i in range(40)],
        }
    )
    write_table(tmp_path / "t", table, files=2, groups=4)
    report = same_rows(spark, lambda: joined(spark, spark.read.parquet(str(tmp_path / "t")), "x", "5", "26"))
    assert assert_narrowed(report, "t", "x").row_groups_read == 2


def test_empty_files(spark: SparkSession, tmp_path: Path) -> None:
    """Files with a schema and no rows, and files with empty row groups, harm nothing."""
    numbered(tmp_path / "t", files=4)
    empty = pa.table({"x": pa.array([], pa.int32()), "t": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "t" / "empty.parquet")
    with pq.ParquetWriter(tmp_path / "t" / "none.parquet", empty.schema):
        pass
    report = same_rows(spark, lambda: joined(spark, spark.read.parquet(str(tmp_path / "t")), "x", "5"))
    assert assert_narrowed(report, "t", "x").files_read == 1


def test_a_table_of_empty_files_only(spark: SparkSession, tmp_path: Path) -> None:
    """A table without a row joins to nothing."""
    numbered(tmp_path / "t", files=2, rows=0)
    same_rows(
        spark,
        lambda: joined(spark, spark.read.schema("x int").parquet(str(tmp_path / "t")), "x", "5"),
        may_be_empty=True,
    )


def test_a_folder_without_files(spark: SparkSession, tmp_path: Path) -> None:
    """A table without a file joins to nothing."""
    (tmp_path / "t").mkdir()
    probe = spark.read.schema("x int").parquet(str(tmp_path / "t"))
    same_rows(spark, lambda: joined(spark, probe, "x", "5"), may_be_empty=True)


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["footer", "magic", "cut", "short", "zero"])
@pytest.mark.parametrize("ignore", ["false", "true"])
def test_damaged_files_are_kept(spark: SparkSession, tmp_path: Path, damage: str, ignore: str) -> None:
    """A file whose footer cannot be read is kept, so that Spark does with it what it always does."""
    numbered(tmp_path / "t", files=4)
    path = tmp_path / "t" / "part-003.parquet"
    whole = path.read_bytes()
    path.write_bytes(
        {
            "footer": whole[:-40] + b"\xee" * 32 + whole[-8:],
            "magic": whole[:-4] + b"XXXX",
            "cut": whole[: len(whole) // 2],
            "short": b"PAR",
            "zero": b"",
        }[damage]
    )
    with settings(spark, spark_sql_files_ignoreCorruptFiles=ignore):
        probe = spark.read.schema("x int, t string").parquet(str(tmp_path / "t"))
        plain = outcome(lambda: joined(spark, probe, "x", "5"))
        with enabled(spark):
            assert outcome(lambda: joined(spark, probe, "x", "5")) == plain
            assert headgate.report(spark).failures == []


def test_damaged_pages_of_files_that_are_not_needed(spark: SparkSession, tmp_path: Path) -> None:
    """A file that is left unread is not noticed to be damaged; that is the one thing a filter may hide."""
    numbered(tmp_path / "t", files=4, compression="none", use_dictionary=False)
    path = tmp_path / "t" / "part-003.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xee" * 40 + whole[44:])
    probe = spark.read.schema("x int, t string").parquet(str(tmp_path / "t"))
    with enabled(spark):
        assert len(joined(spark, probe, "x", "5").collect()) == 1


def test_a_file_that_vanishes_before_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A file that goes between planning and reading fails the query as it does without Headgate."""
    kinds = []
    for name in ("off", "on"):
        numbered(tmp_path / name, files=4)
        frame = joined(spark, spark.read.parquet(str(tmp_path / name)), "x", "5", "15")
        if name == "on":
            headgate.enable(spark, strategy="always")
        frame._jdf.queryExecution().executedPlan()
        (tmp_path / name / "part-001.parquet").unlink()
        kinds.append(outcome(lambda f=frame: f))
    assert headgate.report(spark).failures == []
    assert kinds[0] == kinds[1]


def test_a_file_that_vanishes_before_planning(spark: SparkSession, tmp_path: Path) -> None:
    """A file that goes between listing and planning is kept, so that the query fails as it does without Headgate."""
    kinds = []
    for name in ("off", "on"):
        numbered(tmp_path / name, files=4)
        probe = spark.read.parquet(str(tmp_path / name))
        (tmp_path / name / "part-003.parquet").unlink()
        if name == "on":
            headgate.enable(spark, strategy="always")
        kinds.append(outcome(lambda p=probe: joined(spark, p, "x", "5")))
    assert kinds[0] == kinds[1]
    assert isinstance(kinds[0], tuple)


def test_a_file_that_grows_after_it_was_listed(spark: SparkSession, tmp_path: Path) -> None:
    """A file that is no longer what was listed is kept whole: old statistics say nothing of new rows."""
    outcomes = []
    for name in ("off", "on"):
        numbered(tmp_path / name, files=4)
        probe = spark.read.parquet(str(tmp_path / name))
        if name == "on":
            headgate.enable(spark, strategy="always")
            joined(spark, probe, "x", "5").collect()
        table = pa.table({"x": pa.array([5, *range(1000, 1100)], pa.int32()), "t": ["new"] * 101})
        pq.write_table(table, tmp_path / name / "part-003.parquet")
        outcomes.append(outcome(lambda p=probe: joined(spark, p, "x", "5")))
    assert outcomes[0] == outcomes[1]


def test_a_table_that_is_rewritten_between_queries(spark: SparkSession, tmp_path: Path) -> None:
    """Footers that were read for one query are not used for files that were written since."""
    with enabled(spark):
        for start in (0, 1000):
            table = pa.table({"x": pa.array(range(start, start + 40), pa.int32())})
            write_table(tmp_path / "t", table, files=4)
            rows = joined(spark, spark.read.parquet(str(tmp_path / "t")), "x", "5", "1005").collect()
            assert [row.x for row in rows] == [start + 5]


# --- what Spark itself saw ------------------------------------------------------------------------------------------


def test_the_report_agrees_with_spark(spark: SparkSession, star: Path) -> None:
    """Files read are the files that Spark opened, and only rows of surviving row groups left the scan."""
    ran = compare(spark, lambda: spark.sql(f"select * from fact join {FEW} d on fact.k = d.id"))
    scan = assert_narrowed(ran.report, "fact", "k")
    assert files_opened(ran.frame) == [scan.files_read]
    assert rows_scanned(ran.frame) == [scan.row_groups_read * 25]


def test_a_query_without_filters_opens_every_file(spark: SparkSession, star: Path) -> None:
    """The counts that the other tests rely on are not always small."""
    ran = compare(spark, lambda: spark.sql("select * from fact join dim d on fact.k = d.id"))
    assert_whole(ran.report, "fact")
    assert max(files_opened(ran.frame)) == 8
