"""Columns of Iceberg whose bounds speak of another order, unit or column than Spark's: they are not told anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.batch.differential import assert_unfiltered, compare, enabled, settings

WORDS = ("10", "7e", "7f", "80", "81", "ff")


def uuid_of(beginning: str) -> str:
    return beginning.ljust(8, "0") + "-0000-4000-8000-000000000001"


def test_uuids_are_text_to_spark_and_signed_numbers_to_iceberg(spark: SparkSession) -> None:
    """Each file has two of them; a range over text that begins with 7 to 8 is an empty one over signed numbers."""
    iceberg: Any = spark._jvm.org.apache.iceberg
    table = "ice.db.uuids"
    spark.sql(f"CREATE TABLE {table} (v bigint) USING iceberg")
    schema = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table).updateSchema()
    schema.addColumn("u", iceberg.types.Types.UUIDType.get()).commit()
    spark.sql(f"REFRESH TABLE {table}")
    for i in range(0, len(WORDS), 2):
        values = ", ".join(f"({j}, '{uuid_of(WORDS[j])}')" for j in (i, i + 1))
        spark.sql(f"INSERT INTO {table} SELECT * FROM VALUES {values} AS rows (v, u)")

    def joined() -> DataFrame:
        keys = [uuid_of(f"{number:08x}") for number in range(0x70000000, 0x90000000, 0x01000000)]
        dim = spark.sql("SELECT * FROM VALUES " + ", ".join(f"('{key}', 1)" for key in keys) + " AS rows (key, w)")
        return spark.table(table).join(dim.where("w > 0"), col("u") == col("key")).select("v", "u")

    ran = compare(spark, joined)
    assert len(ran.rows) == 4
    assert_unfiltered(ran.report, "")


def test_times_of_files_that_were_added_may_be_milliseconds(spark: SparkSession, tmp_path: Path) -> None:
    """Iceberg reads their bounds as microseconds."""
    table, at = "ice.db.added_times", "timestamp_millis(1577836800000 + id * 60000)"
    with settings(spark, spark_sql_parquet_outputTimestampType="TIMESTAMP_MILLIS"):
        spark.range(0, 1_000, 1, 4).selectExpr("id AS k", f"{at} AS t").write.parquet(str(tmp_path / "added"))
    spark.sql(f"CREATE TABLE {table} (k bigint, t timestamp) USING iceberg")
    spark.sql(f"CALL ice.system.add_files(table => 'db.added_times', source_table => '`parquet`.`{tmp_path}/added`')")

    def joined(column: str) -> DataFrame:
        dim = spark.range(20).selectExpr("id * 3 + 500 AS id").selectExpr("id", f"{at} AS at")
        key = col("t") == col("at") if column == "t" else col("k") == col("id")
        return spark.table(table).join(dim.where("id >= 0"), key).select("k", "t")

    by_time = compare(spark, lambda: joined("t"))
    assert len(by_time.rows) == 20
    assert_unfiltered(by_time.report, "")
    by_number = compare(spark, lambda: joined("k"))
    assert any(scan.filters for scan in by_number.report.scans), "numbers are told all the same"


def test_text_in_orc_files_is_sorted_otherwise(spark: SparkSession) -> None:
    """ORC compares text in UTF-16, where the face comes before what is smaller in UTF-8: it is in no list of values."""
    table, face = "ice.db.faces", "a\U0001f600"
    spark.sql(f"CREATE TABLE {table} (s string) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc')")
    for words in (["a\uf000", face, face * 2], [f"b{number:03}" for number in range(60)]):
        values = ", ".join(f"('{word}')" for word in words)
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES {values} AS rows (s)")

    def joined() -> DataFrame:
        keys = [*(f"a{number:02}" for number in range(7)), face, *(f"b{number:03}" for number in range(142))]
        dim = spark.sql("SELECT * FROM VALUES " + ", ".join(f"('{key}', 1)" for key in keys) + " AS rows (key, w)")
        return spark.table(table).join(dim.where("w > 0"), col("s") == col("key")).select("s")

    ran = compare(spark, joined)
    assert len(ran.rows) == 61
    assert any(scan.filters for scan in ran.report.scans), "ranges between other words are told all the same"


def test_a_name_that_meant_another_column_in_an_older_version(spark: SparkSession) -> None:
    """Iceberg looks for files by the names of today, whatever version it reads."""
    table = "ice.db.swapped"
    spark.sql(f"CREATE TABLE {table} (a int, b int, id bigint) USING iceberg")
    columns = "cast(id AS int) AS a", "cast(900 + id % 4 AS int) AS b", "id"
    spark.range(0, 100, 1, 4).selectExpr(*columns).writeTo(table).append()
    (first,) = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()

    def joined(column: str) -> DataFrame:
        dim = spark.range(3, 7).selectExpr("id AS key", "id AS w").where("w > 0")
        old = spark.sql(f"SELECT * FROM {table} VERSION AS OF {first[0]}")
        return old.join(dim, col(column) == col("key")).select(old["id"])

    for step in ("a TO other", "b TO a", "other TO b"):
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN {step}")
    spark.sql(f"INSERT INTO {table} VALUES (901, 4, 1000)")
    by_name = compare(spark, lambda: joined("a"))
    assert len(by_name.rows) == 4
    assert_unfiltered(by_name.report, "")
    by_id = compare(spark, lambda: joined("id"))
    assert [(scan.files_read, scan.files_total) for scan in by_id.report.scans if scan.filters] == [(1, 4)]


@pytest.mark.parametrize("kind", ["delta", "copy-on-write", "merge-on-read"])
def test_a_file_with_a_value_that_is_no_utf_8(spark: SparkSession, kind: str) -> None:
    """Tables keep bounds as text: the broken value is the least of its file, and its bound is above the other's."""

    def made(name: str) -> str:
        table = name if kind == "delta" else f"ice.db.{name}"
        how = "delta" if kind == "delta" else f"iceberg TBLPROPERTIES ('write.merge.mode' = '{kind}')"
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(f"CREATE TABLE {table} (id int, k string) USING {how}")
        rows = "(1, 'aé'), (2, cast(X'6180' AS string))"
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows} AS rows (id, k)")
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, concat('z', id) FROM range(50)")
        return table

    table = made("broken_text")
    dim = spark.sql("SELECT * FROM VALUES ('aé', 1), ('z7', 1) AS rows (key, w)").where("w > 0")
    for join in (col("k") == col("key"), (col("k") <= col("key")) & (col("w") == 1)):
        ran = compare(spark, lambda join=join: spark.table(table).join(dim, join).selectExpr("id", "hex(k) AS k"))
        assert (1, "61C3A9") in {row[:2] for row in ran.rows}
    dim.createOrReplaceTempView("words")
    on = made("broken_on")
    with enabled(spark, strategy="always"):
        spark.sql(
            f"MERGE INTO {on} t USING words s ON t.k = s.key "
            "WHEN MATCHED THEN UPDATE SET id = -1 WHEN NOT MATCHED THEN INSERT (id, k) VALUES (-2, s.key)"
        )
    assert [row.k for row in spark.table(on).where("id < 0").orderBy("k").collect()] == ["aé", "z7"]
    assert spark.table(on).where("id = -2").count() == 0
