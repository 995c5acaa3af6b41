"""A Spark session that knows Delta and Iceberg, and the number of files that a query has read in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
)
# how Delta (through Spark's own scan of files) and Iceberg name the number of files that they read
_FILES = ("numFiles", "resultDataFiles")


@dataclass(frozen=True)
class Place:
    """Where the tables of one format lie: the format, and the prefix of a table's name."""

    kind: str
    prefix: str

    def name(self, table: str) -> str:
        """Return the name of a table in SQL."""
        return f"{self.prefix}.{table}"


PLACES = (Place("delta", "spark_catalog.default"), Place("iceberg", "ice.db"))


def start(home: Path) -> SparkSession:
    """Start Spark with the jars of tools/with_table_jars.sh; tables go below ``home``."""
    jars = sorted(Path(os.environ["HEADGATE_TABLE_JARS"]).glob("*.jar"))
    settings: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(home / "iceberg"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.driver.memory": "8g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[2]").appName("bench-tables").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    return spark


def make_once(home: Path, name: str, make: Callable[[], None]) -> None:
    """Make tables unless an earlier run has; a file says that they are complete."""
    done = home / f"{name}.done"
    if not done.exists():
        make()
        done.touch()


def register(spark: SparkSession, home: Path, table: str) -> None:
    """Let this session find a Delta table that an earlier one wrote: the session's own catalog forgets."""
    folder = home / "warehouse" / table
    if folder.exists():
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table} USING delta LOCATION '{folder}'")


def files_read(frame: DataFrame, column: str) -> int:
    """Return how many files were read by the scans that give a column, once the query has run."""
    return sum(_files(leaf) for leaf in _leaves(frame._jdf.queryExecution().executedPlan()) if column in _names(leaf))


def _names(leaf: Any) -> set[str]:
    output = leaf.output()
    return {output.apply(i).name() for i in range(output.size())}


def _files(leaf: Any) -> int:
    metrics = leaf.metrics()
    for name in _FILES:
        if metrics.contains(name):
            return max(0, int(metrics.apply(name).value()))
    return 0


def _leaves(plan: Any) -> list[Any]:
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        return _leaves(plan.finalPhysicalPlan())
    if kind.endswith("QueryStageExec"):
        return _leaves(plan.plan())
    if kind == "ReusedExchangeExec":
        return []
    children = plan.children()
    if not children.size():
        return [plan]
    return [leaf for i in range(children.size()) for leaf in _leaves(children.apply(i))]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds the work took, and what it gave."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result
