"""What an attack on the graph operations found: each case gave a wrong answer, or failed where it need not."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.errors import BadInput
from headgate.graph import Frontier, Graph, cluster, match
from headgate.graph.hops import _hop_of


def edges(spark: SparkSession, *pairs: tuple[int, int]) -> DataFrame:
    return spark.createDataFrame(list(pairs), "src long, dst long")


def test_dense_and_spread_ids_in_one_task(spark: SparkSession) -> None:
    """Writing bitmaps makes them smaller, and by then another form would be the smallest."""
    draw = random.Random(3)
    dense = [(start << 16) + i for start in (1, 5, 9) for i in range(4000)]
    spread = [(1 << 40) + 0x80] + [draw.randrange(1 << 41, 1 << 62) for _ in range(6000)]
    ids = [*dense, *spread]
    draw.shuffle(ids)
    made = edges(spark, *((1, vertex) for vertex in ids)).coalesce(1)
    assert sorted(row.vertex for row in Graph(made).expand(1, 1).collect()) == sorted({1, *ids})


def test_a_variable_that_looks_like_ours(spark: SparkSession) -> None:
    found = Graph(edges(spark, (1, 2), (2, 3))).match("(a)-->(_0)-->()", {"a": [1]})
    assert [tuple(row) for row in found.collect()] == [(1, 2)]


@pytest.mark.parametrize("name", ["hop", "Hop", "HOP"])
def test_a_column_hop_is_not_overwritten(spark: SparkSession, name: str) -> None:
    with pytest.raises(BadInput, match="the edges have a column 'hop' already"):
        Graph(edges(spark, (1, 2)).withColumn(name, sf.lit("keep"))).expand(1, 1, result="edges")


def test_edges_of_many_hops(spark: SparkSession) -> None:
    """A case for each of hundreds of hops, side by side and not one inside the other."""
    frame = edges(spark, *((i, i + 1) for i in range(3)))
    hop = _hop_of(frame, "src", [Frontier([i]) for i in range(600)])
    assert sorted(row.hop for row in frame.select(hop.alias("hop")).collect()) == [1, 2, 3]


def test_a_vertex_by_itself(spark: SparkSession) -> None:
    with pytest.raises(BadInput, match=r"no edge of the pattern '\(a\), \(b\)-->\(c\)' touches a; take it out"):
        Graph(edges(spark, (1, 2))).match("(a), (b)-->(c)", {"a": [7], "b": [1]})


def test_numbers_of_numpy() -> None:
    frontier = Frontier([3])
    assert np.int64(3) in frontier
    assert np.int32(4) not in frontier
    assert "3" not in frontier
    assert True not in Frontier([1])
    assert list(Frontier.of(np.array(5))) == [5]
    with pytest.raises(BadInput, match=r"an array of shape \(1, 2\) is no list of vertex ids"):
        Frontier.of(np.array([[1, 2]]))


def test_paths_that_visit_no_vertex_twice_are_counted(spark: SparkSession) -> None:
    """All paths of seven hops among eight vertices: what could follow is more than what does."""
    complete = edges(spark, *((a, b) for a in range(8) for b in range(8) if a != b))
    found = Graph(complete).expand(0, 7, result="paths")
    assert found.count() == sum(int(np.prod(range(8 - hops, 8))) for hops in range(1, 8))


def test_a_condition_that_names_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    """It holds for the edges alone; a table of reverse edges has columns of its own."""
    spark.sql("select 1L src, 2L dst, 5 w").write.parquet(str(tmp_path / "out"))
    spark.sql("select 1L src, 2L dst, 5 w").write.parquet(str(tmp_path / "back"))
    there, back = (spark.read.parquet(str(tmp_path / name)) for name in ("out", "back"))
    with pytest.raises(BadInput, match=r"names a column of another DataFrame, and in edges are read from a table"):
        Graph(there, reverse=back).expand(2, 1, "in", where=there["w"] > 3)
    assert Graph(there, reverse=back).expand(2, 1, "in", where=sf.col("w") > 3).count() == 2


def test_variables_that_differ_in_case(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Spark joins the pairs, to which such names are the same."""
    graph = Graph(edges(spark, (1, 2), (2, 3), (3, 3)))
    pattern = "(a)-->(A)-->(b), (b)-->(b)"
    expected = sorted(tuple(row) for row in graph.match(pattern, {"a": [1, 2]}).collect())
    monkeypatch.setattr(match, "_LOCAL", 0)
    joined = graph.match(pattern, {"a": [1, 2]})
    assert joined.columns == ["a", "A", "b"]
    assert sorted(tuple(row) for row in joined.collect()) == expected == [(1, 2, 3), (2, 3, 3)]


def test_both_tables_hold_the_same_edges(spark: SparkSession, tmp_path: Path) -> None:
    """Edges that are computed anew each time are computed once."""
    drawn = spark.range(50).selectExpr("id as src", "cast(rand() * 1000000 as bigint) as dst")
    made = cluster(drawn, str(tmp_path / "edges"), files=2)
    there, back = (spark.read.parquet(str(tmp_path / "edges" / name)) for name in ("by_src", "by_dst"))
    assert made.edges.count() == 50
    assert sorted(map(tuple, there.collect())) == sorted(map(tuple, back.select(*there.columns).collect()))


def test_a_path_over_edges_that_are_gone(spark: SparkSession, tmp_path: Path) -> None:
    """What was reached from both ends cannot be walked again: no path is made up."""
    out = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7)]
    edges(spark, *out).write.parquet(str(tmp_path / "out"))
    lacking = [(start, end) for start, end in out if end != 4]
    edges(spark, *lacking).write.parquet(str(tmp_path / "back"))
    there, back = (spark.read.parquet(str(tmp_path / name)) for name in ("out", "back"))
    with pytest.raises(BadInput, match=r"the edges at vertex \d are no longer what they were a moment ago"):
        Graph(there, reverse=back).shortest_path(1, 7)
