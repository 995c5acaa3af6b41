"""MERGE of 10,000 keys into a clustered Delta table of 2 GB: Headgate off and on, interleaved."""

from __future__ import annotations

import statistics
from pathlib import Path

from pyspark.sql import SparkSession

import headgate
from bench.results import Result
from bench.tables.session import make_once, register, timed

ROWS, FILES = 36_000_000, 64
TARGET = "merge_target"
STATEMENT = f"""MERGE INTO {TARGET} t USING changes s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET amount = s.amount
WHEN NOT MATCHED THEN INSERT (k, amount, payload, at) VALUES (s.k, s.amount, NULL, 0)"""
# 10,000 keys: of the last days, and corrections of two older days
CHANGES = f"""SELECT id * 40 + {ROWS} - 280000 AS k, 1.5D AS amount FROM range(7000)
UNION ALL SELECT id * 100 + 9000000 AS k, 2.5D AS amount FROM range(1500)
UNION ALL SELECT id * 100 + 20000000 AS k, 2.5D AS amount FROM range(1500)"""


def make(spark: SparkSession, home: Path) -> None:
    """Write the target, whose rows hardly compress, and the keys to merge."""

    def write() -> None:
        rows = spark.range(0, ROWS, 1, FILES).selectExpr(
            "id AS k", "rand(1) * 100 AS amount", "unhex(sha2(cast(id AS string), 256)) AS payload", "hash(id) AS at"
        )
        rows.write.format("delta").mode("overwrite").saveAsTable(TARGET)

    make_once(home, "merge", write)
    register(spark, home, TARGET)
    spark.sql(CHANGES).write.mode("overwrite").parquet(str(home / "changes"))
    spark.read.parquet(str(home / "changes")).createOrReplaceTempView("changes")


def measure(spark: SparkSession, rounds: int) -> list[Result]:
    """Merge again and again into the same version of the table; return the figures beside their bars."""
    first = spark.sql(f"DESCRIBE HISTORY {TARGET}").agg({"version": "min"}).first()
    assert first is not None
    version = first[0]
    target = f"(SELECT k, _metadata.file_path AS file FROM {TARGET} VERSION AS OF {version})"
    matching = spark.sql(f"SELECT DISTINCT file FROM {target} t JOIN changes s ON t.k = s.k").count()
    gate = headgate.enable(spark, enabled=False)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    looked_at, counts = {}, {}
    for number in range(rounds + 1):
        for on in (False, True) if number % 2 else (True, False):
            gate.configure(enabled=False)
            spark.sql(f"RESTORE TABLE {TARGET} TO VERSION AS OF {version}")
            gate.configure(enabled=on)
            took, _ = timed(lambda: spark.sql(STATEMENT).collect())
            metrics = spark.sql(f"DESCRIBE HISTORY {TARGET}").orderBy("version").tail(1)[0]["operationMetrics"]
            looked_at[on] = _looked_at(gate) if on else FILES
            counts[on] = (metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"])
            if number:
                seconds[on].append(took)
    headgate.disable(spark)
    if counts[True] != counts[False]:
        raise SystemExit(f"MERGE changed other rows with Headgate: {counts}")
    off, on_s = statistics.median(seconds[False]), statistics.median(seconds[True])
    return [
        Result(f"MERGE: times as fast ({off:.1f} s, {on_s:.1f} s)", off / on_s, "{:.1f}".format, 3, at_least=True),
        Result(
            f"MERGE: files read (of {looked_at[False]}) by files with a match ({matching})",
            looked_at[True] / matching,
            "{:.2f}".format,
            1.1,
        ),
    ]


def _looked_at(gate: headgate.Gate) -> int:
    """Return how many files of the target the last MERGE looked into, as Delta counted them."""
    scans = [scan for report in gate.reports[-3:] for scan in report.scans if scan.filters]
    return scans[-1].files_read if scans else FILES
