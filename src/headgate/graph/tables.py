"""The tables of a graph: which of them is read for which step, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from headgate.api import clustering
from headgate.catalyst.ids import collect_ids
from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.meet import Ways
from headgate.graph.pattern import PatternEdge
from headgate.graph.sources import EdgeSource
from headgate.graph.walk import MOST_BYTES, Side, Where

Edges = DataFrame | EdgeSource
Start = Frontier | DataFrame | int | Iterable[int]
Meanings = Mapping[str, str | Column]
_WHOLE = ("tinyint", "smallint", "int", "bigint")


class EdgeTables:
    """The edges of a graph, and perhaps the same edges again in a table for steps against them."""

    def __init__(self, table: Edges, src: str, dst: str, reverse: Edges | None, label: str | None) -> None:
        edges, source = _frame_and_source(table)
        back, back_source = (edges, source) if reverse is None else _frame_and_source(reverse)
        for frame, what in ((edges, "the edges"), (back, "the reverse edges")):
            for name in (src, dst):
                _check_column(frame, name, what)
        if set(edges.dtypes) != set(back.dtypes):
            raise BadInput(
                f"the reverse edges have columns {', '.join(back.columns)}, and the edges {', '.join(edges.columns)}: "
                "give two tables of the same rows, with the same types"
            )
        if label is not None and label not in edges.columns:
            known = ", ".join(edges.columns)
            raise BadInput(f"the edges have no column {label!r} for labels; their columns are {known}")
        self.label = label
        self.edges = edges
        self.sides = {"out": Side("out", edges, src, dst, source), "in": Side("in", back, dst, src, back_source)}

    def has(self, name: str) -> bool:
        """Whether the edges have a column of this name, as the session compares names."""
        frame = self.sides["out"].frame
        if str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true":
            return name in frame.columns
        return name.lower() in {column.lower() for column in frame.columns}

    def toward(self, direction: str) -> list[Side]:
        """Return the sides that steps in a direction read."""
        if direction not in ("out", "in", "both"):
            raise BadInput(f"direction={direction!r} is not known; give out, in or both")
        return [self.sides[name] for name in (("out", "in") if direction == "both" else (direction,))]

    def ways(self, direction: str, where: Where) -> Ways:
        """Return the sides for steps in a direction, and for steps back."""
        opposite = {"out": "in", "in": "out"}.get(direction, direction)
        return Ways(self.toward(direction), self.toward(opposite), where)

    def ways_of(self, edge: PatternEdge, where: Meanings | Where) -> Ways:
        """Return how an edge of a pattern is walked, under the conditions that its label stands for."""
        meanings: Meanings = where if isinstance(where, Mapping) else {}
        conditions = [] if where is None or isinstance(where, Mapping) else [where]
        if edge.label and self.label is None and edge.label not in meanings:
            raise BadInput(
                f"the graph has no column of labels, so [:{edge.label}] means nothing; leave it out, name the column "
                f"with Graph(..., label=...), or say what it means with where={{{edge.label!r}: 'amount > 0'}}"
            )
        if edge.label in meanings:
            conditions.append(meanings[edge.label])
        if edge.label and self.label is not None:
            conditions.append(sf.col(quoted(self.label)) == sf.lit(edge.label))
        columns = [sf.expr(one) if isinstance(one, str) else one for one in conditions]
        return self.ways("out" if edge.directed else "both", reduce(Column.__and__, columns) if columns else None)

    def advice(self) -> str:
        """Say in a sentence how the tables can be laid out better, or nothing if they are all right."""
        for side in self.sides.values():
            if side.source is not None:
                if told := side.source.advice(side.start):
                    return told
                continue
            found = clustering(side.frame, side.start)
            if not found.is_useful:
                why = found.why_not or f"an average row group overlaps {found.depth:.0%} of the others"
                return (
                    f"the table that steps {side.name} read is not clustered by {side.start} ({why}), so each step "
                    "reads most of it; write it anew with headgate.graph.cluster(edges, path)"
                )
        return ""


def frontier_of(start: Start, most: int) -> Frontier:
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


def one_vertex(vertex: int) -> int:
    """Return the id of one vertex, as it was given."""
    found = Frontier.of(vertex)
    if len(found) != 1:
        raise BadInput(f"{vertex!r} is not one vertex; give its id")
    return found.ends()[0]


def _frame_and_source(edges: Edges) -> tuple[DataFrame, EdgeSource | None]:
    return (edges, None) if isinstance(edges, DataFrame) else (edges.frame, edges)


def _check_column(frame: DataFrame, name: str, what: str) -> None:
    types = dict(frame.dtypes)
    if name not in types:
        known = ", ".join(types)
        raise BadInput(f"{what} have no column {name!r}; their columns are {known}: name the ends with src= and dst=")
    if types[name] not in _WHOLE:
        raise BadInput(
            f"column {name!r} of {what} is {types[name]}, and ids are whole numbers; make numbers of it first, for "
            f"example with xxhash64({name}) or a join with a table of names"
        )
