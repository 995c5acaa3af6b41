"""Random queries over random tables give the same rows with Headgate on and off.

Each query has a seed of its own, ``chunk-number``. A failure names it; to run that one query again:

    HEADGATE_SEED=7-13 pytest tests/batch/test_random_queries.py

A usual run takes every fourth chunk of the first 21; HEADGATE_CHUNKS=0:21 takes all 525 queries, 1000:1040 others.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate import Gate, QueryReport
from tests.batch.differential import assert_same, enabled, outcome, settings
from tests.batch.random_queries import RandomQuery, RandomTable, write_random_table

QUERIES = 25
SEED = os.environ.get("HEADGATE_SEED", "")
WANTED = (int(number) for number in os.environ.get("HEADGATE_CHUNKS", "0:21:4").split(":"))  # first, end and step
CHUNKS = [int(SEED.split("-")[0])] if SEED else list(range(*WANTED))
NUMBERS = [int(SEED.split("-")[1])] if "-" in SEED else list(range(QUERIES))

# Queries this small are mostly overhead: no code generation, no adaptive plans, one task where one will do.
LEAN = {
    "spark_sql_adaptive_enabled": "false",
    "spark_sql_codegen_wholeStage": "false",
    "spark_sql_codegen_factoryMode": "NO_CODEGEN",
}
FEW_TASKS = {"spark_sql_files_openCostInBytes": "0", "spark_sql_shuffle_partitions": "1"}


@dataclass
class Tally:
    """How many queries ran, how many of them had a filter and still found rows, and how many ended with an error."""

    ran: int = 0
    filtered: int = 0
    failed: int = 0


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each chunk leaves its tally: a folder that all processes of one run share."""
    home = tmp_path_factory.getbasetemp()
    shared = (home.parent if "PYTEST_XDIST_WORKER" in os.environ else home) / "random-queries"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.mark.slow
@pytest.mark.parametrize("chunk", CHUNKS)
def test_random_queries(spark: SparkSession, tmp_path: Path, counts: Path, chunk: int) -> None:
    """Twenty-five random queries over one set of random tables: on against off, identical."""
    tally = Tally()
    random = Random(f"tables {chunk}")
    span = random.choice((8, 25, 60))
    tables = [
        write_random_table(random, f"random_{i}", tmp_path / f"random_{i}", rows, span)
        for i, rows in enumerate((random.choice((60, 250)), 50, 25, 12))
    ]
    options: dict[str, Any] = {
        "max_distinct_values": random.choice((10_000, 10_000, 3, 0)),
        "filter_rows": random.random() < 0.8,
    }
    with ExitStack() as stack:
        stack.enter_context(settings(spark, **FEW_TASKS, **(LEAN if chunk % 5 else {})))
        stack.enter_context(settings(spark, spark_sql_autoBroadcastJoinThreshold="-1" if chunk % 3 == 1 else "10MB"))
        for table in tables:
            spark.read.schema(table.schema).parquet(str(table.folder)).createOrReplaceTempView(table.name)
        queries = {number: RandomQuery(Random(f"query {chunk}-{number}"), tables).sql() for number in NUMBERS}
        expected = {number: outcome(lambda q=query: spark.sql(q)) for number, query in queries.items()}
        gate = stack.enter_context(enabled(spark, **options))
        for number, query in queries.items():
            found = outcome(lambda q=query: spark.sql(q))
            count(tally, expected[number], gate.report())
            complain(spark, gate, tables, f"{chunk}-{number}", query, expected[number], found)
    check_all(counts, chunk, tally)


def check_all(counts: Path, chunk: int, tally: Tally) -> None:
    """Leave a tally; the chunk that ends last judges all: filters that are rare, or empty answers, would prove little."""
    written = counts / f".{chunk}"
    written.write_text(f"{tally.ran} {tally.filtered} {tally.failed}")
    written.rename(counts / f"{chunk}")
    told = [tuple(map(int, path.read_text().split())) for path in counts.glob("[0-9]*")]
    ran, filtered, failed = (sum(column) for column in zip(*told, strict=True))
    if ran >= 150 and len(told) == len(CHUNKS):
        assert filtered >= 0.4 * ran, f"only {filtered} of {ran} queries had a filter and found rows"
        assert failed <= 0.02 * ran, f"{failed} of {ran} queries ended with an error"


def count(tally: Tally, expected: Any, report: QueryReport) -> None:
    tally.ran += 1
    if isinstance(expected, tuple):
        tally.failed += 1
    elif next(iter(expected))[0] > 0:
        tally.filtered += any(told.state == "applied" for told in report.filters)


def complain(
    spark: SparkSession, gate: Gate, tables: list[RandomTable], seed: str, query: str, expected: Any, found: Any
) -> None:
    """Fail with the seed, the query and the rows that differ."""
    report = gate.report()
    told = f"HEADGATE_SEED={seed}\n{query}\n{report}"
    assert report.failures == [], f"the query ran unfiltered: {report.failures[-1]}\n{told}"
    if found == expected:
        return
    rows = RandomQuery(Random(f"query {seed}"), tables).rows().sql
    on = outcome(lambda: spark.sql(rows))
    gate.close()
    off = outcome(lambda: spark.sql(rows))
    if not isinstance(on, tuple) and not isinstance(off, tuple):
        assert_same(off, on, told)
    pytest.fail(f"{found} with Headgate on, {expected} with it off\n{told}")
