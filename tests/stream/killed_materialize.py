"""A program that keeps a table and is killed at a chosen point of a chosen batch, with its JVM, as a crash would.

python -m tests.stream.killed_materialize <home> <before or after> <batch>: before or after the manifest of that batch.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.files import Folder
from headgate.stream import aggregate, materialize
from headgate.stream.manifest import Manifest, publish
from tests.conftest import SMALL_DATA
from tests.local_files import use_plain_local_files
from tests.stream.changelogs import Changes

DDL = "id int, k int, v bigint"
SCHEMA = pa.schema([("id", pa.int32()), ("k", pa.int32()), ("v", pa.int64())])


def changes_in(home: Path) -> Changes:
    """The changes that the program reads."""
    return Changes(home / "in", DDL, SCHEMA)


def totals(spark: SparkSession, home: Path) -> DataFrame:
    """An operator with state below the table: it has to go on from the same batch as the table does."""
    return aggregate(changes_in(home).stream(spark), "k", n="count(*)", total="sum(v)", low="min(v)")


def main(home: Path, moment: str, batch: int) -> None:
    """Keep the table until the process is killed."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config(map=SMALL_DATA)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    use_plain_local_files(spark)

    def publish_or_die(folder: Folder, manifest: Manifest) -> None:
        if manifest.batch == batch and moment == "before":
            os.killpg(0, signal.SIGKILL)
        publish(folder, manifest)
        if manifest.batch == batch:
            os.killpg(0, signal.SIGKILL)

    sys.modules["headgate.stream.materialize"].publish = publish_or_die  # type: ignore[attr-defined]
    materialize(totals(spark, home), str(home / "table"), "k", available_now=True).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
