"""Tables that are not what they seem: columns found by field id or by exact case, dotted names, formats of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType, StructField, StructType

from tests.batch.differential import compare, enabled, outcome, same_rows, settings
from tests.batch.stand_in_formats import SWAPPED, indexed

WAYS: dict[str, dict[str, Any]] = {
    "waiting": {"max_wait": "1h", "non_blocking": False},
    "late": {"max_wait": "0s", "non_blocking": True},
}


def write_files(folder: Path, *tables: pa.Table) -> Path:
    folder.mkdir(parents=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=5)
    return folder


def ints(*numbers: int | None) -> pa.Array:
    return pa.array(numbers, pa.int32())


@pytest.fixture
def few(spark: SparkSession, tmp_path: Path) -> str:
    """A small build side: x in 3, 33 and NULL."""
    write_files(tmp_path / "few", pa.table({"x": ints(3, 33, None, 70), "flag": ints(1, 1, 1, 0)}))
    spark.read.parquet(str(tmp_path / "few")).createOrReplaceTempView("odd_few")
    return "(select x from odd_few where flag = 1)"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threshold", ["10MB", "-1"])
def test_swapped_field_ids(
    spark: SparkSession, tmp_path: Path, few: str, come_first: None, way: str, threshold: str
) -> None:
    """Columns a and b of the query are columns b and a of the file, by their ids: names in footers say nothing."""
    fields = [
        pa.field("a", pa.int32(), metadata={b"PARQUET:field_id": b"2"}),
        pa.field("b", pa.int32(), metadata={b"PARQUET:field_id": b"1"}),
    ]
    parts = [
        pa.table([ints(*range(i * 10, i * 10 + 10)), ints(*range(70 - i * 10, 80 - i * 10))], schema=pa.schema(fields))
        for i in range(8)
    ]
    write_files(tmp_path / "t", *parts)
    schema = StructType(
        [StructField(name, IntegerType(), metadata={"parquet.field.id": i + 1}) for i, name in enumerate("ab")]
    )
    # Spark itself pushes filters down by name here, and loses rows; without them its answer is right
    with settings(
        spark,
        spark_sql_parquet_fieldId_read_enabled="true",
        spark_sql_parquet_filterPushdown="false",
        spark_sql_autoBroadcastJoinThreshold=threshold,
    ):
        spark.read.schema(schema).parquet(str(tmp_path / "t")).createOrReplaceTempView("by_id")
        query = f"select t.a, t.b from by_id t join {few} d on t.a = d.x"
        ran = compare(spark, lambda: spark.sql(query), **WAYS[way])
        same_rows(spark, lambda: spark.sql(f"{query} where t.b < 60"), **WAYS[way])
    assert ran.rows == [(3, 73), (33, 43)]


@pytest.mark.parametrize("threshold", ["10MB", "-1"])
def test_field_ids_in_a_build_side(spark: SparkSession, tmp_path: Path, threshold: str) -> None:
    """A build side is narrowed by a filter that Spark must not push down by name."""

    def schema(*names: str) -> StructType:
        numbered = enumerate(names, 1)
        return StructType([StructField(name, IntegerType(), metadata={"parquet.field.id": i}) for i, name in numbered])

    ids_on = {"spark_sql_parquet_fieldId_read_enabled": "true", "spark_sql_parquet_fieldId_write_enabled": "true"}
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold, **ids_on):
        rows = [(i, 1000 + i) for i in range(100)]
        spark.createDataFrame(rows, schema("p", "q")).coalesce(1).write.parquet(str(tmp_path / "f"))
        spark.range(0, 400, 1, 8).selectExpr("cast(id as int) x").write.parquet(str(tmp_path / "big"))
        write_files(tmp_path / "d", pa.table({"id": ints(3, 4)}))
        swapped = spark.read.schema(schema("q", "p")).parquet(str(tmp_path / "f"))
        big, few = (spark.read.parquet(str(tmp_path / name)) for name in ("big", "d"))
        query = lambda: big.join(swapped, sf.expr("x = q")).join(few.where("id > 0"), sf.expr("q = id"))  # noqa: E731
        same_rows(spark, query, max_wait="1h", non_blocking=False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["=", "<=>"])
def test_a_dotted_column_beside_a_struct(
    spark: SparkSession, tmp_path: Path, few: str, come_first: None, way: str, op: str
) -> None:
    """Column `a.b` and field b of column a have the same dotted path in a footer; their statistics are not exchanged."""
    kind = pa.struct([("b", pa.int32())])
    parts = [
        pa.table({"a": pa.array([{"b": 1000 + k} for k in ks], kind), "a.b": ints(*ks), "v": ints(*ks)})
        for ks in (range(i * 10, i * 10 + 10) for i in range(6))
    ]
    write_files(tmp_path / "t", *parts)
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("dotted")
    ran = compare(
        spark, lambda: spark.sql(f"select t.v, t.a.b from dotted t join {few} d on t.`a.b` {op} d.x"), **WAYS[way]
    )
    assert ran.rows == [(3, 1003), (33, 1033)]
    back = f"(select x + 1000 as x from {few})"
    same_rows(spark, lambda: spark.sql(f"select t.v from dotted t join {back} d on t.a.b {op} d.x"), **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threshold", ["10MB", "-1"])
def test_a_dotted_column_before_a_struct(spark: SparkSession, tmp_path: Path, way: str, threshold: str) -> None:
    """Spark's reader takes a condition on `a.b` for one on the struct that follows it: none is handed down, nor in builds."""
    rows = range(100)
    structs = pa.array([{"b": 1000 + i} for i in rows])
    whole = pa.table({"a.b": ints(*rows), "a": structs, "v": ints(*rows)})
    write_files(tmp_path / "t", *(whole.slice(start, 25) for start in range(0, 100, 25)))
    write_files(tmp_path / "d", pa.table({"id": ints(3, 4, 60)}))
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("dotted_first")
    spark.read.parquet(str(tmp_path / "d")).createOrReplaceTempView("dotted_few")
    few = "(select id from dotted_few where id < 50)"
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
        for query in (
            f"select t.v from dotted_first t join {few} d on t.`a.b` = d.id and t.v = d.id",
            f"select t.v from dotted_first t join {few} d on t.`a.b` = d.id",
            f"select u.v from dotted_first u join (select t.v from dotted_first t join {few} d on t.`a.b` = d.id) w on u.v = w.v",
        ):
            same_rows(spark, lambda query=query: spark.sql(query), **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sensitive", [True, False], ids=["case counts", "case does not count"])
def test_a_file_with_another_case(
    spark: SparkSession, tmp_path: Path, few: str, come_first: None, way: str, sensitive: bool
) -> None:
    """Where case counts, a file with K has no column k: it is NULL there, and NULL is joined by `<=>`."""
    write_files(
        tmp_path / "t",
        *(pa.table({"k": ints(*range(i * 10, i * 10 + 10)), "v": ints(*range(10))}) for i in range(4)),
        pa.table({"K": ints(*range(40, 50)), "v": ints(*range(40, 50))}),
        pa.table({"K": ints(*range(30, 40)), "v": ints(*range(30, 40))}),
    )
    with settings(spark, spark_sql_caseSensitive=str(sensitive).lower()):
        spark.read.schema("k int, v int").parquet(str(tmp_path / "t")).createOrReplaceTempView("cased")
        query = f"select t.k, t.v from cased t join {few} d on t.k <=> d.x"
        ran = compare(spark, lambda: spark.sql(query), **WAYS[way])
    assert len(ran.rows) == (22 if sensitive else 3)


# --- formats and indexes of others ------------------------------------------------------------------------------------


def scans(frame: Any) -> list[Any]:
    """Return the relations of the files in a frame's optimized plan."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    found = [leaves.apply(i) for i in range(leaves.size())]
    return [leaf.relation() for leaf in found if leaf.getClass().getSimpleName() == "LogicalRelation"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threshold", ["10MB", "-1"])
@pytest.mark.parametrize("role", ["probe", "build"])
def test_a_format_that_extends_parquet(
    spark: SparkSession,
    tmp_path: Path,
    few: str,
    come_first: None,
    compiled_stand_ins: None,
    way: str,
    threshold: str,
    role: str,
) -> None:
    """A subclass may map columns or leave out rows: it is read as it is, and its footers are not believed."""
    parts = [
        pa.table({"k": ints(*range(i * 10, i * 10 + 10)), "v": ints(*range(70 - i * 10, 80 - i * 10))})
        for i in range(8)
    ]
    write_files(tmp_path / "t", *parts)
    spark.read.format(SWAPPED).schema("k int, v int").load(str(tmp_path / "t")).createOrReplaceTempView("swapped")
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("straight")
    query = (
        f"select t.k, t.v from swapped t join {few} d on t.k = d.x"
        if role == "probe"
        else "select t.k, t.v from straight t join (select * from swapped where v = 33) d on t.k = d.k"
    )
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
        ran = compare(spark, lambda: spark.sql(query), **WAYS[way])
        assert len(ran.rows) == (2 if role == "probe" else 1)
        with enabled(spark, **WAYS[way]):
            odd = [scan for scan in scans(spark.sql(query)) if scan.location().rootPaths().mkString().endswith("/t")]
    # where its rows were kept it is not read again
    assert role == "build" or {scan.fileFormat().getClass().getName() for scan in odd} <= {SWAPPED}


@pytest.mark.parametrize("way", WAYS)
def test_an_index_that_nobody_knows(
    spark: SparkSession, tmp_path: Path, few: str, come_first: None, compiled_stand_ins: None, way: str
) -> None:
    """An index of another kind may mean a version of the table, or rows that are deleted: it stays where it is."""
    parts = [pa.table({"k": ints(*range(i * 10, i * 10 + 10)), "v": ints(*range(10))}) for i in range(8)]
    write_files(tmp_path / "t", *parts)
    indexed(spark, spark.read.parquet(str(tmp_path / "t"))).createOrReplaceTempView("odd_index")
    query = f"select t.k, t.v from odd_index t join {few} d on t.k = d.x"
    compare(spark, lambda: spark.sql(query), **WAYS[way])
    with enabled(spark, **WAYS[way]):
        found = {(kind(scan.location()), kind(scan.fileFormat())) for scan in scans(spark.sql(query))}
    assert ("OtherIndex", "ParquetFileFormat") in found


def kind(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())


# --- builds that fail -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("word", ["cancelled", "JOB_CANCELLED", "interrupted", "nonsense"])
def test_an_error_that_speaks_of_cancelling(spark: SparkSession, tmp_path: Path, way: str, word: str) -> None:
    """A build that fails is given up, whatever its message says: the query ends with its row, as in plain Spark.

    The query stops at its first row; only who reads the build side to its end meets the text that is no number.
    """
    write_files(tmp_path / "fact", *(pa.table({"k": ints(*range(i * 10, i * 10 + 10))}) for i in range(4)))
    texts = pa.table({"id": ints(*([7] * 3000), 8), "s": ["1"] * 3000 + [word]})
    (tmp_path / "dim").mkdir()
    pq.write_table(texts, tmp_path / "dim" / "0.parquet", row_group_size=1000)
    for table in ("fact", "dim"):
        spark.read.parquet(str(tmp_path / table)).createOrReplaceTempView(f"failing_{table}")
    query = """select /*+ broadcast(f) */ f.k from failing_fact f
               join (select id from failing_dim where cast(s as int) > 0) d on f.k = d.id limit 1"""
    with settings(spark, spark_sql_ansi_enabled="true", spark_sql_codegen_wholeStage="false"):
        expected = outcome(lambda: spark.sql(query))
        assert expected == {(7,): 1}
        with enabled(spark, **WAYS[way]) as gate:
            assert outcome(lambda: spark.sql(query)) == expected
            assert gate.report().filters, "no build was tried, so none could fail"
