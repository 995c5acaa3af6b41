"""Take steps along edges: each publishes its frontier to the edge scan and runs one job, which brings the next one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame

from headgate.api import publish
from headgate.catalyst.ids import CollectedIds, collect_ids, in_ids, quoted
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.trace import Publication, Step, Trace
from headgate.publish import Publisher

MOST = 100_000_000
MOST_BYTES = 64 << 20
Where = str | Column | None


@dataclass(frozen=True, slots=True)
class Side:
    """A table of edges that is walked one way: steps start at one column and end at another."""

    name: str
    frame: DataFrame
    start: str
    end: str

    def type_of(self, column: str) -> str:
        """Return the type of a column."""
        return dict(self.frame.dtypes)[column]


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Edges whose ends lie in published frontiers: ``frame`` has all their columns, and no other edges."""

    frame: DataFrame
    publisher: Publisher
    publications: tuple[Publication, ...]


class Walk:
    """One operation on a graph: its publishers, which serve it from step to step, and its trace."""

    def __init__(self, operation: str, most: int = MOST) -> None:
        if most < 1:
            raise BadInput(
                f"most={most} lets no vertex be reached; give the number of those that may be, such as {MOST}"
            )
        self.trace = Trace(operation)
        self._most = most
        self._serving: dict[tuple[str, bool], tuple[Publisher, ...]] = {}
        self._kept: list[Publisher] = []

    def step(
        self, sides: Sequence[Side], frontier: Frontier, what: str, where: Where = None, within: Frontier | None = None
    ) -> Frontier:
        """Return where the edges from a frontier lead; ``within`` says which of the ends matter."""
        return self._run(sides, frontier, what, where, within, apart=False, most=self._most).get(0, Frontier())

    def step_from_each(
        self,
        sides: Sequence[Side],
        frontier: Frontier,
        what: str,
        where: Where = None,
        within: Frontier | None = None,
        most: int = MOST,
    ) -> dict[int, Frontier]:
        """Return for each vertex of a frontier where its edges lead; those without edges are left out."""
        return self._run(sides, frontier, what, where, within, apart=True, most=min(most, self._most))

    def _run(
        self,
        sides: Sequence[Side],
        frontier: Frontier,
        what: str,
        where: Where,
        within: Frontier | None,
        *,
        apart: bool,
        most: int,
    ) -> dict[int, Frontier]:
        if not len(frontier) or (within is not None and not len(within)):
            return {}
        began = time.perf_counter()
        narrowed = [self._narrowed(side, frontier, where, within, self._served(side, within)) for side in sides]
        frames = [_ends(one.frame, side, apart=apart) for one, side in zip(narrowed, sides, strict=True)]
        found = collect_ids(
            reduce(DataFrame.unionAll, frames),
            tagged=apart,
            max_ids=most,
            max_bytes=MOST_BYTES,
            description=f"headgate.graph: {what}",
        )
        publications = tuple(one for part in narrowed for one in part.publications)
        report = narrowed[0].publisher.report()
        self.trace.steps.append(Step.of(what, publications, found.found, time.perf_counter() - began, report))
        if not found.is_complete:
            raise BadInput(self._too_many(what, found))
        return {tag: Frontier(ids) for tag, ids in found.sets.items()}

    def edges(self, side: Side, frontier: Frontier, where: Where = None, within: Frontier | None = None) -> DataFrame:
        """Return the edges from a frontier, and to another one if that is given, as a DataFrame to be run later."""
        publishers = _publishers(side, within)
        self._kept += publishers  # what is published counts as long as its publisher is there
        return self._narrowed(side, frontier, where, within, publishers).frame

    def pairs(
        self,
        sides: Sequence[Side],
        ends: tuple[Frontier, Frontier | None],
        names: tuple[str, str],
        where: Where = None,
    ) -> DataFrame:
        """Return the distinct pairs of vertices with an edge from one frontier to another, to be run later."""
        frames = [
            _ends(self.edges(side, ends[0], where, ends[1]), side, apart=True).toDF(*names).dropna() for side in sides
        ]
        return reduce(DataFrame.unionAll, frames).distinct()

    def _narrowed(
        self,
        side: Side,
        frontier: Frontier,
        where: Where,
        within: Frontier | None,
        publishers: tuple[Publisher, ...],
    ) -> _Narrowed:
        ends = (frontier,) if within is None else (frontier, within)
        frame, publications = publishers[-1].frame, []
        if where is not None:
            frame = frame.where(where)
        for publisher, ids in zip(publishers, ends, strict=True):
            domain = ids.domain(side.type_of(publisher.column))
            publisher.start_over()
            publisher.complete(domain)
            publications.append(Publication(publisher.column, len(ids), domain.nbytes))
            frame = frame.where(in_ids(frame, publisher.column, ids.ids))
        return _Narrowed(frame, publishers[-1], tuple(publications))

    def _served(self, side: Side, within: Frontier | None) -> tuple[Publisher, ...]:
        """Return the publishers of a side that all steps share: each step is over before the next one begins."""
        key = (side.name, within is not None)
        if key not in self._serving:
            self._serving[key] = _publishers(side, within)
        return self._serving[key]

    def _too_many(self, what: str, found: CollectedIds) -> str:
        limit = f"more than most={self._most:,} vertices, or more than {MOST_BYTES >> 20} MB of them"
        got = f"{found.found:,} were found when {found.tasks_done} of {found.tasks} tasks had ended"
        return f"{what} of {self.trace.operation} reaches {limit}: {got}; start from fewer vertices or take fewer hops"


def _publishers(side: Side, within: Frontier | None) -> tuple[Publisher, ...]:
    first = publish(side.frame, side.start, rows=False)
    return (first,) if within is None else (first, publish(first.frame, side.end, rows=False))


def _ends(frame: DataFrame, side: Side, *, apart: bool) -> DataFrame:
    columns = [f"cast({quoted(name)} as bigint)" for name in (side.start, side.end)]
    return frame.selectExpr(*(columns if apart else columns[1:]))
