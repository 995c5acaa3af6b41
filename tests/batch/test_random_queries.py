"""Random queries over random tables, under random attacks, give the same rows with Headgate on and off.

Each case has a seed of its own, ``chunk-number``. A failure names it; to run that one case again:

    HEADGATE_SEED=7-13 pytest tests/batch/test_random_queries.py

A usual run takes 12 cases; HEADGATE_QUERIES=5000 takes as many, and HEADGATE_FIRST=1000 begins with another chunk.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from headgate import Gate
from tests.batch.differential import Answer, enabled, settings
from tests.batch.random_attacks import Attack, is_right, random_attack, told
from tests.batch.random_tables import RandomTable, write_random_table

CASES = 25
SEED = os.environ.get("HEADGATE_SEED", "")
FIRST = int(os.environ.get("HEADGATE_FIRST", "0"))
WANTED = int(os.environ.get("HEADGATE_QUERIES", "12"))
COUNT = -(-WANTED // CASES)
CHUNKS = [int(SEED.split("-")[0])] if SEED else list(range(FIRST, FIRST + COUNT))
NUMBERS = [int(SEED.split("-")[1])] if "-" in SEED else list(range(min(WANTED, CASES)))
FEW_TASKS = {"spark_sql_files_openCostInBytes": "0", "spark_sql_shuffle_partitions": "2"}


@dataclass
class Tally:
    """How many cases ran, how many of them had a filter and still found rows, and how many ended with an error."""

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
def test_random_queries(
    spark: SparkSession, tmp_path: Path, counts: Path, compiled_stand_ins: None, chunk: int
) -> None:
    """At most twenty-five random attacks, most tables shared by all of them: on against off, identical."""
    tally = Tally()
    tables = shared_tables(chunk, tmp_path)
    attacks = [random_attack(f"{chunk}-{number}", tables) for number in NUMBERS]
    with settings(spark, **FEW_TASKS):
        for table in tables:
            table.register(spark)
        expected = [told(spark, attack, tmp_path, on=False) for attack in attacks]
        wrong: list[str] = []
        with enabled(spark) as gate:
            for attack, answers in zip(attacks, expected, strict=True):
                gate.forget()
                found = told(spark, attack, tmp_path, on=True)
                wrong += complaints(gate, attack, answers, found)
                count(tally, gate, answers)
    shown = "\n\n".join(wrong[:3])
    assert not wrong, f"{len(wrong)} of {len(attacks)} cases differ: {[told.split()[0] for told in wrong]}\n\n{shown}"
    check_all(counts, chunk, tally)


def shared_tables(chunk: int, home: Path) -> list[RandomTable]:
    """Write the tables that no attack of a chunk writes to."""
    random = Random(f"tables {chunk}")
    span = random.choice((8, 25, 60))
    sizes = (random.choice((60, 250)), 50, 25, 12)
    return [write_random_table(random, f"random_{i}", home / f"random_{i}", rows, span) for i, rows in enumerate(sizes)]


def complaints(gate: Gate, attack: Attack, expected: list[Answer], found: list[Answer]) -> list[str]:
    """Return the seed, the steps, the query and the answers of a case where something is wrong."""
    failures = gate.failures
    if is_right(attack, expected, found) and not failures:
        return []
    failed = f"a query ran unfiltered: {failures[-1]}\n" if failures else ""
    answers = f"{found} with Headgate on, {expected} with it off"
    return [f"HEADGATE_SEED={attack.seed}\n{failed}{answers}\n{attack}\n{attack.query().sql()}\n{gate.report()}"]


def count(tally: Tally, gate: Gate, answers: list[Answer]) -> None:
    tally.ran += 1
    tally.failed += any(isinstance(answer, tuple) for answer in answers)
    if any(isinstance(answer, Counter) and next(iter(answer))[0] > 0 for answer in answers):
        tally.filtered += any(f.late or f.state == "applied" for report in gate.reports for f in report.filters)


def check_all(counts: Path, chunk: int, tally: Tally) -> None:
    """Leave a tally; the chunk that ends last judges all, where they are many.

    Filters that are rare, or empty answers, would prove little.
    """
    written = counts / f".{chunk}"
    written.write_text(f"{tally.ran} {tally.filtered} {tally.failed}")
    written.rename(counts / f"{chunk}")
    left = [tuple(map(int, path.read_text().split())) for path in counts.glob("[0-9]*")]
    ran, filtered, failed = (sum(column) for column in zip(*left, strict=True))
    if ran >= 200 and len(left) == len(CHUNKS):
        assert filtered >= ran / 3, f"only {filtered} of {ran} cases had a filter and found rows"
        assert failed <= 0.06 * ran, f"{failed} of {ran} cases ended with an error"
