"""Take steps along edges: each publishes its frontier to the edge scan and runs one job, which brings the next one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from uuid import uuid4

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame

from headgate.api import history_of, publish
from headgate.catalyst.ids import CollectedIds, collect_ids, in_ids
from headgate.catalyst.names import quoted
from headgate.catalyst.numbers import whole
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.sources import EdgeSource, SourceRead
from headgate.graph.trace import Publication, Step, Trace
from headgate.publish import Publisher

MOST = 100_000_000
MOST_BYTES = 64 << 20
Where = str | Column | None
_BY_START = "by start"


@dataclass(frozen=True, slots=True)
class Side:
    """A table of edges that is walked one way: steps start at one column and end at another.

    A table that takes sets of ids by itself is a ``source``, and nothing is published to it.
    """

    name: str
    frame: DataFrame
    start: str
    end: str
    source: EdgeSource | None = None

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
    def sets(self) -> tuple[Frontier, ...]:
        """The frontiers that the ends of edges have to be in: where they start, and perhaps where they end."""
        return (self.frontier,) if self.within is None else (self.frontier, self.within)

    @property
    def is_empty(self) -> bool:
        """Whether no edge can be what is asked for."""
        return not len(self.frontier) or (self.within is not None and not len(self.within))


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Edges whose ends lie in frontiers, and no other edges; who was told of the frontiers: publisher or source."""

    frame: DataFrame
    publications: tuple[Publication, ...]
    publisher: Publisher | None = None
    read: SourceRead | None = None


class Walk:
    """One operation on a graph: its publishers, which serve it from step to step, and its trace.

    What is published counts as long as its publisher is there: ``kept`` holds those of frames that are run later.
    """

    def __init__(self, operation: str, most: int = MOST, kept: deque[Publisher] | None = None) -> None:
        self.trace = Trace(operation)
        self._id, self._began = uuid4().hex[:12], time.time()
        self._most = most_of(most)
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
                parts.append(self._narrowed(side, one, where, self._served(number, side, one), only_ends=where is None))
                frames.append(_ends(parts[-1].frame, side, tags[number] if tags else None))
        found = collect_ids(
            reduce(DataFrame.unionAll, frames),
            tagged=tags is not None,
            max_ids=most,
            max_bytes=MOST_BYTES,
            description=f"headgate.graph: {what}",
        )
        publications = tuple(publication for part in parts for publication in part.publications)
        report = parts[0].publisher.report() if parts[0].publisher is not None else None
        step = Step.of(what, publications, found.found, time.perf_counter() - began, report)
        self.trace.steps.append(_with_reads(step, [side for one in asked for side in one.sides], parts))
        history_of(frames[0]).walked(self._id, self.trace.operation, self._began, self.trace.steps)
        if not found.is_complete:
            raise BadInput(self._too_many(what, most, found))
        return {tag: Frontier(ids) for tag, ids in found.sets.items()}

    def edges(self, side: Side, frontier: Frontier, where: Where = None, within: Frontier | None = None) -> DataFrame:
        """Return the edges from a frontier, and to another one if that is given, as a DataFrame to be run later."""
        publishers = _publishers(side, within)
        self._kept.extend(publishers)
        return self._narrowed(side, Reach([side], frontier, within), where, publishers).frame

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
        self, side: Side, asked: Reach, where: Where, publishers: tuple[Publisher, ...], *, only_ends: bool = False
    ) -> _Narrowed:
        if side.source is not None:
            return _taken(side, side.source, asked, where, only_ends=only_ends)
        frame, publications = publishers[-1].frame, []
        if where is not None:
            frame = _where(frame, where, side)
        for publisher, ids in zip(publishers, asked.sets, strict=True):
            domain = ids.domain(side.type_of(publisher.column))
            publisher.start_over()
            publisher.complete(domain)
            publications.append(Publication(publisher.column, len(ids), domain.nbytes))
            frame = frame.where(in_ids(frame, publisher.column, ids.ids))
        return _Narrowed(frame, tuple(publications), publishers[-1])

    def _served(self, number: int, side: Side, one: Reach) -> tuple[Publisher, ...]:
        """Return the publishers of a side that all steps share: each step is over before the next one begins."""
        key = (number, side.name, one.within is not None)
        if key not in self._serving:
            self._serving[key] = _publishers(side, one.within)
        return self._serving[key]

    def _too_many(self, what: str, most: int, found: CollectedIds) -> str:
        limit = f"more than {most:,} vertices, or more than {MOST_BYTES >> 20} MB of them"
        got = f"{found.found:,} were found when {found.tasks_done} of {found.tasks} tasks had ended"
        advice = f"start from fewer vertices, take fewer hops, or raise most={most:,}"
        return f"{what} of {self.trace.operation} reaches {limit}: {got}; {advice}"


def most_of(most: int) -> int:
    """Return how many vertices may be reached, as it was given."""
    found = whole(most)
    if found is None or found < 1:
        raise BadInput(f"most={most!r} lets no vertex be reached; give the number of those that may, such as {MOST}")
    return found


def _where(frame: DataFrame, where: str | Column, side: Side) -> DataFrame:
    if not isinstance(where, str | Column):
        raise BadInput(f'the condition {where!r} is {type(where).__name__}; give SQL or a Column, such as "amount > 3"')
    try:
        return frame.where(where)
    except (AnalysisException, ParseException) as error:
        if not str(error.getCondition()).startswith("MISSING_ATTRIBUTES"):
            told = str(error).strip().splitlines()[0]
            known = ", ".join(side.frame.columns)
            raise BadInput(
                f"the condition {where} cannot be asked of an edge, whose columns are {known}: {told}"
            ) from None
        raise BadInput(
            f"the condition {where} names a column of another DataFrame, and {side.name} edges are read from a table "
            "of their own; name the column alone, such as col('amount') > 3 or \"amount > 3\""
        ) from error


def _taken(side: Side, source: EdgeSource, asked: Reach, where: Where, *, only_ends: bool) -> _Narrowed:
    """Let a source read the edges between frontiers; it needs no column but their ends if nothing else is asked."""
    ids: dict[str, Frontier] = {}
    for column, one in zip((side.start, side.end), asked.sets, strict=False):
        ids[column] = ids[column] & one if column in ids else one
    read = source.within(ids, list(dict.fromkeys((side.start, side.end))) if only_ends else None)
    told = tuple(Publication(column, len(one), len(one.to_bytes())) for column, one in ids.items())
    return _Narrowed(read.frame if where is None else _where(read.frame, where, side), told, read=read)


def _with_reads(step: Step, sides: Sequence[Side], parts: Sequence[_Narrowed]) -> Step:
    """Add to a step what its sources read."""
    reads = [part.read for part in parts if part.read is not None]
    sources = [side.source for side in sides if side.source is not None]
    return replace(
        step,
        files_read=step.files_read + sum(read.parts_read for read in reads),
        files_total=step.files_total + sum(source.part_count for source in sources),
        rows_read=sum(read.rows_read for read in reads),
        rows_total=sum(source.row_count for source in sources),
    )


def _publishers(side: Side, within: Frontier | None) -> tuple[Publisher, ...]:
    if side.source is not None:
        return ()
    first = publish(side.frame, side.start, rows=False)
    return (first,) if within is None else (first, publish(first.frame, side.end, rows=False))


def _ends(frame: DataFrame, side: Side, tag: str | None) -> DataFrame:
    """Return where edges end, with the tag of each before it if there is one."""
    shown = [] if tag is None else [quoted(side.start) if tag == _BY_START else tag]
    return frame.selectExpr(*(f"cast({sql} as bigint)" for sql in (*shown, quoted(side.end))))
