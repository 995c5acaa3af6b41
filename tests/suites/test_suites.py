"""The queries of TPC-H and TPC-DS give the same rows with every legal filter applied as with Spark alone.

A usual run takes a part of them. Compiling the code that Spark generates for them takes most of the time: every eighth
runs that way, the others are interpreted. HEADGATE_SUITES=all takes every query in every layout, with generated code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.session import Gate
from headgate.suites.data import tables
from headgate.suites.queries import suite_queries
from headgate.suites.runner import run_query
from tests.batch.differential import GENERATED, INTERPRETED, settings

SCALE = 0.01
LAYOUTS = ("clustered", "partitioned")
# the queries of one layout are not all those of the other
STEPS = {
    ("tpch", "clustered"): 5,
    ("tpch", "partitioned"): 11,
    ("tpcds", "clustered"): 16,
    ("tpcds", "partitioned"): 99,
}
WHOLE = os.environ.get("HEADGATE_SUITES") == "all"
QUERIES = {suite: suite_queries(suite) for suite in ("tpch", "tpcds")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of both suites are made once."""
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def session_of(spark: Any, home: Path) -> Iterator[Callable[[str, str], tuple[Any, Gate]]]:
    """One session for each suite and layout, its tables as views; when enabled every legal filter is applied."""
    found: dict[tuple[str, str], tuple[Any, Gate]] = {}

    def session_of(suite: str, layout: str) -> tuple[Any, Gate]:
        if (suite, layout) not in found:
            session = spark.newSession()
            session.conf.set("spark.sql.shuffle.partitions", "1")
            for table in sorted(tables(suite, SCALE, layout, home, tell=lambda _: None).iterdir()):
                if table.is_dir():
                    session.read.parquet(str(table)).createOrReplaceTempView(table.name)
            found[suite, layout] = (session, Gate(session, enabled=False, strategy="always"))
        return found[suite, layout]

    yield session_of
    for _, gate in found.values():
        gate.close()


def _chosen(suite: str, layout: str) -> list[str]:
    """All queries if HEADGATE_SUITES=all asks for them, otherwise every so many."""
    return list(QUERIES[suite])[:: 1 if WHOLE else STEPS[suite, layout]]


CASES = [
    # what shares tables also shares the process that makes them
    pytest.param(suite, layout, name, marks=pytest.mark.xdist_group(f"{suite} {layout}"))
    for suite in QUERIES
    for layout in LAYOUTS
    for name in _chosen(suite, layout)
]


def _generates(suite: str, name: str) -> bool:
    """Whether a query runs with generated code."""
    return WHOLE or list(QUERIES[suite]).index(name) % 8 == 0


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "layout", "name"), CASES)
def test_same_rows(session_of: Callable[[str, str], tuple[Any, Gate]], suite: str, layout: str, name: str) -> None:
    """The query runs, Headgate does not fail in it, and no row differs."""
    session, gate = session_of(suite, layout)

    with settings(session, **(GENERATED if _generates(suite, name) else INTERPRETED)):
        result = run_query(session, gate, name, QUERIES[suite][name], rounds=0)

    assert result.failed == ""
    assert result.differs == ""
    assert gate.failures == []


def test_the_suites_are_whole() -> None:
    """There are 22 queries of TPC-H and 99 of TPC-DS."""
    assert {suite: len(queries) for suite, queries in QUERIES.items()} == {"tpch": 22, "tpcds": 99}
