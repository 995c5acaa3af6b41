"""What cannot be a graph or a question is refused in a sentence; what explodes is stopped, and says how far it got."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.errors import BadInput
from headgate.graph import Graph, cluster
from tests.graph.graphs import Sample, drawn, sample


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(spark, tmp_path_factory.mktemp("few"), drawn("multigraph", 1, "small"))


def test_ends_that_are_no_ids(spark: SparkSession, made: Sample) -> None:
    edges = made.edges
    with pytest.raises(
        BadInput, match=r"the edges have no column 'from'; their columns are src, dst, w: name the ends"
    ):
        Graph(edges, src="from")
    texts = edges.selectExpr("cast(src as string) src", "dst")
    with pytest.raises(BadInput, match=r"column 'src' of the edges is string, and ids are whole numbers; make numbers"):
        Graph(texts)
    with pytest.raises(BadInput, match=r"'src' of the edges is string"):
        cluster(texts, "/nowhere")
    with pytest.raises(BadInput, match=r"the reverse edges have columns src, dst, and the edges src, dst, w: give two"):
        Graph(edges, reverse=edges.select("src", "dst"))
    with pytest.raises(BadInput, match=r"no column 'kind' for labels; their columns are src, dst, w"):
        Graph(edges, label="kind")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda g: g.expand([1], -1), r"hops=-1 is not a number of hops; give 0 to 1000, or None"),
        (lambda g: g.expand([1], True), r"hops=True is not"),
        (lambda g: g.expand([1], 2, "up"), r"direction='up' is not known; give out, in or both"),
        (lambda g: g.expand([1], 2, result="trees"), r"result='trees' is not known; ask for vertices, edges or paths"),
        (lambda g: g.expand([1], None, result="paths"), r"no end to paths without a number of hops; give one"),
        (lambda g: g.expand(["a"], 2), r"'a' is no vertex id"),
        (lambda g: g.expand([1], 2, most=0), r"most=0 lets no vertex be reached"),
        (lambda g: g.expand(g.edges, 1), r"the DataFrame of vertices has columns .*; select the one"),
        (lambda g: g.expand(g.edges.selectExpr("'x' v"), 1), r"column 'v' of the vertices is string"),
        (lambda g: g.expand(g.edges.select("src"), 1, most=3), r"more than most=3 vertices to start from"),
        (lambda g: g.neighbours_of_all([]), r"needs at least one vertex"),
        (lambda g: g.rings(1, 2, "both"), r"a ring of length 2 cannot be asked for; give a length from 3 to 12"),
        (lambda g: g.rings(1, 13), r"a ring of length 13 cannot be asked for; give a length from 2 to 12"),
        (lambda g: g.shortest_path([1, 2], 3), r"\[1, 2\] is not one vertex; give its id"),
        (lambda g: g.shortest_path(1, "b"), r"'b' is no vertex id"),
        (
            lambda g: g.match("(a)->(b)", {"a": 1}),
            r"cannot be read at '->\(b\)', where an edge should be; write it like",
        ),
        (lambda g: g.match("(a)-->", {"a": 1}), r"cannot be read at its end, where a vertex should be"),
        (lambda g: g.match("(a)-->(b),", {"a": 1}), r"cannot be read at its end, where a vertex should be"),
        (lambda g: g.match("(a)", {"a": 1}), r"the pattern '\(a\)' has no edge"),
        (lambda g: g.match("(a)<-->(b)", {"a": 1}), r"where an edge should be"),
        (lambda g: g.match("(a)-->(b)", {"c": 1}), r"start names c, but the pattern has a, b"),
        (lambda g: g.match("(a)-->(b), (c)-->(d)", {"a": 1}), r"nothing is known of the vertices of \(c\)-->\(d\)"),
        (lambda g: g.match("(a)-[:paid]->(b)", {"a": 1}), r"no column of labels, so \[:paid\] means nothing"),
    ],
)
def test_questions_without_an_answer(made: Sample, ask: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        ask(made.graph)


def test_a_result_needs_a_name_for_its_hops(made: Sample) -> None:
    graph = Graph(made.edges.withColumnRenamed("w", "hop"))
    with pytest.raises(BadInput, match="a column 'hop' already; rename it"):
        graph.expand([1], 1, result="edges")


def test_a_frontier_that_explodes_says_how_far_it_got(spark: SparkSession, tmp_path: Path) -> None:
    """A star: the second hop reaches everything. The job ends, and nothing of it comes to the driver."""
    spark.sql(
        "select 0L src, 1L dst union all select 1L, id from range(2, 60000, 1, 6) union all select 7L, 8L"
    ).write.parquet(str(tmp_path / "star"))
    graph = Graph(spark.read.parquet(str(tmp_path / "star")))
    with pytest.raises(BadInput) as caught:
        graph.expand([0], 3, most=500)
    told = str(caught.value)
    assert told.startswith("hop 2 of expand by 3 hops out reaches more than 500 vertices, or more than 64 MB of them")
    assert "tasks had ended; start from fewer vertices, take fewer hops, or raise most=500" in told
    first, second = graph.last.steps
    assert (first.reached, second.reached > 500) == (1, True)
    assert graph.expand([7], 3, most=500).count() == 2


def test_too_many_paths_are_refused(made: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.graph.hops._PATHS", 120)
    start = sorted(made.known)
    with pytest.raises(
        BadInput, match=r"there are more than 120 paths: \d+ of up to 1 hops, and too many of 2; take fewer"
    ):
        made.graph.expand(start, 4, result="paths")
