"""Columns of Iceberg whose bounds speak of another order or another unit than Spark's: they are not told anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.batch.differential import assert_unfiltered, compare, settings

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
