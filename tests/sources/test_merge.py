"""MERGE into Delta and Iceberg tables, with Headgate on and off: the same table and commit, fewer files read.

A usual run draws a few statements; HEADGATE_MERGES=500 draws as many, and HEADGATE_FIRST=100 begins further on.
"""

from __future__ import annotations

import os
import random

import pytest
from pyspark.sql import SparkSession

from tests.batch.differential import enabled
from tests.sources.merges import FILES, ICEBERG, ROWS, Target, change, changes, files, same

FIRST = int(os.environ.get("HEADGATE_FIRST", "0"))
COUNT = int(os.environ.get("HEADGATE_MERGES", "1"))
KINDS = ("delta", *ICEBERG)
UPSERT = """MERGE INTO {target} t USING changes s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, s, p) VALUES (s.k, s.v, 'new', 9)"""


@pytest.mark.parametrize("kind", KINDS)
def test_only_files_that_may_hold_a_key_are_read(spark: SparkSession, kind: str) -> None:
    changes(spark, "SELECT id * 3 + 420 AS k, 7 AS v FROM range(50)")
    on, scans = same(spark, UPSERT, Target(kind))
    assert files(scans) == [(1, FILES)]
    assert sum(count for row, count in on.rows.items() if row[1] == 7 and 420 <= row[0] <= 567) >= 50


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_the_source_does_not_match_need_the_whole_target(spark: SparkSession, kind: str) -> None:
    changes(spark, "SELECT id AS k, 7 AS v FROM range(5)")
    on, scans = same(spark, UPSERT + " WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE", Target(kind))
    assert sum(on.rows.values()) < ROWS
    assert not scans


@pytest.mark.parametrize("kind", ["delta", "merge-on-read"])  # copy-on-write: Spark refuses such a source
def test_a_source_that_gives_other_rows_each_time_is_read_once(spark: SparkSession, kind: str) -> None:
    table = Target(kind).make(spark, "changed_on")
    changes(spark, "SELECT cast(rand() * 2000 AS bigint) AS k, 7 AS v FROM range(1)")
    with enabled(spark, strategy="always"):
        changed = change(spark, table, UPSERT)
    assert sum(1 for row in changed.rows if row[1] == 7 and row[2] != f"s{row[0] % 13}") == 0
    assert sum(changed.rows.values()) == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_merged_into_itself(spark: SparkSession, kind: str) -> None:
    statement = """MERGE INTO {target} t USING (SELECT k FROM {target} WHERE k BETWEEN 100 AND 140) s ON t.k = s.k + 0
    WHEN MATCHED THEN DELETE"""
    same(spark, statement, Target(kind))
    on, _ = same(spark, statement.replace("s.k + 0", "s.k"), Target(kind))
    assert sum(on.rows.values()) == ROWS - 41


def test_delta_reads_a_table_that_is_merged_into_itself(spark: SparkSession) -> None:
    """Within its transaction, that is, so that it notices what others write meanwhile: Headgate reads no row before."""
    target = Target("delta").make(spark, "merged_into_itself")
    source = f"(SELECT k, v + 1 AS v FROM {target} WHERE k BETWEEN 100 AND 140)"
    with enabled(spark, strategy="always") as gate:
        spark.sql(f"MERGE INTO {target} t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v")
        assert not [scan for report in gate.reports for scan in report.scans if scan.filters]


def test_planning_asks_delta_for_nothing_that_takes_jobs(spark: SparkSession) -> None:
    """The size of the target stands beside its last commit; to count it, Delta reads its whole log."""
    changes(spark, "SELECT id + 420 AS k, 7 AS v FROM range(9)")
    target, before = Target("delta").make(spark, "planned_merge"), jobs(spark)
    with enabled(spark, strategy="always"):
        spark.sql(UPSERT.format(target=target))
    said = [text for number, text in sorted(jobs(spark).items()) if number not in before]
    build = next(i for i, text in enumerate(said) if text.startswith("headgate: build side"))
    assert not [text for text in said[:build] if "Compute snapshot" in text]
    assert [text for text in said[build:] if text.startswith("MERGE operation")]


def jobs(spark: SparkSession) -> dict[int, str]:
    """Return what the jobs of the session are called, by number."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(None)
    each = (found.apply(i) for i in range(found.size()))
    return {job.jobId(): job.description().get() if job.description().isDefined() else "" for job in each}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_random_merges(spark: SparkSession, number: int, kind: str) -> None:
    draw = random.Random(number)
    changes(spark, _source(draw))
    statement, vectors = _statement(draw), draw.random() < 0.5
    partitions = "p" if draw.random() < 0.3 else ""
    if kind in ICEBERG and draw.random() < 0.3:
        partitions = draw.choice(["truncate(300, k)", "bucket(3, k)", "p, truncate(1, s)"])
    same(spark, statement, Target(kind, vectors, partitions))


def _source(draw: random.Random) -> str:
    count, first, step = draw.choice([0, 1, 7, 40, 400]), draw.randrange(-50, ROWS), draw.choice([1, 3, 17])
    key = draw.choice([f"id * {step} + {first}", f"CASE WHEN id % 9 = 0 THEN NULL ELSE id * {step} + {first} END"])
    kind = draw.choice(["bigint", "bigint", "int"])
    where = draw.choice(["", " WHERE id % 2 = 0", " LIMIT 5"])
    return f"SELECT cast({key} AS {kind}) AS k, cast(id % 31 AS int) AS v FROM range({count}){where}"


def _statement(draw: random.Random) -> str:
    on = draw.choice(
        ["t.k = s.k", "s.k = t.k AND t.v < 50", "t.k <=> s.k", "t.k = s.k AND t.s = concat('s', s.k % 13)"]
    )
    clauses = [
        draw.choice(["WHEN MATCHED AND s.v > 10 THEN UPDATE SET v = s.v", "WHEN MATCHED AND t.v > 40 THEN DELETE", ""]),
        draw.choice(["WHEN MATCHED THEN UPDATE SET v = t.v + 1", "WHEN MATCHED THEN DELETE", ""]),
        draw.choice(["WHEN NOT MATCHED THEN INSERT (k, v, s, p) VALUES (s.k, s.v, 'new', 9)", ""]),
        draw.choice(["WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE", "", "", ""]),
    ]
    if not any(clauses):
        clauses = ["WHEN MATCHED THEN DELETE"]
    return f"MERGE INTO {{target}} t USING changes s ON {on} " + " ".join(clauses)
