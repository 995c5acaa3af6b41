"""Files whose content is not what statistics suggest: numbers wider than the column, damaged row groups, lost caches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import compare, enabled, evict_all, rows_of, settings

WAYS: dict[str, dict[str, Any]] = {"waiting": {}, "late": {"max_wait": "0s", "non_blocking": True}}


def put(path: Path, columns: dict[str, list[Any]], **options: Any) -> None:
    """Write a file, or put another one in its place."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), f"{path}.tmp", **options)
    os.replace(f"{path}.tmp", path)  # noqa: PTH105 - the file keeps its name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("narrow", ["tinyint", "smallint"])
def test_numbers_wider_than_their_column(
    spark: SparkSession, tmp_path: Path, come_first: None, way: str, narrow: str
) -> None:
    """Spark cuts off what does not fit, so the statistics of the file are of other numbers."""
    low = 300 if narrow == "tinyint" else 65536 + 44
    # the larger side, so that the other one is built
    wide = {"k": pa.array([low + i % 5 for i in range(2_000)], pa.int32()), "v": pa.array(range(2_000), pa.int64())}
    put(tmp_path / "wide" / "a.parquet", wide)
    spark.range(44, 46).selectExpr(f"cast(id as {narrow}) k", "id s").coalesce(1).write.parquet(str(tmp_path / "few"))

    def query() -> DataFrame:
        read = spark.read.schema(f"k {narrow}, v bigint").parquet(str(tmp_path / "wide"))
        return read.join(spark.read.parquet(str(tmp_path / "few")), "k")

    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        assert len(compare(spark, query, **WAYS[way]).rows) == 800


@pytest.mark.parametrize("way", WAYS)
def test_the_rest_of_a_damaged_file(spark: SparkSession, tmp_path: Path, come_first: None, way: str) -> None:
    """Where damaged files may be skipped Spark gives up the rest of one; a filter must not bring it back."""
    path = tmp_path / "fact" / "a.parquet"
    keys = [*range(10), *range(100, 110), *range(200, 210)]
    put(path, {"k": keys, "v": list(range(30))}, row_group_size=10, compression="none", use_dictionary=False)
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    with path.open("r+b") as file:
        file.seek(chunk.data_page_offset)
        file.write(b"\xff" * chunk.total_compressed_size)
    put(tmp_path / "dim" / "a.parquet", {"k": [3, 205]})

    def query() -> DataFrame:
        return spark.read.parquet(str(tmp_path / "fact")).join(spark.read.parquet(str(tmp_path / "dim")), "k")

    with settings(spark, spark_sql_files_ignoreCorruptFiles="true"):
        assert [row[0] for row in compare(spark, query, **WAYS[way]).rows] == [3]


@pytest.mark.parametrize(
    ("lost", "changed"),
    [
        ("dropped", "after planning"),
        ("dropped", "before planning"),
        ("dropped", "before planning, unseen"),  # a file of the same size and time
        ("evicted", "after planning"),
        ("evicted", "before planning"),
    ],
)
@pytest.mark.parametrize("broadcast", ["10MB", "-1"])
def test_a_cache_that_is_lost_before_the_query_runs(
    spark: SparkSession, tmp_path: Path, come_first: None, broadcast: str, lost: str, changed: str
) -> None:
    """The query was planned with the cached rows; now it reads the file, which is another one by then."""
    put(tmp_path / "fact" / "a.parquet", {"k": list(range(10)), "v": [1] * 10})
    put(tmp_path / "fact" / "b.parquet", {"k": list(range(100, 110)), "v": [2] * 10})

    def answer(name: str) -> Any:
        path = tmp_path / name / "a.parquet"
        put(path, {"k": [3, 4], "s": ["x", "y"]})
        time = path.stat().st_mtime_ns - 10**9
        os.utime(path, ns=(time, time))
        dim = spark.read.parquet(str(tmp_path / name)).cache()
        dim.count()
        frame = spark.read.parquet(str(tmp_path / "fact")).join(dim, "k")
        if changed == "after planning":
            frame._jdf.queryExecution().executedPlan()
        put(path, {"k": [3, 104], "s": ["x", "y"]})
        if changed == "before planning, unseen":
            os.utime(path, ns=(time, time))
        frame._jdf.queryExecution().executedPlan()
        try:
            if lost == "evicted":
                evict_all(spark)
            else:
                dim.unpersist(True)
            return rows_of(frame)
        finally:
            dim.unpersist(True)

    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast):
        expected = answer("off")
        assert {row[0] for row in expected} == {3, 104}
        with enabled(spark) as gate:
            assert answer("on") == expected
            assert [f for f in gate.reports[-1].filters if f.state == "applied"], "there was no filter to lose"


def test_a_partition_column_of_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """Its values are not known to Headgate: nothing is left out by them, and nothing fails."""
    made = spark.sql("select id v, cast(concat('p', id % 4) as binary) p from range(40)")
    made.write.partitionBy("p").parquet(str(tmp_path / "fact"))
    spark.sql("select cast('p1' as binary) p, 1 s").write.parquet(str(tmp_path / "dim"))

    def query() -> DataFrame:
        read = spark.read.schema("v bigint, p binary").parquet(str(tmp_path / "fact"))
        return read.join(spark.read.parquet(str(tmp_path / "dim")), "p")

    assert len(compare(spark, query).rows) == 10


def test_many_kept_rows_travel_in_many_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A task must not be larger than Spark can send; what was kept of a build side is cut up."""
    spark.range(4000).selectExpr("id k", "id v").repartitionByRange(4, "k").write.parquet(str(tmp_path / "fact"))
    wide = spark.range(0, 4000, 2).selectExpr("id k", "repeat(string(id % 10), 6000) s").coalesce(1)
    wide.write.parquet(str(tmp_path / "dim"))

    def query() -> DataFrame:
        read, few = (spark.read.parquet(str(tmp_path / name)) for name in ("fact", "dim"))
        return read.join(few.hint("merge"), "k").selectExpr("k", "length(s) l")

    with settings(spark, spark_sql_autoBroadcastJoinThreshold="100MB"):
        ran = compare(spark, query)
    assert len(ran.rows) == 2000
    leaves = ran.frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    kept = [leaf for i in range(leaves.size()) if (leaf := leaves.apply(i)).getClass().getSimpleName() == "LogicalRDD"]
    assert [leaf.rdd().getNumPartitions() for leaf in kept] == [3]
