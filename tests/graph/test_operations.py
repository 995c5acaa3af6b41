"""Every operation gives what networkx gives, on random graphs of every kind, with ids all over 64 bits."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from headgate.graph import Frontier, expand
from tests.graph.graphs import IDS, KINDS, Sample, drawn, sample

# no shrinking: a smaller graph takes as long as a large one, and the seed repeats it
FEW = settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
UNKNOWN = 987_654_321
NOT_HEAVY = "w < 6"


def view(known: Any, direction: str, *, light: bool = False) -> Any:
    """Return the graph as an operation walks it."""
    edges = [(a, b) for a, b, w in known.edges(data="weight") if not light or w < 6]
    made = nx.Graph() if direction == "both" else nx.DiGraph()
    made.add_nodes_from(known)
    made.add_edges_from(edges if direction != "in" else [(b, a) for a, b in edges])
    return made


def reached(known: Any, start: list[int], hops: int | None) -> dict[int, int]:
    """Return the distance of each vertex within some hops from the nearest start."""
    inside = {vertex for vertex in start if vertex in known}
    found = nx.multi_source_dijkstra_path_length(known, inside, cutoff=hops) if inside else {}
    return {**dict.fromkeys(start, 0), **{vertex: int(hop) for vertex, hop in found.items()}}


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10**9))
@FEW
def test_all_operations(spark: SparkSession, kind: str, seed: int) -> None:
    """One graph for all of them: a table costs more than a query. The seed repeats a failure."""
    rng = random.Random(seed)
    with TemporaryDirectory() as folder:
        made = sample(spark, Path(folder), drawn(kind, seed, rng.choice(list(IDS))), twin=rng.random() < 0.7)
        vertices = sorted(made.known)
        for check in (check_expand, check_edges, check_paths, check_rings, check_neighbours, check_path):
            direction, light = rng.choice(["out", "in", "both"]), rng.random() < 0.4
            check(made, rng, rng.sample([*vertices, UNKNOWN], rng.randrange(4)), direction, light=light)


def check_expand(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    hops = rng.choice([0, 1, 2, 3, None])
    found = made.graph.expand(start, hops, direction, where=NOT_HEAVY if light else None)
    rows = [tuple(row) for row in found.collect()]
    assert dict(rows) == reached(view(made.known, direction, light=light), start, hops)
    assert len(rows) == len(dict(rows))


def check_edges(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    """Each row of the table is walked once, at the hop after its nearer end is reached."""
    hops = rng.randrange(4)
    near = reached(view(made.known, direction, light=light), start, hops - 1) if hops else {}
    expected = []
    for a, b, w in made.known.edges(data="weight"):
        ends = {"out": [a], "in": [b], "both": [a, b]}[direction]
        hop = min((near[end] + 1 for end in ends if end in near), default=None)
        if hop is not None and (not light or w < 6):
            expected.append((a, b, w, hop))
    found = made.graph.expand(start, hops, direction, "edges", where=NOT_HEAVY if light else None)
    assert found.columns == ["src", "dst", "w", "hop"]
    assert sorted(tuple(row) for row in found.collect()) == sorted(expected)


def check_paths(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    hops = rng.randrange(1, 4)
    known = view(made.known, direction, light=light)
    expected = [
        path for at in start if at in known for path in nx.all_simple_paths(known, at, set(known) - {at}, cutoff=hops)
    ]
    found = made.graph.expand(start, hops, direction, "paths", where=NOT_HEAVY if light else None)
    assert sorted((row.path, row.hop) for row in found.collect()) == sorted((path, len(path) - 1) for path in expected)


def check_rings(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    at, length = max(made.known, key=made.known.degree), rng.randrange(3 if direction == "both" else 2, 6)
    known = view(made.known, direction, light=light)
    cycles = nx.simple_cycles(known, length_bound=length)
    expected = set()
    for cycle in cycles:
        if len(cycle) == length and at in cycle:
            turned = cycle[cycle.index(at) :] + cycle[: cycle.index(at)]
            back = [at, *reversed(turned[1:])]
            expected.add(tuple(min(turned, back) if direction == "both" else turned))
    found = made.graph.rings(at, length, direction, where=NOT_HEAVY if light else None)
    assert sorted(tuple(row) for row in found.collect()) == sorted(expected)


def check_neighbours(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    """Those of vertices that have one in common, and of any others."""
    known = view(made.known, direction, light=light)
    hub = max(known, key=known.degree)
    for vertices in ([*known.reverse()[hub]][:3] if direction != "both" else [*known[hub]][:3], [hub, *start]):
        if vertices:
            sets = [set(known[vertex]) if vertex in known else set() for vertex in vertices]
            found = made.graph.neighbours_of_all(vertices, direction, NOT_HEAVY if light else None)
            assert set(found) == set.intersection(*sets)


def check_path(made: Sample, rng: Random, start: list[int], direction: Any, *, light: bool) -> None:
    a, b = rng.choice(sorted(made.known)), rng.choice([*made.known, *start])
    known = view(made.known, direction, light=light)
    where = NOT_HEAVY if light else None
    found = made.graph.shortest_path(a, b, direction, where)
    is_there = b in known and nx.has_path(known, a, b)
    if not is_there:
        assert found is None
        return
    assert found is not None
    assert (found[0], found[-1]) == (a, b)
    assert len(found) - 1 == nx.shortest_path_length(known, a, b)
    assert all(known.has_edge(*pair) for pair in pairwise(found))


@pytest.fixture(scope="module")
def blocks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(spark, tmp_path_factory.mktemp("blocks"), drawn("blocks", 3, "negative"))


def test_expanding_is_a_chain_of_joins(spark: SparkSession, blocks: Sample) -> None:
    """What plain Spark gives for the same question."""
    start, edges = [-20, -11, 3], blocks.edges.select(sf.col("src").alias("from"), sf.col("dst").alias("to"))
    level = spark.createDataFrame([(at,) for at in start], "vertex long")
    expected = {row.vertex: 0 for row in level.collect()}
    for hop in (1, 2, 3):
        level = level.join(edges, sf.col("vertex") == sf.col("from")).where("to is not null")
        level = level.select(sf.col("to").alias("vertex"))
        for row in level.distinct().collect():
            expected.setdefault(row.vertex, hop)
    assert {row.vertex: row.hop for row in blocks.graph.expand(start, 3).collect()} == expected


def test_vertices_too_many_for_the_driver_are_rows_of_bitmaps(blocks: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sorted(blocks.graph.expand([-20, 3], 3).collect())
    monkeypatch.setattr("headgate.graph.hops._LISTED", 1)
    assert sorted(blocks.graph.expand([-20, 3], 3).collect()) == expected


def test_one_question_needs_no_graph(spark: SparkSession, blocks: Sample) -> None:
    (path,) = {file.rpartition("/")[0] for file in blocks.edges.inputFiles()}
    expected = sorted(blocks.graph.expand([-20, 3], 2).collect())
    assert sorted(expand(spark, [-20, 3], path, hops=2).collect()) == expected
    assert sorted(expand(spark, [-20, 3], blocks.edges, hops=2).collect()) == expected


def test_from_everywhere_and_from_nowhere(spark: SparkSession, blocks: Sample) -> None:
    everywhere = sorted(blocks.known)
    assert blocks.graph.expand(everywhere, 2).where("hop > 0").count() == 0
    assert blocks.graph.expand(everywhere, 1, result="edges").count() == blocks.known.number_of_edges()
    assert blocks.graph.expand([], 2).count() == 0
    assert blocks.graph.last.steps == []
    assert blocks.graph.expand([], 2, result="edges").count() == 0
    assert blocks.graph.expand([], 2, result="paths").count() == 0


def test_vertices_may_come_from_a_frame(spark: SparkSession, blocks: Sample) -> None:
    """Seeds from a table, of another type of whole numbers, with NULLs and repeats."""
    seeds = spark.sql("select cast(id as smallint) s from values (-20), (-20), (null), (3) as t(id)")
    expected = sorted(blocks.graph.expand([-20, 3], 2).collect())
    assert sorted(blocks.graph.expand(seeds, 2).collect()) == expected


def test_a_step_reads_only_the_row_groups_of_its_frontier(blocks: Sample) -> None:
    """One vertex of a sorted table is in one row group or two; the trace says so, and what was published."""
    blocks.graph.expand([-20], 2)
    first, second = blocks.graph.last.steps
    assert (first.row_groups_total, first.files_total) == (8, 4)
    assert first.row_groups_read <= 2
    assert [str(one) for one in first.publications] == ["src: 1"]
    assert second.publications[0].vertices == first.reached
    table = blocks.graph.explain().splitlines()
    assert table[0] == "expand by 2 hops out"
    assert table[2].startswith("hop 1  src: 1 ")
    assert f"{first.row_groups_read} of 8" in table[2]


def test_steps_against_the_edges_read_the_twin(spark: SparkSession, blocks: Sample) -> None:
    blocks.graph.expand([-20], 1, "in")
    (step,) = blocks.graph.last.steps
    assert 0 < step.row_groups_read <= 2
    blocks.graph.expand([-20], 1, "both")
    (step,) = blocks.graph.last.steps
    assert (step.row_groups_total, len(step.publications)) == (16, 2)


def test_edges_that_close_a_pattern(blocks: Sample) -> None:
    """Both ends are published to one scan; rows are those of the table."""
    near = [e for e in blocks.known.edges(data="weight") if e[2] > 2][:5]  # which there are is for networkx to draw
    starts, ends = [*range(-20, -10), *(e[0] for e in near)], [*range(10), *(e[1] for e in near)]
    found = blocks.graph.back_join(starts, ends, "w > 2")
    expected = [e for e in blocks.known.edges(data="weight") if e[0] in starts and e[1] in ends and e[2] > 2]
    assert expected
    assert sorted(tuple(row) for row in found.collect()) == sorted(expected)


def test_frames_keep_their_own_frontiers(blocks: Sample) -> None:
    """A frame that is run after other operations still has the edges it was made for."""
    frames = {at: blocks.graph.expand([at], 1, result="edges") for at in sorted(blocks.known)[:5]}
    blocks.graph.expand([3], 3)
    for at, frame in frames.items():
        assert frame.count() == blocks.known.out_degree(at)


def test_rings_too_many_for_the_driver_are_joined_by_spark(blocks: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    at = max(blocks.known, key=blocks.known.degree)
    asked: list[tuple[int, Any]] = [(3, "both"), (4, "out")]
    expected = [sorted(blocks.graph.rings(at, *how).collect()) for how in asked]
    assert all(expected)
    monkeypatch.setattr("headgate.graph.rings._LOCAL", 1)
    assert [sorted(blocks.graph.rings(at, *how).collect()) for how in asked] == expected


def test_each_join_of_a_ring_reads_its_own_row_groups(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vertices of the ring lie in four files: a frame that is narrowed for another place of it would be empty."""
    ring = [(0, 1000, 1), (1000, 2000, 1), (2000, 3000, 1), (3000, 0, 1)]
    far = sample(spark, tmp_path, [*ring, *((i, 10**6 + i, 1) for i in range(0, 4000, 10))])
    monkeypatch.setattr("headgate.graph.rings._LOCAL", 0)
    assert [tuple(row) for row in far.graph.rings(0, 4).collect()] == [(0, 1000, 2000, 3000)]


def test_answers_are_the_same_without_headgate(spark: SparkSession, blocks: Sample) -> None:
    """Publications only spare reading: where nothing is pruned, the row test alone gives the answer."""
    rows = sorted(blocks.graph.expand([-20, 3], 2, "both").collect())
    spark.conf.set("spark.headgate.strategy", "never")
    try:
        assert sorted(blocks.graph.expand([-20, 3], 2, "both").collect()) == rows
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_one_vertex_is_connected_to_itself(blocks: Sample) -> None:
    assert blocks.graph.shortest_path(UNKNOWN, UNKNOWN) == [UNKNOWN]
    assert blocks.graph.connected_to(3, 3)
    assert not blocks.graph.connected_to(3, UNKNOWN)
    assert blocks.graph.last.answer == "no path was found"


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_distances_odd_and_even(blocks: Sample, length: int) -> None:
    """Both frontiers go on at once; where they meet halfway, only one of the two steps counts."""
    known = view(blocks.known, "out")
    a, b = next(
        (a, b) for a, there in nx.all_pairs_shortest_path_length(known) for b, n in there.items() if n == length
    )
    found = blocks.graph.shortest_path(a, b)
    assert found is not None
    assert len(found) == length + 1
    assert blocks.graph.last.answer == f"the shortest path has {length} hops"


def test_hops_may_be_bounded(blocks: Sample) -> None:
    known = view(blocks.known, "out")
    a, b, length = next(
        (a, b, n) for a, there in nx.all_pairs_shortest_path_length(known) for b, n in there.items() if n == 4
    )
    assert blocks.graph.connected_to(a, b, most_hops=length)
    assert blocks.graph.last.answer == "the shortest path has 4 hops"
    assert not blocks.graph.connected_to(a, b, most_hops=length - 1)
    assert Frontier(blocks.graph.shortest_path(a, b) or []) & Frontier([a, b]) == Frontier([a, b])
