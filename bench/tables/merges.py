"""MERGE of 10,000 keys into a clustered table of 2 GB: Headgate off, on, and ranges by hand, interleaved."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

import headgate
from bench.results import Result
from bench.tables.session import make_once, register, timed

ROWS, FILES = 36_000_000, 64
DELTA, VECTORS, ICEBERG = "merge_target", "merge_target_vectors", "ice.db.merge_target"
STATEMENT = """MERGE INTO {target} t USING changes s ON t.k = s.k
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


class Target(Protocol):
    """A table that a MERGE writes into, again and again from the same rows."""

    name: str
    table: str
    file: str

    def reset(self) -> None:
        """Bring back the rows of the beginning."""

    def changed(self) -> Any:
        """Return what the last commit says that it changed."""


class DeltaTarget:
    """A Delta table: a MERGE writes the files anew that hold a match, or notes the rows in them that are replaced."""

    file = "_metadata.file_path"

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark, self.table = spark, table
        self.name = "delta, deletion vectors" if table == VECTORS else "delta"
        first = spark.sql(f"DESCRIBE HISTORY {table}").agg({"version": "min"}).first()
        assert first is not None
        self._version = first[0]

    def reset(self) -> None:
        """Bring back the rows of the beginning."""
        self._spark.sql(f"RESTORE TABLE {self.table} TO VERSION AS OF {self._version}")

    def changed(self) -> Any:
        """Return how many rows the last commit updated and inserted."""
        metrics = self._spark.sql(f"DESCRIBE HISTORY {self.table}").orderBy("version").tail(1)[0]["operationMetrics"]
        return metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"]


class IcebergTarget:
    """An Iceberg table: as Delta, or with the positions of replaced rows beside the files."""

    table, file = ICEBERG, "_file"

    def __init__(self, spark: SparkSession, mode: str) -> None:
        self._spark, self.name = spark, f"iceberg, {mode}"
        first = spark.sql(f"SELECT snapshot_id FROM {ICEBERG}.snapshots ORDER BY committed_at").first()
        assert first is not None
        self._snapshot = first[0]
        spark.sql(f"ALTER TABLE {ICEBERG} SET TBLPROPERTIES ('write.merge.mode' = '{mode}')")

    def reset(self) -> None:
        """Bring back the rows of the beginning."""
        self._spark.sql(f"CALL ice.system.set_current_snapshot('db.merge_target', {self._snapshot})")

    def changed(self) -> Any:
        """Return how many rows the last commit added, and how many it took away."""
        last = self._spark.sql(f"SELECT summary FROM {ICEBERG}.snapshots ORDER BY committed_at").tail(1)[0]["summary"]
        return tuple(last.get(key) for key in ("added-records", "deleted-records", "added-position-deletes"))


def make(spark: SparkSession, home: Path) -> None:
    """Write the target, whose rows hardly compress, and the keys to merge."""

    def write(table: str) -> None:
        rows = spark.range(0, ROWS, 1, FILES).selectExpr(
            "id AS k", "rand(1) * 100 AS amount", "unhex(sha2(cast(id AS string), 256)) AS payload", "hash(id) AS at"
        )
        vectors = str(table == VECTORS).lower()
        rows.write.format("delta").option("delta.enableDeletionVectors", vectors).mode("overwrite").saveAsTable(table)

    def write_iceberg() -> None:
        rows = spark.table(DELTA).repartitionByRange(FILES, "k").sortWithinPartitions("k")
        rows.writeTo(ICEBERG).using("iceberg").option("distribution-mode", "none").createOrReplace()

    for table in (DELTA, VECTORS):
        make_once(home, table, partial(write, table))
        register(spark, home, table)
    make_once(home, "merge_iceberg", write_iceberg)
    spark.sql(CHANGES).write.mode("overwrite").parquet(str(home / "changes"))
    spark.read.parquet(str(home / "changes")).createOrReplaceTempView("changes")


def measure(spark: SparkSession, rounds: int) -> list[Result]:
    """Merge into each kind of table; return the figures beside their bars."""
    results = [found for table in (DELTA, VECTORS) for found in _merges(spark, DeltaTarget(spark, table), rounds)]
    for mode in ("copy-on-write", "merge-on-read"):
        results += _merges(spark, IcebergTarget(spark, mode), rounds)
    return results


def _merges(spark: SparkSession, target: Target, rounds: int) -> list[Result]:
    target.reset()
    files = f"(SELECT k, {target.file} AS file FROM {target.table})"
    matching = spark.sql(f"SELECT DISTINCT file FROM {files} t JOIN changes s ON t.k = s.k").count()
    gate = headgate.enable(spark, enabled=False)
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    looked_at, counts = FILES, set()
    for number in range(rounds + 1):
        for variant in VARIANTS if number % 2 else reversed(VARIANTS):
            gate.configure(enabled=False)
            target.reset()
            gate.configure(enabled=variant == "on")
            statement = (BY_HAND if variant == "by hand" else STATEMENT).format(target=target.table)
            took, _ = timed(partial(_merge, spark, statement))
            if variant == "on":
                looked_at = _looked_at(spark)
            counts.add(target.changed())
            if number:
                seconds[variant].append(took)
    headgate.disable(spark)
    if len(counts) != 1:
        raise SystemExit(f"{target.name}: the variants of MERGE changed different rows: {counts}")
    off, on, hand = (statistics.median(seconds[variant]) for variant in VARIANTS)
    times = f"{off:.1f} s, {on:.1f} s, by hand {hand:.1f} s"
    share = f"{target.name}: files read (of {FILES}) by files with a match ({matching})"
    return [
        Result(f"{target.name}: times as fast ({times})", off / on, "{:.1f}".format, 3, at_least=True),
        Result(share, looked_at / matching, "{:.2f}".format, 1.1),
    ]


def _merge(spark: SparkSession, statement: str) -> None:
    spark.sql(statement).collect()


def _looked_at(spark: SparkSession) -> int:
    """Return how many files of the target the last MERGE looked into, as the table counted them."""
    scans = [scan for scan in headgate.report(spark).scans if scan.filters]
    return scans[-1].files_read if scans else FILES
