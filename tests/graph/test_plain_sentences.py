"""Mistakes that a reader of docs/graph.md can make, and the sentence that each is answered with."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.errors import BadInput
from headgate.graph import Graph, cluster


@pytest.fixture(scope="module")
def payments(spark: SparkSession) -> DataFrame:
    rows = [(1, 2, 10, "paid"), (2, 3, 20, "paid"), (3, 1, 30, "owes"), (1, 4, 5, None)]
    return spark.createDataFrame(rows, "src bigint, dst bigint, amount int, kind string").coalesce(1)


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


# --- labels and conditions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda g: g.match("(a)-[:x]->(b)", {"a": 1}, {"y": "amount > 1"}), r"no column of labels, so \[:x\] means"),
        (
            lambda g: g.match("(a)-[:x]->(b)", {"a": 1}, {"x": "amount > 1", "y": "amount > 2"}),
            r"where has a condition for 'y', and the labels of the pattern are x: write the label into the pattern",
        ),
        (lambda g: g.match("(a)-->(b)", {"a": 1}, {"y": "amount > 2"}), r"'y', and the pattern has no labels"),
        (
            lambda g: g.match("(a)-->(b)", {"a": 1}, "a.amount > 2"),
            r"cannot be asked of an edge, whose columns are src, dst, amount, kind: \[UNRESOLVED_COLUMN",
        ),
        (lambda g: g.match("(a)-[:x]->(b)", {"a": 1}, {"x": "amoun > 2"}), r"whose columns are src, dst, amount"),
        (
            lambda g: g.match("(a)-->(b)", {"a": 1}, "amount >"),
            r"the condition .*amount >.* cannot be asked of an edge",
        ),
        (lambda g: g.match("(a)-->(b)", {"a": 1}, 3), r"the condition 3 is int; give SQL, a Column or one by label"),
        (lambda g: g.match("(a)-->(b)", [1]), r"start=\[1\] does not say which variable it is for"),
        (lambda g: g.expand([1], 1, where="amoun > 2"), r"the condition amoun > 2 cannot be asked of an edge"),
        (lambda g: g.expand([1], 1, where="amount >"), r"the condition amount > cannot be asked of an edge"),
        (lambda g: g.expand([1], 1, where="amount + 1"), r"cannot be asked of an edge.*BOOLEAN"),
        (lambda g: g.expand([1], 1, where=3), r"the condition 3 is int; give SQL or a Column"),
        (lambda g: g.shortest_path(1, 3, where=sf.col("amoun") > 2), r"cannot be asked of an edge"),
        (lambda g: g.shortest_path(1, 3, most_hops=-1), r"most_hops=-1 is not a number of hops; give 0 or more"),
        (lambda g: g.expand([1], "2"), r"hops='2' is not a number of hops; give 0 to 1000, or None"),
        (lambda g: g.expand([1], 2, most="3"), r"most='3' lets no vertex be reached"),
    ],
)
def test_conditions_and_labels(payments: DataFrame, ask: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        ask(Graph(payments))


def test_a_label_that_no_edge_has(payments: DataFrame) -> None:
    """Nothing matches, as in a table where no row has the value; a warning and the explanation say why."""
    graph = Graph(payments, label="Kind")
    said = "no edge has the label 'payd' in column 'kind'; its labels are owes, paid"
    with warnings.catch_warnings(record=True) as heard:  # older PySpark warns of its own sockets here, too
        warnings.simplefilter("always")
        found = graph.match("(a)-[:payd]->(b)-[:paid]->(c)", {"a": 1})
    assert [str(one.message) for one in heard if one.category is UserWarning] == [said]
    assert rows(found) == []
    assert graph.explain().endswith(said)
    assert rows(graph.match("(a)-[:owes]->(b)", {"a": 1})) == []  # there are such edges, and none from 1
    assert rows(graph.match("(a)-[:paid]->(b)-[:paid]->(c)", {"a": 1})) == [(1, 2, 3)]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_what_is_no_table(spark: SparkSession, payments: DataFrame, tmp_path: Path) -> None:
    payments.write.parquet(str(tmp_path / "edges"))
    stream = spark.readStream.schema(payments.schema).parquet(str(tmp_path / "edges"))
    with pytest.raises(BadInput, match=r"the edges are a stream, and a graph is a table that is read again and again"):
        Graph(stream)
    with pytest.raises(BadInput, match=r"the reverse edges are a stream"):
        Graph(payments, reverse=stream)
    with pytest.raises(BadInput, match=r"the edges are a stream"):
        cluster(stream, str(tmp_path / "new"))
    with pytest.raises(BadInput, match=r"the edges are str; give a DataFrame, such as spark.read.parquet"):
        Graph(str(tmp_path / "edges"))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"the vertices to start from are a stream"):
        Graph(payments).expand(stream.select("src"), 1)


def test_names_in_another_case(spark: SparkSession, payments: DataFrame, tmp_path: Path) -> None:
    """They are found as the session finds them; all operations, and both tables."""
    twin = payments.toDF("SRC", "Dst", "amount", "kind")
    graph = Graph(payments, "Src", "DST", reverse=twin, label="KIND")
    assert (graph.src, graph.dst) == ("src", "dst")
    assert rows(graph.expand([3], 2, "in")) == [(1, 2), (2, 1), (3, 0)]
    assert rows(graph.expand([1], 1, "both", result="edges").select("src", "dst")) == [(1, 2), (1, 4), (3, 1)]
    assert graph.shortest_path(1, 3) == [1, 2, 3]
    assert rows(graph.match("(a)-[:paid]->(b)", {"b": 3})) == [(2, 3)]
    assert rows(cluster(payments, str(tmp_path / "new"), "SRC", "dsT", files=1).expand([1], 1)) == [
        (1, 0),
        (2, 1),
        (4, 1),
    ]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(BadInput, match="no column 'Src'; their columns are src, dst, amount, kind"):
            Graph(payments, "Src")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_numbers_of_numpy_are_numbers(payments: DataFrame, tmp_path: Path) -> None:
    graph, two = Graph(payments), np.int64(2)
    assert rows(graph.expand(np.int64(1), two, most=np.int32(9))) == [(1, 0), (2, 1), (3, 2), (4, 1)]  # type: ignore[arg-type]
    assert len(rows(graph.expand([1], two, result="paths", most=np.int64(3)))) == 3  # type: ignore[arg-type]
    assert rows(graph.rings(1, np.int8(3))) == [(1, 2, 3)]  # type: ignore[arg-type]
    assert graph.shortest_path(1, 3, most_hops=two) == [1, 2, 3]  # type: ignore[arg-type]
    made = cluster(payments, str(tmp_path / "new"), files=np.int64(1), row_group_bytes=np.int64(100_000))  # type: ignore[arg-type]
    assert made.connected_to(1, 3)


def test_a_clustered_table_is_not_written_over(payments: DataFrame, tmp_path: Path) -> None:
    """Also where only the second table is there: nothing is begun."""
    home = tmp_path / "graph"
    (home / "by_dst").mkdir(parents=True)
    with pytest.raises(BadInput, match=r"graph/by_dst is there already, and is not written over: give another path"):
        cluster(payments, str(home), files=1)
    assert sorted(path.name for path in home.iterdir()) == ["by_dst"]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match=r"file is a file; give the path of a folder"):
        cluster(payments, str(tmp_path / "file"))
    with pytest.raises(BadInput, match=r"files=0 is no number of files"):
        cluster(payments, str(tmp_path / "new"), files=0)


def test_more_paths_may_be_asked_for(payments: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.graph.hops._PATHS", 4)
    graph = Graph(payments)
    with pytest.raises(BadInput, match=r"there are more than 4 paths: .*; take fewer hops, .*, or raise most=4$"):
        graph.expand([1, 2, 3], 2, result="paths")
    assert graph.expand([1, 2, 3], 2, result="paths", most=20).count() == 8
    monkeypatch.setattr("headgate.graph.hops._PATHS", 2)
    with pytest.raises(BadInput, match=r"reaches more than 2 vertices.*take fewer hops, or raise most=2$"):
        graph.expand([1, 2, 3], 2, result="paths")
