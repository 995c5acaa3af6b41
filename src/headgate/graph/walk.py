"""Take steps along edges: each publishes its frontier to the edge scan and runs one job, which brings the next one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from headgate.api import publish
from headgate.catalyst.ids import CollectedIds, collect_ids, in_ids
from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.trace import Publication, Step, Trace
from headgate.publish import Publisher

MOST = 100_000_000
MOST_BYTES = 64 << 20
Where = str | Column | None
_BY_START = "by start"


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
class Reach:
    """What a step asks for: where edges lead from a frontier; ``within`` says which of their ends matter."""

    sides: Sequence[Side]
    frontier: Frontier
    within: Frontier | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no edge can be what is asked for."""
        return not len(self.frontier) or (self.within is not None and not len(self.within))


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Edges whose ends lie in published frontiers: ``frame`` has all their columns, and no other edges."""

    frame: DataFrame
    publisher: Publisher
    publications: tuple[Publication, ...]


class Walk:
    """One operation on a graph: its publishers, which serve it from step to step, and its trace.

    What is published counts as long as its publisher is there: ``kept`` holds those of frames that are run later.
    """

    def __init__(self, operation: str, most: int = MOST, kept: deque[Publisher] | None = None) -> None:
        if most < 1:
            raise BadInput(f"most={most} lets no vertex be reached; give the number of those that may, such as {MOST}")
        self.trace = Trace(operation)
        self._most = most
        self._serving: dict[tuple[int, str, bool], tuple[Publisher, ...]] = {}
        self._kept: deque[Publisher] = deque() if kept is None else kept

    def step(
        self, sides: Sequence[Side], frontier: Frontier, what: str, where: Where = None, within: Frontier | None = None
    ) -> Frontier:
        """Return where the edges from a frontier lead; ``within`` says which of the ends matter."""
        return self.step_together([Reach(sides, frontier, within)], what, where)[0]

    def step_together(self, asked: Sequence[Reach], what: str, where: Where = None) -> list[Frontier]:
        """Return where the edges from several frontiers lead, found by one job."""
        live = [number for number, one in enumerate(asked) if not one.is_empty]
        tags = [str(place) for place in range(len(live))] if len(live) > 1 else None
        found = self._run([asked[number] for number in live], what, where, tags, self._most) if live else {}
        places = {number: place for place, number in enumerate(live)}
        return [found.get(places.get(number, -1), Frontier()) for number in range(len(asked))]

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
        asked = Reach(sides, frontier, within)
        return {} if asked.is_empty else self._run([asked], what, where, [_BY_START], min(most, self._most))

    def _run(
        self, asked: Sequence[Reach], what: str, where: Where, tags: Sequence[str] | None, most: int
    ) -> dict[int, Frontier]:
        """Run one job; ``tags`` say which set the ends of each question go to."""
        began = time.perf_counter()
        parts: list[_Narrowed] = []
        frames: list[DataFrame] = []
        for number, one in enumerate(asked):
            for side in one.sides:
                parts.append(self._narrowed(side, one.frontier, where, one.within, self._served(number, side, one)))
                frames.append(_ends(parts[-1].frame, side, tags[number] if tags else None))
        found = collect_ids(
            reduce(DataFrame.unionAll, frames),
            tagged=tags is not None,
            max_ids=most,
            max_bytes=MOST_BYTES,
            description=f"headgate.graph: {what}",
        )
        publications = tuple(publication for part in parts for publication in part.publications)
        report = parts[0].publisher.report()
        self.trace.steps.append(Step.of(what, publications, found.found, time.perf_counter() - began, report))
        if not found.is_complete:
            raise BadInput(self._too_many(what, most, found))
        return {tag: Frontier(ids) for tag, ids in found.sets.items()}

    def edges(self, side: Side, frontier: Frontier, where: Where = None, within: Frontier | None = None) -> DataFrame:
        """Return the edges from a frontier, and to another one if that is given, as a DataFrame to be run later."""
        publishers = _publishers(side, within)
        self._kept.extend(publishers)
        return self._narrowed(side, frontier, where, within, publishers).frame

    def pairs(
        self,
        sides: Sequence[Side],
        ends: tuple[Frontier, Frontier | None],
        names: tuple[str, str],
        where: Where = None,
    ) -> DataFrame:
        """Return the distinct pairs of vertices with an edge from one frontier to another, to be run later."""
        edges = [(self.edges(side, ends[0], where, ends[1]), side) for side in sides]
        frames = [_ends(frame, side, _BY_START).toDF(*names).dropna() for frame, side in edges]
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
            frame = _where(frame, where, side)
        for publisher, ids in zip(publishers, ends, strict=True):
            domain = ids.domain(side.type_of(publisher.column))
            publisher.start_over()
            publisher.complete(domain)
            publications.append(Publication(publisher.column, len(ids), domain.nbytes))
            frame = frame.where(in_ids(frame, publisher.column, ids.ids))
        return _Narrowed(frame, publishers[-1], tuple(publications))

    def _served(self, number: int, side: Side, one: Reach) -> tuple[Publisher, ...]:
        """Return the publishers of a side that all steps share: each step is over before the next one begins."""
        key = (number, side.name, one.within is not None)
        if key not in self._serving:
            self._serving[key] = _publishers(side, one.within)
        return self._serving[key]

    def _too_many(self, what: str, most: int, found: CollectedIds) -> str:
        limit = f"more than {most:,} vertices, or more than {MOST_BYTES >> 20} MB of them"
        got = f"{found.found:,} were found when {found.tasks_done} of {found.tasks} tasks had ended"
        advice = f"start from fewer vertices, take fewer hops, or raise most={self._most:,}"
        return f"{what} of {self.trace.operation} reaches {limit}: {got}; {advice}"


def _where(frame: DataFrame, where: str | Column, side: Side) -> DataFrame:
    try:
        return frame.where(where)
    except AnalysisException as error:
        if not str(error.getCondition()).startswith("MISSING_ATTRIBUTES"):
            raise
        raise BadInput(
            f"the condition {where} names a column of another DataFrame, and {side.name} edges are read from a table "
            "of their own; name the column alone, such as col('amount') > 3 or \"amount > 3\""
        ) from error


def _publishers(side: Side, within: Frontier | None) -> tuple[Publisher, ...]:
    first = publish(side.frame, side.start, rows=False)
    return (first,) if within is None else (first, publish(first.frame, side.end, rows=False))


def _ends(frame: DataFrame, side: Side, tag: str | None) -> DataFrame:
    """Return where edges end, with the tag of each before it if there is one."""
    shown = [] if tag is None else [quoted(side.start) if tag == _BY_START else tag]
    return frame.selectExpr(*(f"cast({sql} as bigint)" for sql in (*shown, quoted(side.end))))
