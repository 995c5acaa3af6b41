"""A narrowed scan is cut into enough tasks for all cores; whoever set the number of tasks keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import compare, enabled, settings

CORES = 2
QUERY = "select fact.k from fact join dim on fact.k = dim.id where dim.big >= {first}"


@pytest.fixture(autouse=True)
def size(spark: SparkSession, star: Path) -> Iterator[int]:
    """The bytes of one of the eight files; the number of tasks follows from bytes alone."""
    assert spark.sparkContext.defaultParallelism == CORES
    with settings(spark, spark_sql_files_openCostInBytes="1", spark_sql_adaptive_enabled="false"):
        yield max(path.stat().st_size for path in (star / "fact").glob("*.parquet"))


def tasks(spark: SparkSession, *, first: int, limit: float) -> int:
    """The number of tasks of the scan when it reads the files from one key on, of at most so many bytes each."""
    with settings(spark, spark_sql_files_maxPartitionBytes=str(int(limit))):
        return number_of_tasks(compare(spark, lambda: spark.sql(QUERY.format(first=first))).frame)


def tasks_of_spark(spark: SparkSession, star: Path, *, files: int, limit: float) -> int:
    """The number of tasks that Spark alone makes of so many files."""
    with settings(spark, spark_sql_files_maxPartitionBytes=str(int(limit))):
        paths = sorted(map(str, (star / "fact").glob("*.parquet")))
        return number_of_tasks(spark.read.parquet(*paths[-files:]))


def number_of_tasks(frame: DataFrame) -> int:
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def test_a_few_large_tasks_become_more(spark: SparkSession, star: Path, size: int) -> None:
    """Seven files, two in a task, would be four tasks, of which the last is half as long."""
    assert tasks_of_spark(spark, star, files=7, limit=2.2 * size) == 4
    assert 4 * CORES <= tasks(spark, first=105, limit=2.2 * size) <= 5 * CORES


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(10, id="Spark itself makes a task for each core of what fits into them"),
        pytest.param(0.8, id="there are enough tasks of full size"),
    ],
)
def test_what_is_small_or_large_stays_as_it_is(spark: SparkSession, star: Path, size: int, limit: float) -> None:
    expected = tasks_of_spark(spark, star, files=7, limit=limit * size)
    assert tasks(spark, first=105, limit=limit * size) == expected


def test_settings_are_followed_from_query_to_query(spark: SparkSession, size: int) -> None:
    with enabled(spark):
        found = []
        for cost in (1, size, 1):
            limits = {
                "spark_sql_files_maxPartitionBytes": str(int(2.2 * size)),
                "spark_sql_files_openCostInBytes": str(cost),
            }
            with settings(spark, **limits):
                found.append(number_of_tasks(spark.sql(QUERY.format(first=105))))
    assert found[0] == found[2] > found[1] == 7, "a file that costs as much to open as to read is not cut"


def test_a_setting_that_changes_after_planning_counts(spark: SparkSession, size: int) -> None:
    """Spark reads how a scan is cut when it runs: after planning, a file is made as dear to open as to read."""
    with enabled(spark), settings(spark, spark_sql_files_maxPartitionBytes=str(int(2.2 * size))):
        frame = spark.sql(QUERY.format(first=105))
        frame._jdf.queryExecution().executedPlan()
        with settings(spark, spark_sql_files_openCostInBytes=str(size)):
            assert number_of_tasks(frame) == 7


def test_the_number_that_a_user_asks_for_is_kept(spark: SparkSession, size: int) -> None:
    with settings(spark, spark_sql_files_minPartitionNum="3"):
        assert tasks(spark, first=105, limit=2.2 * size) == 4


def test_no_setting_of_the_session_changes(spark: SparkSession, size: int) -> None:
    before = dict(spark.conf.getAll)
    tasks(spark, first=105, limit=2.2 * size)
    assert dict(spark.conf.getAll) == before
