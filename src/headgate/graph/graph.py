"""A table of edges as a graph whose operations read only what their frontiers need: `Graph`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

from pyspark.sql import DataFrame

from headgate.api import clustering
from headgate.catalyst.ids import collect_ids, quoted
from headgate.errors import BadInput
from headgate.graph.expand import edges_frame, levels, paths_frame, vertices_frame
from headgate.graph.frontier import Frontier
from headgate.graph.meet import Meeting, Ways, meet, path_of
from headgate.graph.rings import rings_frame
from headgate.graph.trace import Trace
from headgate.graph.walk import MOST, MOST_BYTES, Side, Walk, Where

Direction = Literal["out", "in", "both"]
Result = Literal["vertices", "edges", "paths"]
Start = Frontier | DataFrame | int | Iterable[int]
_WHOLE = ("tinyint", "smallint", "int", "bigint")


class Graph:
    """A graph over a DataFrame of edges: each row is an edge from ``src`` to ``dst``, and may have further columns.

    ``reverse`` is the same edges in a table that is clustered by ``dst``, for steps against the edges. Ids are whole
    numbers; an edge with NULL at an end leads nowhere. Self loops, cycles and several edges between two vertices are
    all right, and a vertex without edges has no neighbours. ``last`` tells what the last operation read.

    A condition on edges, ``where``, is SQL or a Column. No step may reach more than ``most`` vertices.
    """

    def __init__(self, edges: DataFrame, src: str = "src", dst: str = "dst", reverse: DataFrame | None = None) -> None:
        back = edges if reverse is None else reverse
        for frame, what in ((edges, "the edges"), (back, "the reverse edges")):
            for name in (src, dst):
                _check_column(frame, name, what)
        if set(edges.columns) != set(back.columns):
            raise BadInput(
                f"the edges have columns {edges.columns}, the reverse edges {back.columns}: give both the same"
            )
        self.edges, self.src, self.dst = edges, src, dst
        self._sides = {"out": Side("out", edges, src, dst), "in": Side("in", back, dst, src)}
        self._kept: deque[Walk] = deque(
            maxlen=64
        )  # frames that were returned are narrowed as long as their walk is here
        self.last = Trace("nothing has been asked yet")

    def expand(
        self,
        start: Start,
        hops: int | None,
        direction: Direction = "out",
        result: Result = "vertices",
        where: Where = None,
        most: int = MOST,
    ) -> DataFrame:
        """Walk some hops from a set of vertices, or with None until nothing new is reached.

        The result is a DataFrame of ``vertices`` (vertex, and the hop at which it is first reached: 0 for the start),
        of the ``edges`` walked (all their columns, and hop), or of ``paths`` that visit no vertex twice (path, the
        vertices as a list, and hop, how many edges it has).
        """
        if hops is not None and not _is_whole(hops, 0, 1000):
            raise BadInput(f"hops={hops!r} is not a number of hops; give 0 to 1000, or None to go on to the end")
        walk, sides = self._walk(f"expand by {hops} hops {direction}", most), self._toward(direction)
        begin = self._frontier(start, most)
        if result == "vertices":
            return vertices_frame(self.edges.sparkSession, levels(walk, sides, begin, hops, where))
        if result not in ("edges", "paths"):
            raise BadInput(f"result={result!r} is not known; ask for vertices, edges or paths")
        if result == "edges" and "hop" in self.edges.columns:
            raise BadInput("the edges have a column 'hop' already; rename it, since the result adds one of that name")
        if hops is None and result == "paths":
            raise BadInput("there is no end to paths without a number of hops; give one")
        found = (
            levels(walk, sides, begin, None if hops is None else max(hops - 1, 0), where) if hops != 0 else [Frontier()]
        )
        if result == "edges":
            return edges_frame(walk, sides, found, where)
        return paths_frame(walk, sides, begin, found, hops or 0, where)

    def neighbours_of_all(
        self, vertices: Start, direction: Direction = "out", where: Where = None, most: int = MOST
    ) -> Frontier:
        """Return the vertices that are neighbours of each of the given ones."""
        wanted = self._frontier(vertices, most)
        if not len(wanted):
            raise BadInput("neighbours_of_all needs at least one vertex: each vertex is a neighbour of all of none")
        walk = self._walk(f"neighbours of all of {len(wanted):,} vertices {direction}", most)
        found = walk.step_from_each(self._toward(direction), wanted, "neighbours of each", where)
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
        return walk.edges(self._sides["out"], self._frontier(starts, most), where, self._frontier(ends, most))

    def triangles(self, vertex: int, direction: Direction = "out", where: Where = None, most: int = MOST) -> DataFrame:
        """Return the triangles through a vertex, as `rings` of length 3."""
        return self.rings(vertex, 3, direction, where, most)

    def rings(
        self, vertex: int, length: int, direction: Direction = "out", where: Where = None, most: int = MOST
    ) -> DataFrame:
        """Return the rings of some length through a vertex: columns v0 (the vertex), v1, …, no vertex twice in one.

        With direction "both" edges are walked either way, and each ring is given in one of its two directions.
        """
        if not _is_whole(length, 3, 12):
            raise BadInput(f"a ring of length {length!r} cannot be asked for; give a length from 3 to 12")
        walk = self._walk(f"rings of length {length} through {vertex}", most)
        (at,) = self._one(vertex)
        return rings_frame(walk, self._ways(direction, where), at, length, undirected=direction == "both")

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
        walk, ways = self._walk(f"shortest path from {a} to {b}", most), self._ways(direction, where)
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
        walk, ways = self._walk(f"whether {a} is connected to {b}", most), self._ways(direction, where)
        return self._meeting(walk, ways, a, b, most_hops) is not None

    def explain(self) -> str:
        """Tell what each step of the last operation published, reached and read."""
        return str(self.last)

    def advise(self) -> str:
        """Say in a sentence how the tables of the graph can be laid out better, or nothing if they are all right."""
        for side in self._sides.values():
            found = clustering(side.frame, side.start)
            if not found.is_useful:
                why = found.why_not or f"an average row group overlaps {found.depth:.0%} of the others"
                return (
                    f"the table that steps {side.name} read is not clustered by {side.start} ({why}), so each step "
                    "reads most of it; write it anew with headgate.graph.cluster(edges, path)"
                )
        return ""

    def _meeting(self, walk: Walk, ways: Ways, a: int, b: int, most_hops: int | None) -> Meeting | None:
        (first,), (other,) = self._one(a), self._one(b)
        met = meet(walk, ways, first, other, most_hops)
        walk.trace.answer = "no path was found" if met is None else f"the shortest path has {met.hops} hops"
        return met

    def _walk(self, operation: str, most: int) -> Walk:
        walk = Walk(operation, most)
        self.last = walk.trace
        self._kept.append(walk)
        return walk

    def _ways(self, direction: str, where: Where) -> Ways:
        opposite = {"out": "in", "in": "out"}.get(direction, direction)
        return Ways(self._toward(direction), self._toward(opposite), where)

    def _toward(self, direction: str) -> list[Side]:
        if direction not in ("out", "in", "both"):
            raise BadInput(f"direction={direction!r} is not known; give out, in or both")
        return [self._sides[name] for name in (("out", "in") if direction == "both" else (direction,))]

    def _one(self, vertex: int) -> Frontier:
        found = Frontier.of(vertex)
        if len(found) != 1:
            raise BadInput(f"{vertex!r} is not one vertex; give its id")
        return found

    def _frontier(self, start: Start, most: int) -> Frontier:
        """Return vertices that were given in any form; the ids of a DataFrame are collected by a job."""
        if not isinstance(start, DataFrame):
            return Frontier.of(start)
        if len(start.columns) != 1:
            raise BadInput(f"the DataFrame of vertices has columns {start.columns}; select the one that has their ids")
        (name,) = start.columns
        _check_column(start, name, "the vertices")
        ids = start.selectExpr(f"cast({quoted(name)} as bigint)")
        what = "headgate.graph: the vertices to start from"
        found = collect_ids(ids, max_ids=most, max_bytes=MOST_BYTES, description=what)
        if not found.is_complete:
            raise BadInput(f"there are more than most={most:,} vertices to start from; give fewer, or raise most")
        return Frontier(found.sets[0]) if found.sets else Frontier()


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _check_column(frame: DataFrame, name: str, what: str) -> None:
    types = dict(frame.dtypes)
    if name not in types:
        raise BadInput(
            f"{what} have no column {name!r}; their columns are {', '.join(types)}: name the ends with src and dst"
        )
    if types[name] not in _WHOLE:
        raise BadInput(
            f"column {name!r} of {what} is {types[name]}, and ids are whole numbers; make numbers of it first, for "
            f"example with xxhash64({name}) or a join with a table of names"
        )
