"""What differs between versions of Spark is found in the one that runs, and only one Java class knows of it."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst import SparkBridge
from headgate.catalyst.compiler import compiled, java_sources

# Names that some version from 4.0 to 4.3 does not have.
MOVED = re.compile(
    r"streaming\.runtime\.|TransformWithStateIn(PySpark|Pandas)|TimestampAddInterval|TimeAdd\b|new LogicalRDD\("
)


def _optimized(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().optimizedPlan()


def test_only_one_class_knows_of_versions() -> None:
    """A name that one version lacks would keep all classes from compiling there."""
    assert {name for name, source in java_sources().items() if MOVED.search(source)} == {"interop/SparkVersion"}


def test_a_relation_over_an_rdd_has_its_rows(bridge: SparkBridge, spark: SparkSession) -> None:
    """The constructor has another argument in 4.3."""
    classes, jvm = compiled(spark.sparkContext), spark._jvm
    execution = spark.range(5).selectExpr("id", "id * 2 AS twice")._jdf.queryExecution()
    nothing = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList())
    spread = jvm.org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning(0)
    output, rows = execution.analyzed().output(), execution.toRdd()
    statistics = jvm.scala.Option.empty()
    relation = classes.call(
        "interop.SparkVersion", "logicalRdd", output, rows, spread, nothing, spark._jsparkSession, statistics
    )
    assert not relation.isStreaming()
    frame = DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, relation), spark)
    assert [tuple(row) for row in frame.collect()] == [(i, i * 2) for i in range(5)]


def test_an_interval_added_to_a_timestamp_is_known(bridge: SparkBridge, spark: SparkSession) -> None:
    """The windows of sessions end with one; a sum of numbers is none."""
    classes = compiled(spark.sparkContext)
    later = spark.range(1).selectExpr("timestamp_seconds(id) + make_interval(0, 0, 0, 0, 0, 0, id) AS t", "id + 1 AS n")
    time, number = (_optimized(later).expressions().apply(i).children().head() for i in range(2))
    assert classes.call("interop.SparkVersion", "isTimestampAdd", time)
    assert not classes.call("interop.SparkVersion", "isTimestampAdd", number)
