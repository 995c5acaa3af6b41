"""Build sides that look equal and are not: each keeps its own rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import compare


@pytest.fixture
def fact(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """2,000 rows in 8 files by k."""
    path = str(tmp_path / "fact")
    spark.range(2000).selectExpr("id k", "id * 2 v").repartitionByRange(8, "k").write.parquet(path)
    return spark.read.parquet(path)


def test_one_of_two_equal_build_sides_was_narrowed(spark: SparkSession, tmp_path: Path, fact: DataFrame) -> None:
    """Another filter leaves few rows of the first; the second has the same plan, and needs all of them."""
    spark.range(0, 2000, 10).selectExpr("id k", "id % 7 x").write.parquet(str(tmp_path / "dim"))
    spark.range(1).selectExpr("3L x").write.parquet(str(tmp_path / "tiny"))

    def query() -> DataFrame:
        dim, tiny = spark.read.parquet(str(tmp_path / "dim")), spark.read.parquet(str(tmp_path / "tiny"))
        narrowed = fact.join(dim, "k").join(tiny, "x").select("k", "v", "x")
        return narrowed.unionByName(fact.join(dim.where("x is not null"), "k").select("k", "v", "x"))

    ran = compare(spark, query)
    assert len(ran.rows) == 229
    assert [f for f in ran.report.filters if f.state == "applied"]


def test_two_listings_of_one_folder(spark: SparkSession, tmp_path: Path, fact: DataFrame) -> None:
    """To Spark two listings of a folder are equal; the older one has fewer files, and fewer rows."""
    path = str(tmp_path / "dim")
    spark.range(0, 100, 10).selectExpr("id k", "id y").coalesce(1).write.parquet(path)
    old = spark.read.parquet(path)
    spark.range(100, 200, 10).selectExpr("id k", "id y").coalesce(1).write.mode("append").parquet(path)
    new = spark.read.parquet(path)
    old = old if len(old.inputFiles()) < len(new.inputFiles()) else spark.read.parquet(f"{path}/*-c000.snappy.parquet")

    def query() -> DataFrame:
        few = fact.join(old.where("k is not null"), "k").select("k", "v", "y")
        return few.unionByName(new.where("k is not null").join(fact, "k", "left").select("k", "v", "y"))

    compare(spark, query)
