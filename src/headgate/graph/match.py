"""Find all places of a pattern: each variable that is known publishes its vertices to the scans still to come."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.local import Matrix, TooMany, cross, kept, pairs_of, widened
from headgate.graph.meet import Ways
from headgate.graph.pattern import Pattern, PatternEdge
from headgate.graph.walk import Walk

_LOCAL = 1_000_000  # pairs and matches up to which they are joined on the driver

WaysOf = Callable[[PatternEdge], Ways]


class Matching:
    """One pattern on its way: what each variable may be by now. ``ways`` says how each edge is walked."""

    def __init__(self, walk: Walk, pattern: Pattern, ways: WaysOf, start: Mapping[str, Frontier]) -> None:
        unknown = sorted(set(start) - set(pattern.variables))
        if unknown:
            raise BadInput(f"start names {', '.join(unknown)}, but the pattern has {', '.join(pattern.variables)}")
        self._walk, self._pattern, self._ways = walk, pattern, ways
        self._known = dict(start)
        self._order: list[PatternEdge] = []

    def frame(self) -> DataFrame:
        """Return the matches: a column for each variable, each match once."""
        self._forwards()
        self._backwards()
        try:
            return self._local()
        except TooMany:
            return self._joined()

    @property
    def is_empty(self) -> bool:
        """Whether some variable can be no vertex, so that nothing matches."""
        return not all(map(len, self._known.values()))

    def _forwards(self) -> None:
        """Follow the edges from what is known, the fewest vertices first."""
        left = list(self._pattern.edges)
        while left:
            near = [edge for edge in left if edge.start in self._known or edge.end in self._known]
            if not near:
                raise BadInput(
                    f"nothing is known of the vertices of {left[0]}, so all edges would be read; "
                    f"say where to begin, such as start={{{self._named(left[0])!r}: [1, 2]}}"
                )
            edge = min(near, key=self._reach)
            left.remove(edge)
            self._order.append(edge)
            self._follow(edge)

    def _named(self, edge: PatternEdge) -> str:
        """Return a variable of an edge that a person can name."""
        return next((end for end in (edge.start, edge.end) if end in self._pattern.variables), "a")

    def _reach(self, edge: PatternEdge) -> int:
        return min(len(self._known[end]) for end in (edge.start, edge.end) if end in self._known)

    def _follow(self, edge: PatternEdge) -> None:
        """Narrow the ends of an edge: the one that is not known, or the larger one by the smaller one."""
        start, end = self._known.get(edge.start), self._known.get(edge.end)
        if edge.start == edge.end:
            return
        if start is not None and (end is None or len(start) <= len(end)):
            self._narrow(edge, edge.start, edge.end)
        else:
            self._narrow(edge, edge.end, edge.start)

    def _narrow(self, edge: PatternEdge, by: str, variable: str) -> None:
        """Publish one end of an edge, and what is known of the other, to its scan: the other has to be there."""
        ways, within = self._ways(edge), self._known.get(variable)
        sides = ways.on if by == edge.start else ways.back
        found = self._walk.step(sides, self._known[by], f"{edge} by {by}", ways.where, within)
        self._known[variable] = found if within is None else found & within

    def _backwards(self) -> None:
        """Go back over the edges: what was known first may be less by now."""
        for edge in reversed(self._order):
            if edge.start == edge.end:
                continue
            by, variable = edge.end, edge.start
            if len(self._known[by]) > len(self._known[variable]):
                by, variable = variable, by
            if len(self._known[variable]) > 1:
                self._narrow(edge, by, variable)

    def _local(self) -> DataFrame:
        """Join the pairs of each edge on the driver; raise `TooMany` where they are too many."""
        rows: Matrix = np.empty((1, 0), dtype=np.int64)
        columns: list[str] = []
        for edge in self._order:
            pairs = self._pairs(edge)
            match edge.start in columns, edge.end in columns:
                case True, True:
                    rows = kept(rows, columns.index(edge.start), columns.index(edge.end), pairs)
                case True, False:
                    rows = widened(rows, columns.index(edge.start), pairs, _LOCAL)
                    columns.append(edge.end)
                case False, True:
                    swapped = pairs[:, ::-1]
                    order = np.lexsort((swapped[:, 1], swapped[:, 0]))
                    rows = widened(rows, columns.index(edge.end), swapped[order], _LOCAL)
                    columns.append(edge.start)
                case _ if edge.start == edge.end:
                    rows = cross(rows, pairs[pairs[:, 0] == pairs[:, 1], :1], _LOCAL)
                    columns.append(edge.start)
                case _:
                    rows = cross(rows, pairs, _LOCAL)
                    columns += [edge.start, edge.end]
        named = np.unique(rows[:, [columns.index(name) for name in self._pattern.variables]], axis=0)
        spark = self._ways(self._order[0]).on[0].frame.sparkSession
        return spark.createDataFrame(pa.table(dict(zip(self._pattern.variables, map(pa.array, named.T), strict=True))))

    def _pairs(self, edge: PatternEdge) -> Matrix:
        ways, start, end = self._ways(edge), self._known[edge.start], self._known[edge.end]
        if max(len(start), len(end)) > _LOCAL:
            raise TooMany
        try:
            return pairs_of(self._walk.step_from_each(ways.on, start, f"edges {edge}", ways.where, end, most=_LOCAL))
        except BadInput:
            raise TooMany from None

    def _joined(self) -> DataFrame:
        """Let Spark join the pairs of each edge."""
        found: DataFrame | None = None
        # names of our own: to Spark, two variables may be one that differ in case only
        columns = {name: f"v{number}" for number, name in enumerate(self._known)}
        for edge in self._order:
            ways, ends = self._ways(edge), (self._known[edge.start], self._known[edge.end])
            start, end = columns[edge.start], "loop" if edge.start == edge.end else columns[edge.end]
            pairs = self._walk.pairs(ways.on, ends, (start, end), ways.where)
            if edge.start == edge.end:
                pairs = pairs.where(sf.col(start) == sf.col(end)).drop(end)
            if found is None:
                found = pairs
            else:
                shared = [name for name in pairs.columns if name in found.columns]
                found = found.join(pairs, shared) if shared else found.crossJoin(pairs)
        assert found is not None
        named = self._pattern.variables
        return found.select(*(columns[name] for name in named)).distinct().toDF(*named)
