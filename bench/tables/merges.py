"""MERGE of 10,000 keys into a clustered Delta table of 2 GB: Headgate off, on, and ranges by hand, interleaved."""

from __future__ import annotations

import statistics
from functools import partial
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
# what a person who knows the keys would write: the limit
RANGES = ((9_000_000, 9_149_900), (20_000_000, 20_149_900), (ROWS - 280_000, ROWS))
BY_HAND = STATEMENT.replace(
    "t.k = s.k", f"t.k = s.k AND ({' OR '.join(f't.k BETWEEN {low} AND {high}' for low, high in RANGES)})"
)
VARIANTS = ("off", "on", "by hand")


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
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    looked_at, counts = FILES, set()
    for number in range(rounds + 1):
        for variant in VARIANTS if number % 2 else reversed(VARIANTS):
            gate.configure(enabled=False)
            spark.sql(f"RESTORE TABLE {TARGET} TO VERSION AS OF {version}")
            gate.configure(enabled=variant == "on")
            statement = BY_HAND if variant == "by hand" else STATEMENT
            took, _ = timed(partial(_merge, spark, statement))
            metrics = spark.sql(f"DESCRIBE HISTORY {TARGET}").orderBy("version").tail(1)[0]["operationMetrics"]
            if variant == "on":
                looked_at = _looked_at(gate)
            counts.add((metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"]))
            if number:
                seconds[variant].append(took)
    headgate.disable(spark)
    if len(counts) != 1:
        raise SystemExit(f"the variants of MERGE changed different rows: {counts}")
    off, on, hand = (statistics.median(seconds[variant]) for variant in VARIANTS)
    times = f"{off:.1f} s, {on:.1f} s, by hand {hand:.1f} s"
    return [
        Result(f"MERGE: times as fast ({times})", off / on, "{:.1f}".format, 3, at_least=True),
        Result(
            f"MERGE: files read (of {FILES}) by files with a match ({matching})",
            looked_at / matching,
            "{:.2f}".format,
            1.1,
        ),
    ]


def _merge(spark: SparkSession, statement: str) -> None:
    spark.sql(statement).collect()


def _looked_at(gate: headgate.Gate) -> int:
    """Return how many files of the target the last MERGE looked into, as Delta counted them."""
    scans = [scan for report in gate.reports[-3:] for scan in report.scans if scan.filters]
    return scans[-1].files_read if scans else FILES
