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
_TOLD = 8  # labels that a sentence lists


class EdgeTables:
    """The edges of a graph, and perhaps the same edges again in a table for steps against them."""

    def __init__(self, table: Edges, src: str, dst: str, reverse: Edges | None, label: str | None) -> None:
        edges, source = _frame_and_source(table, "the edges")
        back, back_source = (edges, source) if reverse is None else _frame_and_source(reverse, "the reverse edges")
        ends = [_end(edges, name, "the edges") for name in (src, dst)]
        back_ends = [_end(back, name, "the reverse edges") for name in (src, dst)]
        if _types(edges) != _types(back):
            raise BadInput(
                f"the reverse edges have columns {', '.join(back.columns)}, and the edges {', '.join(edges.columns)}: "
                "give two tables of the same rows, with the same types"
            )
        self.label = None if label is None else named_as(edges, label)
        if label is not None and self.label is None:
            known = ", ".join(edges.columns)
            raise BadInput(f"the edges have no column {label!r} for labels; their columns are {known}")
        self.edges = edges
        self.sides = {
            "out": Side("out", edges, ends[0], ends[1], source),
            "in": Side("in", back, back_ends[1], back_ends[0], back_source),
        }
        self._labels: set[str] = set()  # that some edge has

    def has(self, name: str) -> bool:
        """Whether the edges have a column of this name, as the session compares names."""
        return named_as(self.edges, name) is not None

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
        columns = [_condition(one) for one in conditions]
        return self.ways("out" if edge.directed else "both", reduce(Column.__and__, columns) if columns else None)

    def check_meanings(self, edges: Iterable[PatternEdge], where: Meanings | Where) -> None:
        """Refuse conditions for labels that the pattern does not have."""
        labels = list(dict.fromkeys(edge.label for edge in edges if edge.label))
        unknown = [name for name in where if name not in labels] if isinstance(where, Mapping) else []
        if unknown:
            told = f"the labels of the pattern are {', '.join(labels)}" if labels else "the pattern has no labels"
            raise BadInput(
                f"where has a condition for {', '.join(map(repr, unknown))}, and {told}: write the label into the "
                "pattern, as in (a)-[:label]->(b), or give one condition for all edges"
            )

    def unknown_labels(self, edges: Iterable[PatternEdge]) -> str:
        """Say in a sentence which labels no edge has, or nothing; a label that was seen is not looked for again."""
        if self.label is None:
            return ""
        column = sf.col(quoted(self.label))
        asked = [label for label in dict.fromkeys(edge.label for edge in edges) if label and label not in self._labels]
        unknown = [label for label in asked if self.edges.where(column == sf.lit(label)).isEmpty()]
        self._labels.update(label for label in asked if label not in unknown)
        if not unknown:
            return ""
        some = [str(row[0]) for row in self.edges.select(column).where(column.isNotNull()).distinct().take(_TOLD + 1)]
        known = ", ".join(sorted(some)[:_TOLD]) + (", ..." if len(some) > _TOLD else "")
        told = ", ".join(map(repr, unknown))
        return f"no edge has the label {told} in column {self.label!r}; its labels are {known or 'none'}"

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
    if start.isStreaming:
        raise BadInput("the vertices to start from are a stream; give a batch DataFrame, such as one of foreachBatch")
    name = _end(start, start.columns[0], "the vertices")
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


def named_as(frame: DataFrame, name: str) -> str | None:
    """Return how a DataFrame writes the name of a column, as the session compares names; None where it has none."""
    if name in frame.columns:
        return name
    if is_case_sensitive(frame):
        return None
    return next((column for column in frame.columns if column.lower() == name.lower()), None)


def is_case_sensitive(frame: DataFrame) -> bool:
    """Whether names that differ in case only are different ones."""
    return str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def _types(frame: DataFrame) -> set[tuple[str, str]]:
    exact = is_case_sensitive(frame)
    return {(name if exact else name.lower(), kind) for name, kind in frame.dtypes}


def _condition(condition: str | Column) -> Column:
    if isinstance(condition, Column):
        return condition
    if not isinstance(condition, str):
        raise BadInput(f"the condition {condition!r} is {type(condition).__name__}; give SQL, a Column or one by label")
    return sf.expr(condition)


def _frame_and_source(edges: Edges, what: str) -> tuple[DataFrame, EdgeSource | None]:
    frame, source = (edges, None) if isinstance(edges, DataFrame) else (getattr(edges, "frame", None), edges)
    if not isinstance(frame, DataFrame):
        raise BadInput(
            f"{what} are {type(edges).__name__}; give a DataFrame, such as spark.read.parquet(path), or a LanceTable"
        )
    if frame.isStreaming:
        raise BadInput(
            f"{what} are a stream, and a graph is a table that is read again and again: give a batch DataFrame, such "
            "as spark.read.parquet of what the stream has written, or the one that foreachBatch hands over"
        )
    return frame, source


def _end(frame: DataFrame, given: str, what: str) -> str:
    """Return the name of a column of ids."""
    types, name = dict(frame.dtypes), named_as(frame, given)
    if name is None:
        known = ", ".join(types)
        raise BadInput(f"{what} have no column {given!r}; their columns are {known}: name the ends with src= and dst=")
    if types[name] not in _WHOLE:
        raise BadInput(
            f"column {name!r} of {what} is {types[name]}, and ids are whole numbers; make numbers of it first, for "
            f"example with xxhash64({name}) or a join with a table of names"
        )
    return name
