"""Patterns are read, and their places found: as plain joins of the edges find them, each once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.errors import BadInput
from headgate.graph import Graph
from headgate.graph.pattern import PatternEdge, read_pattern
from tests.graph.graphs import Sample, drawn, sample


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    found = sample(spark, tmp_path_factory.mktemp("match"), drawn("multigraph", 5, "negative"))
    found.edges.createOrReplaceTempView("matched_edges")
    return found


def joined(spark: SparkSession, text: str, bound: dict[str, list[int]]) -> list[tuple[int, ...]]:
    """Return what plain Spark finds for a pattern without labels."""
    pattern = read_pattern(text)
    sides: list[str] = []
    seen: dict[str, str] = {}
    conditions = []
    for i, edge in enumerate(pattern.edges):
        either = "select src, dst from matched_edges where src is not null and dst is not null"
        if not edge.directed:
            either += " union select dst, src from matched_edges where src is not null and dst is not null"
        sides.append(f"({either}) e{i}")
        for end, column in ((edge.start, f"e{i}.src"), (edge.end, f"e{i}.dst")):
            if end in seen:
                conditions.append(f"{seen[end]} = {column}")
            else:
                seen[end] = column
    conditions += [f"{seen[name]} in ({', '.join(map(str, ids))})" for name, ids in bound.items()]
    columns = ", ".join(f"{seen[name]} as {name}" for name in pattern.variables)
    frame = spark.sql(f"select distinct {columns} from {', '.join(sides)} where {' and '.join(conditions)}")
    return sorted(tuple(row) for row in frame.collect())


PATTERNS = [
    "(a)-->(b)",
    "(a)-->(b)-->(c), (c)-->(a)",
    "(a)-->(b)<--(c)",
    "(a)--(b)-->(c), (b)-->(d)",
    "(a)-->(b)-->(c)-->(d), (d)-->(a)",
    "(a)-->()-->(b)",
    "(a)-->(b), (c)-->(d)",
    "(a)-->(a), (a)-->(b)",
    "(a)-->(b), (b)-->(a), (b)-->(c), (c)--(a)",
]


@pytest.mark.parametrize("text", PATTERNS)
def test_a_pattern_is_a_join(spark: SparkSession, made: Sample, text: str) -> None:
    rng = random.Random(text)
    vertices = sorted(made.known)
    bound = {"a": [5 - 20, 7 - 20, *rng.sample(vertices, 6)]}
    if "(c)-->(d)" in text and "(b), (c)" in text:
        bound["d"] = rng.sample(vertices, 4)
    found = made.graph.match(text, bound)
    assert found.columns == list(read_pattern(text).variables)
    assert sorted(tuple(row) for row in found.collect()) == joined(spark, text, bound)


@pytest.mark.parametrize("text", ["(a)-->(b)-->(c), (c)-->(a)", "(a)-->(a), (a)-->(b)", "(a)-->()-->(b)"])
def test_matches_too_many_for_the_driver_are_joined_by_spark(
    spark: SparkSession, made: Sample, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.graph.match._LOCAL", 1)
    bound = {"a": sorted(made.known)}
    rows = joined(spark, text, bound)
    assert len(rows) > 1
    assert sorted(tuple(row) for row in made.graph.match(text, bound).collect()) == rows


def test_what_is_known_is_published_forwards_and_backwards(made: Sample) -> None:
    """From both ends of a chain: the middle is published to both scans, and then both ends are cut by it."""
    at = max(made.known, key=made.known.out_degree)
    end = next(b for a in made.known.successors(at) for b in made.known.successors(a))
    made.graph.match("(a)-->(b)-->(c)", {"a": [at], "c": [end, 10**6]})
    told = [(step.what, [str(one) for one in step.publications]) for step in made.graph.last.steps]
    assert told[0] == ("(a)-->(b) by a", ["src: 1"])
    assert told[1][0] == "(b)-->(c) by c"
    assert told[1][1][0] == "dst: 2"
    assert told[1][1][1].startswith("src: ")
    assert "(b)-->(c) by b" in [what for what, _ in told]
    second = made.graph.explain().splitlines()[2]
    assert second.split()[:5] == ["(a)-->(b)", "by", "a", "src:", "1"]


def test_labels_are_values_of_a_column_or_names_of_conditions(
    spark: SparkSession, made: Sample, tmp_path: Path
) -> None:
    marked: DataFrame = made.edges.selectExpr("src", "dst", "w", "if(w % 2 = 0, 'paid', 'knows') as kind")
    graph = Graph(marked, label="kind")
    bound = {"a": sorted(made.known)}
    pairs = {(a, b) for a, b, w in made.known.edges(data="weight") if w % 2 == 0}
    assert {tuple(row) for row in graph.match("(a)-[:paid]->(b)", bound).collect()} == pairs
    heavy = {(a, b) for a, b, w in made.known.edges(data="weight") if w % 2 == 0 and w > 4}
    assert {tuple(row) for row in graph.match("(a)-[:paid]->(b)", bound, {"paid": "w > 4"}).collect()} == heavy
    found = made.graph.match("(a)-[:big]->(b)", bound, {"big": "w > 4"})
    assert {tuple(row) for row in found.collect()} == {(a, b) for a, b, w in made.known.edges(data="weight") if w > 4}
    found = made.graph.match("(a)-->(b)", bound, "w > 4")
    assert {tuple(row) for row in found.collect()} == {(a, b) for a, b, w in made.known.edges(data="weight") if w > 4}


def test_nothing_matches(made: Sample) -> None:
    assert made.graph.match("(a)-->(b)-->(c)", {"a": [10**9]}).count() == 0
    assert made.graph.match("(a)-->(b)-->(c)", {"a": []}).columns == ["a", "b", "c"]


def test_patterns_are_read() -> None:
    found = read_pattern(" (a) -[:paid]-> ( b )<--(c), (c)-[ : x ]-(a), (c)-->() ")
    assert found.variables == ("a", "b", "c")
    assert found.edges == (
        PatternEdge("a", "b", "paid"),
        PatternEdge("c", "b"),
        PatternEdge("c", "a", "x", directed=False),
        PatternEdge("c", " 0"),
    )
    assert [str(edge) for edge in found.edges] == ["(a)-[:paid]->(b)", "(c)-->(b)", "(c)-[:x]-(a)", "(c)-->()"]
    with pytest.raises(BadInput, match="where an edge should be"):
        read_pattern("(a)(b)")
