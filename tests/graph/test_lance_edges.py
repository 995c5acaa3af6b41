"""A graph whose edges are a Lance table gives what one over a DataFrame gives, and reads less by Lance's counters."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.errors import BadInput
from headgate.graph import Graph
from headgate.read import LanceTable
from tests.graph.graphs import Sample, drawn, sample
from tests.graph.test_operations import (
    UNKNOWN,
    check_edges,
    check_expand,
    check_neighbours,
    check_path,
    check_paths,
    check_rings,
)
from tests.read.lances import Kind, Row, edges_table, write

CHECKS = (check_expand, check_edges, check_paths, check_rings, check_neighbours, check_path)
CHAIN: list[Row] = [(i // 3, i // 3 + 1 + i % 3, i % 7) for i in range(6000)]


def over_lance(spark: SparkSession, path: Path, rows: list[Row], *, indexed: bool) -> Graph:
    made = write(path, edges_table(rows), Kind(stable=True, indexed=indexed, changed=False))
    if indexed:
        made.create_scalar_index("dst", "BTREE")
    return Graph(LanceTable(spark, str(path)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "ids", "indexed"), [("multigraph", "wide", True), ("blocks", "negative", False)])
def test_all_operations(spark: SparkSession, tmp_path: Path, kind: str, ids: str, indexed: bool) -> None:
    edges = drawn(kind, 11, ids)
    known = sample(spark, tmp_path, edges)
    rows: list[Row] = [*edges, (None, edges[0][1], 1), (edges[0][0], None, 1)]
    made = Sample(over_lance(spark, tmp_path / "lance", rows, indexed=indexed), known.edges, known.known)
    rng = random.Random(5)
    for number, check in enumerate(CHECKS):
        start = rng.sample([*sorted(made.known), UNKNOWN], 2)
        check(made, rng, start, ("out", "in", "both")[number % 3], light=number % 2 == 0)


def test_off_and_on_are_equal(spark: SparkSession, tmp_path: Path) -> None:
    """Off: the same table as a DataFrame, which reads all rows in each step."""
    on = over_lance(spark, tmp_path / "t", CHAIN, indexed=True)
    off = Graph(on.edges)
    for ask in (
        lambda graph: graph.expand([5, 700], 2, "both", result="edges", where="w < 5"),
        lambda graph: graph.back_join(range(100, 120), range(110, 130)),
        lambda graph: graph.match("(a)-->(b)-->(c), (a)-->(c)", start={"a": [50, 60]}),
    ):
        assert sorted(ask(on).collect()) == sorted(ask(off).collect())
        assert ask(on).count() > 0


def test_a_step_reads_the_rows_of_its_frontier(spark: SparkSession, tmp_path: Path) -> None:
    graph = over_lance(spark, tmp_path / "t", CHAIN, indexed=True)
    assert sorted(row.vertex for row in graph.expand([10], 2).collect()) == list(range(10, 17))
    first, second = graph.last.steps
    assert first.rows_total == second.rows_total == 6000
    # each edge twice: once to be found, once to be read
    assert (first.rows_read, second.rows_read) == (2 * 3, 2 * 9)
    assert (first.files_read, first.files_total) == (1, 3)
    assert "6 of 6,000 rows" in graph.explain()
    assert graph.advise() == ""


def test_without_an_index_the_ids_are_tested_and_the_edges_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    graph = over_lance(spark, tmp_path / "t", CHAIN, indexed=False)
    graph.expand([10], 1)
    (step,) = graph.last.steps
    assert step.rows_read == 6000 + 3
    assert "are in no index of src" in graph.advise()


def test_ends_that_are_no_ids(spark: SparkSession, tmp_path: Path) -> None:
    made = edges_table([(1, 2, 3)])
    write(tmp_path / "t", made.set_column(1, "dst", [["a"]]), Kind(stable=False, indexed=False, changed=False))
    with pytest.raises(BadInput, match=r"column 'dst' of the edges is string, and ids are whole numbers"):
        Graph(LanceTable(spark, str(tmp_path / "t")))
    with pytest.raises(BadInput, match=r"column 'dst' of version 1 of .* is string, and ids are whole numbers; name"):
        LanceTable(spark, str(tmp_path / "t")).read(ids={"dst": [1]})
