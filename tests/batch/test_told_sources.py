"""Sources that are told ranges, with the Spark of all other tests: ORC, files of the second version, databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import LongType, StructField, StructType

import headgate
from tests.batch.differential import compare, enabled, rows_of, settings
from tests.sources.formats import DERBY, DRIVER, Tables

ROWS = 4_000
KINDS = ["orc", "parquet_v2", "orc_v2", "csv", "derby"]
Read = Callable[[], DataFrame]


@pytest.fixture(scope="module")
def facts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Read]:
    """The same 4,000 rows in each kind of source."""
    tables = Tables(spark, tmp_path_factory.mktemp("told"))
    frame = spark.range(0, ROWS, 1, 4).selectExpr("id AS k", "id % 7 AS v", "lpad(id, 6, '0') AS s")
    return {kind: tables.put(kind, frame) for kind in KINDS}


def write_keys(spark: SparkSession, path: Path, first: int) -> None:
    spark.range(30).selectExpr(f"id * 2 + {first} AS key", "id AS w").write.mode("overwrite").parquet(str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_same_and_fewer_are_read(spark: SparkSession, facts: dict[str, Read], kind: str) -> None:
    dim = spark.range(30).selectExpr("id * 2 + 1000 AS key")
    report = compare(spark, lambda: facts[kind]().join(dim, col("k") == col("key")), strategy="always").report
    told = [scan for scan in report.scans if scan.filters]
    if kind == "csv":
        assert "CSV files have no statistics" in report.scans[0].reason
    else:
        read = [
            scan.files_read < scan.files_total if kind == "orc" else (scan.rows_read or ROWS) < ROWS for scan in told
        ]
        assert read == [True], str(report)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broadcast", ["10mb", "-1"])
def test_a_table_that_changes_before_the_query_runs(
    spark: SparkSession, facts: dict[str, Read], kind: str, broadcast: str
) -> None:
    """The source was told what no longer matters: the whole scan runs instead, whether rows were kept or not."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast), enabled(spark, strategy="always") as gate:
        spark.sql("CREATE TABLE told_keys USING parquet AS SELECT id * 2 + 1000 AS key, id AS w FROM range(30)")
        try:
            frame = facts[kind]().join(spark.table("told_keys"), col("k") == col("key"), "right")
            assert frame._jdf.queryExecution().executedPlan() is not None
            spark.sql("INSERT OVERWRITE told_keys SELECT id * 2 + 3000, id FROM range(30)")
            found = rows_of(frame)
            notes = [report.note for report in gate.reports]
        finally:
            spark.sql("DROP TABLE told_keys")
    assert sorted(row[0] for row in found) == list(range(3000, 3060, 2))
    assert kind == "csv" or any("changed" in note for note in notes)


@pytest.mark.parametrize(("kind", "mark"), [("orc", "tables.hasChanged"), ("parquet_v2", "HeadgateScan")])
def test_a_plan_outlives_the_gate(
    spark: SparkSession, facts: dict[str, Read], kind: str, mark: str, tmp_path: Path
) -> None:
    """Planned with Headgate, executed without it: what it left in the plan still runs."""
    write_keys(spark, tmp_path / "dim", 1000)
    headgate.enable(spark, strategy="always")
    frame = facts[kind]().join(spark.read.parquet(str(tmp_path / "dim")), col("k") == col("key"))
    assert mark in frame._jdf.queryExecution().optimizedPlan().toString()
    headgate.disable(spark)
    assert len(frame.collect()) == 30


def test_a_limit_above_the_scan_stops_the_filter(spark: SparkSession, facts: dict[str, Read]) -> None:
    dim = spark.range(30).selectExpr("id * 2 AS key")
    compare(
        spark, lambda: facts["parquet_v2"]().orderBy("k").limit(50).join(dim, col("k") == col("key")), strategy="always"
    )


def test_text_of_a_database_is_not_told(spark: SparkSession, facts: dict[str, Read]) -> None:
    dim = spark.range(30).selectExpr("lpad(id * 2, 6, '0') AS key")
    report = compare(spark, lambda: facts["derby"]().join(dim, col("s") == col("key")), strategy="always").report
    assert "otherwise than Spark" in report.filters[0].reason


def test_rows_that_cannot_be_parsed_fail_the_query_as_before(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,a\nx,b\n3,c\n")
    dim = spark.range(1, 2).selectExpr("id AS key")
    with enabled(spark, strategy="always"), pytest.raises(Exception, match="MALFORMED"):
        spark.read.schema("k long, v string").option("mode", "FAILFAST").csv(str(tmp_path)).join(
            dim, col("k") == col("key")
        ).collect()


@pytest.mark.parametrize("version", ["first", "second"])
def test_fields_of_json_that_come_twice(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """Spark's parser tests a row at the first of them, and gives it with the last: it must not be told."""
    lines = [f'{{"k": {k}, "v": {k}}}' for k in range(100)]
    (tmp_path / "rows.json").write_text(
        "\n".join([*lines, '{"k": 1000, "v": 1, "k": 30}', '{"k": 30, "v": 2, "k": 1000}'])
    )
    dim = spark.range(5).selectExpr("id * 10 AS key").where("key > 20")
    first = "avro,csv,json,kafka,orc,parquet,text"
    listed = first if version == "first" else first.replace("json,", "")
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1", spark_sql_sources_useV1SourceList=listed):
        found = compare(
            spark,
            lambda: spark.read.schema("k long, v long").json(str(tmp_path)).join(dim, col("k") == col("key")),
            strategy="always",
        )
    assert sorted((row[0], row[1]) for row in found.rows) == [(30, 1), (30, 30), (40, 40)]
    assert bool([scan for scan in found.report.scans if scan.filters]) == (version == "first")


@pytest.mark.parametrize("type", ["tinyint", "smallint", "bigint"])
def test_numbers_that_files_store_wider(spark: SparkSession, tmp_path: Path, type: str) -> None:
    """Of a wider number Spark takes the last bits, and statistics speak of the whole."""
    spark.range(0, 20, 1, 4).selectExpr("cast(id * 65536 + 5 AS int) AS k").write.parquet(str(tmp_path / "wide"))
    dim = spark.range(3).selectExpr(f"cast(id + 3 AS {type}) AS key")
    with settings(spark, spark_sql_sources_useV1SourceList=""):
        found = compare(
            spark,
            lambda: spark.read.schema(f"k {type}").parquet(str(tmp_path / "wide")).join(dim, col("k") == col("key")),
            strategy="always",
        )
    assert len(found.rows) == (1 if type == "bigint" else 20)
    assert bool([scan for scan in found.report.scans if scan.filters]) == (type == "bigint")


@pytest.mark.parametrize("by", ["the session", "an option"])
def test_columns_that_are_found_by_field_id(spark: SparkSession, tmp_path: Path, by: str) -> None:
    """The reader is told of a column by its name, which is that of another one in the files."""
    key = "spark.sql.parquet.fieldId.read.enabled"
    session = {key.replace(".", "_"): str(by == "the session").lower()}
    options = {key: "true"} if by == "an option" else {}

    def columns(*names: str) -> StructType:
        return StructType(
            [StructField(name, LongType(), True, {"parquet.field.id": i}) for i, name in enumerate(names)]
        )

    keys = pa.array(range(2_000), pa.int64())
    fields = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(i)}) for i, name in enumerate("xy")]
    values = pa.array(range(1_999, -1, -1), pa.int64())
    pq.write_table(pa.table([keys, values], pa.schema(fields)), tmp_path / "rows.parquet", row_group_size=250)
    dim = spark.range(3).selectExpr("id + 3 AS key")
    swapped = columns("y", "x")
    with settings(spark, spark_sql_sources_useV1SourceList="", **session):
        read = spark.read.options(**options)
        found = compare(
            spark,
            lambda: read.schema(swapped).parquet(str(tmp_path)).join(dim, col("y").eqNullSafe(col("key"))),
            strategy="always",
        )
        # without ids in the schema, Spark finds columns by their names all the same
        by_name = compare(
            spark,
            lambda: read.schema("x long, y long").parquet(str(tmp_path)).join(dim, col("y").eqNullSafe(col("key"))),
            strategy="always",
        )
    assert sorted(row[0] for row in found.rows) == [3, 4, 5]
    assert not [scan for scan in found.report.scans if scan.filters]
    assert [scan for scan in by_name.report.scans if scan.filters]


def test_two_subqueries_that_spark_merges(spark: SparkSession, facts: dict[str, Read], tmp_path: Path) -> None:
    """Spark computes them in one go, which a told scan with an alternative would hide from it."""
    write_keys(spark, tmp_path / "dim", 1000)
    spark.read.parquet(str(tmp_path / "dim")).createOrReplaceTempView("told_dim")
    facts["orc"]().createOrReplaceTempView("told_fact")
    above = "v >= (SELECT min(w) FROM told_dim) AND v < (SELECT max(w) FROM told_dim)"
    query = f"SELECT k, v FROM told_fact JOIN told_dim ON k = key WHERE {above}"
    compare(spark, lambda: spark.sql(query), strategy="always")


def test_files_of_the_second_version_are_no_build_side(
    spark: SparkSession, facts: dict[str, Read], tmp_path: Path
) -> None:
    """They are listed once, and read by name when the query runs: whatever lies there by then."""

    def put(first: int) -> None:
        pq.write_table(pa.table({"key": [first + 2 * i for i in range(30)]}), tmp_path / "dim" / "x.parquet")

    (tmp_path / "dim").mkdir()
    put(1000)
    with settings(spark, spark_sql_sources_useV1SourceList=""):
        dim = spark.read.parquet(str(tmp_path / "dim"))
    with enabled(spark, strategy="always"):
        frame = facts["orc"]().join(dim, col("k") == col("key"))
        assert frame._jdf.queryExecution().executedPlan() is not None
        put(3000)
        found = sorted(row[0] for row in frame.collect())
    assert found == list(range(3000, 3060, 2))


def test_a_database_read_as_other_types(spark: SparkSession) -> None:
    """The database compares 1000.40 with 1000, and Spark the whole number that it makes of it."""
    spark.sql("SELECT cast(1000.40 AS decimal(10, 2)) AS n, 1 AS i").write.jdbc(DERBY, "odd_types", properties=DRIVER)
    dim = spark.range(1000, 1003).selectExpr("cast(id AS int) AS key")
    read = spark.read.format("jdbc").options(url=DERBY, dbtable="odd_types", customSchema="n INT", **DRIVER)
    compare(spark, lambda: read.load().join(dim, col("n") == col("key")), strategy="always")


def test_days_that_a_database_does_not_know(spark: SparkSession) -> None:
    spark.sql("SELECT date'2020-01-01' AS d").write.jdbc(DERBY, "days", properties=DRIVER)
    dim = spark.sql("SELECT explode(array(date'2020-01-01', cast('+10000-01-01' AS date))) AS key")
    read = spark.read.jdbc(DERBY, "days", properties=DRIVER)
    compare(spark, lambda: read.join(dim, col("d") == col("key")), strategy="always")


@pytest.mark.parametrize("v2", [False, True])
def test_orc_read_as_other_types(spark: SparkSession, tmp_path: Path, v2: bool) -> None:
    """Its reader fails on conditions of another type than the file's: it gets none."""
    spark.range(200).selectExpr("cast(id AS string) AS s").write.orc(str(tmp_path / "orc"))
    dim = spark.sql("SELECT explode(array(10L, 100L)) AS key")
    with settings(spark, spark_sql_sources_useV1SourceList="" if v2 else "orc"):
        frame = spark.read.schema("s bigint").orc(str(tmp_path / "orc"))
    compare(spark, lambda: frame.join(dim, col("s") == col("key")), strategy="always")
