"""Advice on tables that keep their own statistics: what it says to run is run, and its estimate is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import headgate
from headgate.advise import advise
from tests.batch.differential import enabled, settings

FILES = 20
QUERY = "SELECT sum(price) FROM sales JOIN days ON day = id WHERE week = 5"


def written(spark: SparkSession, home: Path, kind: str) -> Callable[[], DataFrame]:
    """Write sales in no order as a table; return what reads it."""
    rows = "pmod(xxhash64(id), 200) AS day", "pmod(xxhash64(id, 3), 50) AS shop", "rand(1) AS price"
    sales = spark.range(0, 20_000, 1, FILES).selectExpr(*rows).repartition(FILES)
    if kind == "delta by path":
        sales.write.format("delta").save(str(home / "sales"))
        return lambda: spark.read.format("delta").load(str(home / "sales"))
    name = "advised" if kind == "delta" else "ice.db.advised"
    sales.writeTo(name).using(kind.split()[0]).createOrReplace()
    if kind == "iceberg by path":
        (location,) = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").collect()
        return lambda: spark.read.format("iceberg").load(location["data_type"])
    return lambda: spark.table(name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["delta", "delta by path", "iceberg", "iceberg by path"])
def test_what_it_says_to_run_reads_what_it_says(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    read = written(spark, tmp_path, kind)
    spark.range(200).selectExpr("id", "id div 7 AS week").createOrReplaceTempView("days")
    read().createOrReplaceTempView("sales")
    before = spark.sql("SELECT sum(cast(price AS decimal(20, 10))) FROM sales").collect()
    (advice,) = [found for found in advise(spark, {"week": QUERY}) if found.column]
    headgate.disable(spark)
    assert advice.column == "day"
    if kind.endswith("by path"):
        assert advice.table == "sales"
    assert advice.reads[0].now == FILES
    sizes = {"spark_databricks_delta_optimize_maxFileSize": "1000000"}
    with settings(spark, spark_sql_execution_rangeExchange_sampleSizePerPartition="100", **sizes):
        exec(advice.statement, {"spark": spark})
    read().createOrReplaceTempView("sales")
    assert spark.sql("SELECT sum(cast(price AS decimal(20, 10))) FROM sales").collect() == before
    with enabled(spark, strategy="always"):
        spark.sql(QUERY).collect()
        (scan,) = [scan for scan in headgate.report(spark).scans if scan.filters]
    assert abs(scan.files_read - advice.reads[0].then) <= 1, (scan, advice)
    assert scan.files_total > FILES / 2
