"""A table of edges as a graph whose operations read only what their frontiers need: `Graph`."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.numbers import whole
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.hops import PathsAsked, edges_frame, levels, paths_frame, vertices_frame
from headgate.graph.match import Matching
from headgate.graph.meet import Meeting, Ways, meet, path_of
from headgate.graph.pattern import read_pattern
from headgate.graph.rings import rings_frame
from headgate.graph.tables import Edges, EdgeTables, Meanings, Start, frontier_of, one_vertex
from headgate.graph.trace import Trace
from headgate.graph.walk import MOST, Walk, Where, most_of
from headgate.publish import Publisher

Direction = Literal["out", "in", "both"]
Result = Literal["vertices", "edges", "paths"]
_KEPT = 64  # publishers of frames that were returned; a frame whose publisher is gone reads the whole table


class Graph:
    """A graph over a DataFrame of edges: each row is an edge from ``src`` to ``dst``, and may have further columns.

    A table that takes sets of ids by itself, such as `headgate.read.LanceTable`, may stand for a DataFrame.

    ``reverse`` is the same edges in a table that is clustered by ``dst``, for steps against the edges. Ids are whole
    numbers; an edge with NULL at an end leads nowhere. Self loops, cycles and several edges between two vertices are
    all right, and a vertex without edges has no neighbours. ``last`` tells what the last operation read.

    A condition on edges, ``where``, is SQL or a Column. No step may reach more than ``most`` vertices.
    """

    def __init__(
        self,
        edges: Edges,
        src: str = "src",
        dst: str = "dst",
        reverse: Edges | None = None,
        label: str | None = None,
    ) -> None:
        self._tables = EdgeTables(edges, src, dst, reverse, label)
        self.edges = self._tables.edges
        self.src, self.dst = self._tables.sides["out"].start, self._tables.sides["out"].end
        self._kept: deque[Publisher] = deque(maxlen=_KEPT)
        self.last = Trace("nothing has been asked yet")

    def expand(
        self,
        start: Start,
        hops: int | None,
        direction: Direction = "out",
        result: Result = "vertices",
        where: Where = None,
        most: int | None = None,
    ) -> DataFrame:
        """Walk some hops from a set of vertices, or with None until nothing new is reached.

        The result is a DataFrame of ``vertices`` (vertex, and the hop at which it is first reached: 0 for the start),
        of the ``edges`` walked (all their columns, and hop), or of ``paths`` that visit no vertex twice (path, the
        vertices as a list, and hop, how many edges it has). There may be ``most`` of the vertices or paths; unless it
        is given, 100 million vertices or a million paths.
        """
        hops = (
            None
            if hops is None
            else _whole(hops, 0, 1000, "a number of hops; give 0 to 1000, or None to go on", "hops")
        )
        reached = most_of(MOST if most is None or result == "paths" else most)
        walk, sides = self._walk(f"expand by {hops} hops {direction}", reached), self._tables.toward(direction)
        begin = frontier_of(start, reached)
        if result == "vertices":
            return vertices_frame(self.edges.sparkSession, levels(walk, sides, begin, hops, where))
        if result not in ("edges", "paths"):
            raise BadInput(f"result={result!r} is not known; ask for vertices, edges or paths")
        if result == "edges" and self._tables.has("hop"):
            raise BadInput("the edges have a column 'hop' already; rename it, since the result adds one of that name")
        if hops is None and result == "paths":
            raise BadInput("there is no end to paths without a number of hops; give one")
        found = (
            levels(walk, sides, begin, None if hops is None else max(hops - 1, 0), where) if hops != 0 else [Frontier()]
        )
        if result == "edges":
            return edges_frame(walk, sides, found, where)
        return paths_frame(
            walk, PathsAsked(sides, begin, hops or 0, where, None if most is None else most_of(most)), found
        )

    def neighbours_of_all(
        self, vertices: Start, direction: Direction = "out", where: Where = None, most: int = MOST
    ) -> Frontier:
        """Return the vertices that are neighbours of each of the given ones."""
        wanted = frontier_of(vertices, most)
        if not len(wanted):
            raise BadInput("neighbours_of_all needs at least one vertex: each vertex is a neighbour of all of none")
        walk = self._walk(f"neighbours of all of {len(wanted):,} vertices {direction}", most)
        found = walk.step_from_each(self._tables.toward(direction), wanted, "neighbours of each", where)
        if len(found) < len(wanted):
            return Frontier()
        sets = sorted(found.values(), key=len)
        common = sets[0]
        for other in sets[1:]:
            common &= other
        return common

    def back_join(self, starts: Start, ends: Start, where: Where = None, most: int = MOST) -> DataFrame:
        """Return the edges that lead from one set of vertices to another: those that close a pattern."""
        walk = self._walk("back join", most)
        return walk.edges(self._tables.sides["out"], frontier_of(starts, most), where, frontier_of(ends, most))

    def triangles(self, vertex: int, direction: Direction = "out", where: Where = None, most: int = MOST) -> DataFrame:
        """Return the triangles through a vertex, as `rings` of length 3."""
        return self.rings(vertex, 3, direction, where, most)

    def rings(
        self, vertex: int, length: int, direction: Direction = "out", where: Where = None, most: int = MOST
    ) -> DataFrame:
        """Return the rings of some length through a vertex: columns v0 (the vertex), v1, …, no vertex twice in one.

        With direction "both" edges are walked either way, and each ring is given in one of its two directions.
        """
        shortest = 3 if direction == "both" else 2
        asked = whole(length)
        if asked is None or not shortest <= asked <= 12:
            raise BadInput(f"a ring of length {length!r} cannot be asked for; give a length from {shortest} to 12")
        length = asked
        walk = self._walk(f"rings of length {length} through {vertex}", most)
        ways = self._tables.ways(direction, where)
        return rings_frame(walk, ways, one_vertex(vertex), length, undirected=direction == "both")

    def shortest_path(
        self,
        a: int,
        b: int,
        direction: Direction = "out",
        where: Where = None,
        most: int = MOST,
        most_hops: int | None = None,
    ) -> list[int] | None:
        """Return a shortest path from one vertex to another as a list of vertices, or None if there is none."""
        walk, ways = self._walk(f"shortest path from {a} to {b}", most), self._tables.ways(direction, where)
        met = self._meeting(walk, ways, a, b, most_hops)
        return None if met is None else path_of(walk, ways, met)

    def connected_to(
        self,
        a: int,
        b: int,
        direction: Direction = "out",
        where: Where = None,
        most: int = MOST,
        most_hops: int | None = None,
    ) -> bool:
        """Whether a path leads from one vertex to another; each is connected to itself."""
        walk, ways = self._walk(f"whether {a} is connected to {b}", most), self._tables.ways(direction, where)
        return self._meeting(walk, ways, a, b, most_hops) is not None

    def match(
        self,
        pattern: str,
        start: Mapping[str, Start],
        where: Meanings | Where = None,
        most: int = MOST,
    ) -> DataFrame:
        """Return all places of a pattern such as ``(a)-[:paid]->(b)-[:paid]->(c), (c)-->(a)``, each once.

        The columns are the variables. ``start`` says which vertices some of them may be; two variables may be the same
        vertex. A label is a value of the graph's label column; ``where`` may name a further condition for it. In a
        graph without such a column a label is the name of a condition in ``where``.
        """
        read, walk = read_pattern(pattern), self._walk(f"match {pattern}", most)
        if not isinstance(start, Mapping):
            raise BadInput(
                f"start={start!r} does not say which variable it is for; give a mapping, such as {{'a': [1]}}"
            )
        ways = {edge: self._tables.ways_of(edge, where) for edge in read.edges}
        self._tables.check_meanings(read.edges, where)
        known = {name: frontier_of(vertices, most) for name, vertices in start.items()}
        matching = Matching(walk, read, ways.__getitem__, known)
        found = matching.frame()
        if matching.is_empty and (told := self._tables.unknown_labels(read.edges)):
            walk.trace.answer = told
            warnings.warn(told, stacklevel=2)
        return found

    def explain(self) -> str:
        """Tell what each step of the last operation published, reached and read."""
        return str(self.last)

    def advise(self) -> str:
        """Say in a sentence how the tables of the graph can be laid out better, or nothing if they are all right."""
        return self._tables.advice()

    def _meeting(self, walk: Walk, ways: Ways, a: int, b: int, most_hops: int | None) -> Meeting | None:
        if most_hops is not None:
            most_hops = _whole(most_hops, 0, 10**9, "a number of hops; give 0 or more, or None for any", "most_hops")
        met = meet(walk, ways, one_vertex(a), one_vertex(b), most_hops)
        walk.trace.answer = "no path was found" if met is None else f"the shortest path has {met.hops} hops"
        return met

    def _walk(self, operation: str, most: int) -> Walk:
        walk = Walk(operation, most, self._kept)
        self.last = walk.trace
        return walk


def expand(
    spark: SparkSession,
    seeds: Start,
    edges: Edges | str,
    src: str = "src",
    dst: str = "dst",
    hops: int | None = 3,
    direction: Direction = "out",
) -> DataFrame:
    """Return the vertices within some hops of the seeds, with the hop of each; ``edges`` is a table or its path."""
    table = spark.read.parquet(edges) if isinstance(edges, str) else edges
    return Graph(table, src, dst).expand(seeds, hops, direction)


def _whole(value: object, low: int, high: int, wanted: str, name: str) -> int:
    found = whole(value)
    if found is None or not low <= found <= high:
        raise BadInput(f"{name}={value!r} is not {wanted}")
    return found
