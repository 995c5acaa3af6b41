"""Tables in stores that only Spark's file systems can reach are narrowed as local ones are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tests.batch.differential import assert_narrowed, same_rows, settings


@pytest.fixture
def elsewhere(spark: SparkSession, pair: Path) -> str:
    """The folder of the tables, as a mount of Hadoop's ViewFs: no path that Python could open."""
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.viewfs.mounttable.headgate.link./tables", f"file://{pair}")
    return "viewfs://headgate/tables"


@pytest.mark.parametrize("threshold", ["10m", "-1"], ids=["broadcast", "shuffled"])
def test_footers_are_read_through_spark(spark: SparkSession, elsewhere: str, threshold: str) -> None:
    """A join over another file system reads only the row groups that can match, with the same rows."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
        dim = spark.read.parquet(f"{elsewhere}/cat_dim").where("id between 110 and 120")
        report = same_rows(spark, lambda: spark.read.parquet(f"{elsewhere}/cat_fact").join(dim, sf.expr("k = id")))
    scan = assert_narrowed(report, "cat_fact", "k")

    assert (scan.files_read, scan.files_total) == (1, 4)
    assert (scan.row_groups_read, scan.row_groups_total) == (1, 16)
