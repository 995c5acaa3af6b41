"""Keep Spark's classes as the JVM holds them in memory, so that each program of the tests starts in half the time.

    python tools/share_classes.py ARCHIVE

Runs a little of everything that tests run, and lets the JVM write what it has loaded (class data sharing). A JVM with
another version or other jars leaves the archive alone. Where none can be made, tests are slower and otherwise the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
_WAIT = 120  # seconds that the JVM may take to write 200 megabytes


def main() -> None:
    """Write the archive, or say in one sentence why there is none."""
    archive = Path(sys.argv[1]).absolute()
    new = archive.with_suffix(".new")
    os.environ["JDK_JAVA_OPTIONS"] = f"{_OPTIONS} -XX:ArchiveClassesAtExit={new}"
    print("Keeping Spark's classes for the tests (first time: half a minute)", flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _load_classes(Path(folder))
        new.rename(archive)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"Spark's classes are not kept, so tests start more slowly: {error}")


def _load_classes(folder: Path) -> None:
    """Run queries and a stream, then wait until the JVM has ended and written."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    import headgate

    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    headgate.enable(spark, strategy="always")
    for kind in ("parquet", "orc", "json", "csv"):
        path = str(folder / kind)
        spark.range(10_000).selectExpr("id", "id % 7 AS k", "CAST(id AS STRING) AS s").write.format(kind).save(path)
        table = spark.read.schema("id LONG, k LONG, s STRING").format(kind).load(path)
        table.createOrReplaceTempView(kind)
        few = table.where("id < 10").groupBy("k").count()
        table.join(few, "k").orderBy("id").collect()
    spark.sql(
        "SELECT k, max(id) OVER (PARTITION BY k) FROM parquet WHERE k IN (SELECT k FROM orc WHERE id < 3)"
    ).collect()
    _run_stream(spark, folder)
    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    jvm.stdin.close()
    jvm.wait(_WAIT)


def _run_stream(spark: Any, folder: Path) -> None:
    late = spark.readStream.schema("id LONG, k LONG, s STRING").parquet(str(folder / "parquet"))
    timed = (
        late.selectExpr("timestamp_seconds(id) AS at", "k").withWatermark("at", "1 minute").groupBy("at", "k").count()
    )
    query = timed.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
