"""Advice on layouts: the column that the queries' joins narrow, and an estimate that the clustered table then keeps."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import headgate
from headgate.advise import Advice, advise
from headgate.advise.advice import read_queries
from headgate.advise.layout import Files, sample
from headgate.cli import app
from headgate.domain import DomainBuilder
from headgate.errors import BadInput
from tests.batch.differential import settings

FILES = 20
BY_WEEK = "SELECT sum(price) FROM sales JOIN days ON day = id WHERE week = 5"
BY_SHOP = "SELECT sum(price) FROM sales JOIN shops ON shop = shop_id WHERE town = 'Ulm'"


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales in no order, and the small tables that they are joined to."""
    home = tmp_path_factory.mktemp("advise")
    sales = spark.range(20_000).selectExpr(
        "pmod(xxhash64(id), 200) AS day", "pmod(xxhash64(id, 3), 50) AS shop", "1.0D AS price"
    )
    sales.repartition(FILES).write.parquet(str(home / "sales"))
    spark.range(200).selectExpr("id", "id div 7 AS week").coalesce(1).write.parquet(str(home / "days"))
    towns = "CASE WHEN id % 2 = 0 THEN 'Ulm' ELSE 'Bonn' END AS town"
    spark.range(50).selectExpr("id AS shop_id", towns).coalesce(1).write.parquet(str(home / "shops"))
    return home


@pytest.fixture
def views(spark: SparkSession, home: Path) -> None:
    for name in ("sales", "days", "shops"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)


def advice_on(advice: list[Advice], path: Path) -> Advice:
    return next(one for one in advice if one.path.endswith(str(path)))


def test_files_are_cut_as_spark_cuts_them(spark: SparkSession) -> None:
    """A value that many rows have is in one file, and so are all NULLs."""
    values = [None] * 30 + [7] * 50 + list(range(100)) + [200, 300]
    frame = spark.createDataFrame([(value,) for value in values], "v int").coalesce(1)
    tagged = frame.repartitionByRange(8, "v").selectExpr("spark_partition_id() AS part", "v").collect()
    parts = [[row.v for row in tagged if row.part == part and row.v is not None] for part in range(8)]
    files = Files.clustered(sample(frame, ["v"], len(values))["v"], "int", 8)
    for value in (0, 7, 8, 50, 99, 150, 300):
        builder = DomainBuilder("int")
        builder.add(pa.array([value], pa.int32()))
        assert files.left_by(builder.build()) == sum(min(part) <= value <= max(part) for part in parts if part), value


def test_the_column_that_narrows_most_is_named(spark: SparkSession, home: Path, views: None) -> None:
    advice = advice_on(advise(spark, {"week": BY_WEEK, "town": BY_SHOP}), home / "sales")
    assert advice.column == "day"
    assert [read.query for read in advice.reads] == ["week", "town"]
    assert all(read.now == FILES for read in advice.reads)
    assert advice.reads[1].then == FILES, "the other query gains nothing"
    assert "cluster it by day" in str(advice)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_the_estimate_is_what_the_clustered_table_reads(
    spark: SparkSession, home: Path, tmp_path: Path, views: None, format: str
) -> None:
    spark.read.parquet(str(home / "sales")).repartition(FILES).write.format(format).save(str(tmp_path / "sales"))
    spark.read.format(format).load(str(tmp_path / "sales")).createOrReplaceTempView("sales")
    advice = advice_on(advise(spark, {"week": BY_WEEK}), tmp_path / "sales")
    with settings(spark, spark_sql_execution_rangeExchange_sampleSizePerPartition="100"):
        exec(advice.statement, {"spark": spark})
    spark.read.format(format).load(f"{tmp_path}/sales_clustered").createOrReplaceTempView("sales")
    headgate.enable(spark, strategy="always")
    spark.sql(BY_WEEK).collect()
    scan = next(scan for scan in headgate.report(spark).scans if scan.path.endswith("sales_clustered"))
    assert scan.files_read == advice.reads[0].then, (scan, advice)
    assert scan.files_read < advice.files / 4


def test_a_clustered_table_is_left_alone(spark: SparkSession, tmp_path: Path, views: None) -> None:
    sorted_sales = spark.table("sales").repartitionByRange(FILES, "day").sortWithinPartitions("day")
    sorted_sales.write.parquet(str(tmp_path / "sorted"))
    spark.read.parquet(str(tmp_path / "sorted")).createOrReplaceTempView("sales")
    advice = advice_on(advise(spark, {"week": BY_WEEK}), tmp_path / "sorted")
    assert not advice.column
    assert "no layout helps" in str(advice)


def test_small_tables_and_tables_without_a_join(spark: SparkSession, home: Path, views: None) -> None:
    advice = advise(spark, {"all": "SELECT count(*) FROM sales", "week": BY_WEEK})
    assert "cluster it by day" in str(advice_on(advice, home / "sales"))
    assert "no join" in advice_on(advice, home / "days").reason or "one file" in advice_on(advice, home / "days").reason


def test_the_command(home: Path, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "weekly.sql").write_text(BY_WEEK + ";\n" + BY_WEEK.replace("5", "6") + ";")
    words = ["advise", "--file", str(tmp_path / "weekly.sql")]
    for name in ("sales", "days"):
        words += ["--table", f"{name}={home / name}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "cluster it by day" in done.output
    assert "weekly-2" in done.output


def test_bad_input(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no query to advise on"):
        advise(spark, {})
    with pytest.raises(BadInput, match="there is no file at"):
        read_queries([tmp_path / "missing.sql"])


def test_tables_and_queries_that_cannot_be_advised_on(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is passed over in silence."""
    spark.range(2_000).selectExpr("id AS k").write.csv(str(tmp_path / "lines"))
    spark.read.schema("k bigint").csv(str(tmp_path / "lines")).createOrReplaceTempView("lines")
    spark.range(9).selectExpr("id AS key").createOrReplaceTempView("few")
    (advice,) = advise(spark, {"q": "select count(*) from lines join few on k = key"})
    assert str(advice) == "lines: CSV has no statistics to skip files by; save it as Parquet, ORC, Delta or Iceberg"
    with pytest.raises(BadInput, match=r"^second: \[TABLE_OR_VIEW_NOT_FOUND"):
        advise(spark, {"first": "select 1", "second": "select * from nowhere"})


def test_queries_of_files(tmp_path: Path) -> None:
    """Several in a file are separated by semicolons, which may also stand in text and comments; names are all kept."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "q.sql").write_text("SELECT ';' -- first; still\n FROM t; SELECT `a;b` FROM u /* ; */;\n")
    found = read_queries([tmp_path / "a" / "q.sql", tmp_path / "b" / "q.sql"])
    assert [text.split()[-1] for text in found.values()] == ["t", "*/"] * 2
    (tmp_path / "c.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(BadInput, match="cannot be read as text"):
        read_queries([tmp_path / "c.sql"])
    assert list(read_queries([tmp_path / "a" / "q.sql"])) == ["q-1", "q-2"]
