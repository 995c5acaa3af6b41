"""Others write while a query is planned: the answer is that of one snapshot of each table, before the write or after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import compress, product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.batch.changing_tables import ChangingTables, Rows, queries
from tests.batch.differential import INTERPRETED, Answer, enabled, evict_all, outcome, rows_of, settings
from tests.batch.moments import MOMENTS, once_at
from tests.batch.test_snapshots import LATE, NO_BROADCAST, WAITING, made

WRITES: dict[str, dict[str, list[tuple[int, int, int]]]] = {
    "dim": {"dim": [(55, 1, 5)]},
    "fact": {"fact": [(5, 1, 0), (75, 2, 7)]},
    "both": {"dim": [(300, 1, 30)], "fact": [(300, 1, 30)]},
}
MODES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "rows kept": (WAITING, {}),
    "rows not kept": (WAITING, NO_BROADCAST),
    "late": (LATE, NO_BROADCAST),
}


@pytest.fixture(scope="module")
def possible_answers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], list[Answer]]:
    """What plain Spark says with each table before and after its write, independently of one another."""
    told: dict[tuple[str, str], list[Answer]] = {}

    def answer(name: str, writes: list[tuple[str, Rows]]) -> Answer:
        with made(spark, tmp_path_factory.mktemp("off"), "catalog") as tables:
            for table, rows in writes:
                tables.insert(table, rows)
            return outcome(lambda: spark.sql(queries("catalog")[name]))

    def answers(name: str, written: str) -> list[Answer]:
        if (name, written) not in told:
            writes = WRITES[written].items()
            choices = product((False, True), repeat=len(writes))
            told[name, written] = [answer(name, list(compress(writes, chosen))) for chosen in choices]
        return told[name, written]

    return answers


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("written", WRITES)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.sampled(3)
def test_a_write_while_the_query_is_planned(
    spark: SparkSession,
    tmp_path: Path,
    possible_answers: Callable[[str, str], list[Answer]],
    moment: str,
    written: str,
    mode: str,
) -> None:
    """An INSERT in another thread is seen whole or not at all, by the query, by its second run, and by the next query."""
    options, configured = MODES[mode]
    writes = WRITES[written]
    with settings(spark, **INTERPRETED, **configured):
        for name in ("left", "anti") if written != "both" else ("left",):
            query = queries("catalog")[name]
            possible = possible_answers(name, written)
            with made(spark, tmp_path / name / "on", "catalog") as tables, enabled(spark, **options) as gate:

                def write(tables: ChangingTables = tables) -> None:
                    for table, rows in writes.items():
                        tables.insert(table, rows)

                frame = spark.sql(query)
                with once_at(moment, write) as done:
                    first = outcome(lambda f=frame: f)
                assert done, "nothing was written while the query was planned"
                again, after = outcome(lambda f=frame: f), outcome(lambda q=query: spark.sql(q))
                assert first in possible, f"{name}: {first} is none of {possible}"
                assert again in possible, f"{name}: {again} is none of {possible}"
                assert after == possible[-1]
                assert gate.failures == []


@pytest.mark.parametrize("rows_kept", [True, False], ids=["rows kept", "rows not kept"])
@pytest.mark.sampled(3)
def test_a_cache_that_is_evicted_after_the_build(spark: SparkSession, tmp_path: Path, rows_kept: bool) -> None:
    """A cache over a plan that gives other rows each time is no build side, unless its rows are kept: it may be evicted.

    Every row has its match, so a row without one was joined with what another computation of the cache left unread.
    """
    with made(spark, tmp_path, "path"):
        clock = "pmod(cast(reflect('java.lang.System', 'nanoTime') as bigint) div 1000, 80)"
        cached = spark.range(0, 3, 1, 1).selectExpr(f"cast({clock} as int) id").persist()
        evict = partial(evict_all, spark)
        cached.count()
        cached.createOrReplaceTempView("evicted")
        configured = {} if rows_kept else NO_BROADCAST
        moment = "when the plan is written" if rows_kept else "before the plan is written"
        query = "select e.id, f.v from evicted e left join live_fact f on f.k = e.id"
        try:
            with settings(spark, **INTERPRETED, **configured), enabled(spark, **WAITING) as gate:
                for _ in range(5):  # a clock may give matching rows by chance
                    with once_at(moment, evict):
                        rows = rows_of(spark.sql(query))
                    assert rows.total() == 3
                    assert not [row for row in rows if row[1] is None], f"{rows}\n{gate.report()}"
        finally:
            cached.unpersist(blocking=True)
            spark.catalog.dropTempView("evicted")
