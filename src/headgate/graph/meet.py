"""Find the way between two vertices from both ends: two frontiers that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.walk import Reach, Side, Walk, Where

_TOGETHER = 64  # vertices up to which both frontiers go on at once: a job costs more than what it may read in vain


@dataclass(frozen=True, slots=True)
class Ways:
    """How an operation walks: the sides that lead on, and those that lead back."""

    on: Sequence[Side]
    back: Sequence[Side]
    where: Where = None


@dataclass(frozen=True, slots=True)
class Meeting:
    """The vertices by distance from the first end and from the other; those in the last level of both lie between."""

    ahead: list[Frontier]
    behind: list[Frontier]

    @property
    def hops(self) -> int:
        """The length of the shortest path."""
        return len(self.ahead) + len(self.behind) - 2


@dataclass(slots=True)
class _End:
    """One end of a path, and what was reached from it so far."""

    vertex: int
    sides: Sequence[Side]
    levels: list[Frontier]
    seen: Frontier

    @property
    def last(self) -> Frontier:
        return self.levels[-1]

    def go_on(self, fresh: Frontier) -> None:
        self.levels.append(fresh)
        self.seen |= fresh


def meet(walk: Walk, ways: Ways, a: int, b: int, most_hops: int | None) -> Meeting | None:
    """Widen two frontiers until they share a vertex; None when one of them ends, or after so many hops.

    Where they share none with i hops from one end and j from the other, the distance is above i + j. So the vertices
    that they share first lie in both last levels, and the path through any of them is a shortest one. While both are
    small, one job widens both; else the smaller one goes on.
    """
    one, other = (_End(at, way, [Frontier([at])], Frontier([at])) for at, way in ((a, ways.on), (b, ways.back)))
    while not len(one.last & other.last):
        left = 2 if most_hops is None else most_hops - (len(one.levels) + len(other.levels) - 2)
        if left < 1:
            return None
        together = left > 1 and max(len(one.last), len(other.last)) <= _TOGETHER
        going = [one, other] if together else [min((one, other), key=lambda end: len(end.last))]
        what = " and ".join(f"hop {len(end.levels)} from {end.vertex}" for end in going)
        found = walk.step_together([Reach(end.sides, end.last) for end in going], what, ways.where)
        fresh = [reached - end.seen for reached, end in zip(found, going, strict=True)]
        if together and len(fresh[0] & other.last):  # they met halfway: the other step was not needed
            one.go_on(fresh[0])
        elif not all(map(len, fresh)):
            return None
        else:
            for end, reached in zip(going, fresh, strict=True):
                end.go_on(reached)
    return Meeting(one.levels, other.levels)


def path_of(walk: Walk, ways: Ways, met: Meeting) -> list[int]:
    """Return a shortest path: from the smallest vertex in the middle to both ends, each time the smallest vertex."""
    middle = (met.ahead[-1] & met.behind[-1]).ends()[0]
    halves = (([middle], met.ahead, ways.back), ([middle], met.behind, ways.on))
    for distance in range(1, max(len(met.ahead), len(met.behind))):
        asked = []
        for path, levels, sides in halves:
            level = levels[-1 - distance] if distance < len(levels) else Frontier()
            if len(level) == 1:  # nothing to choose from
                path.append(level.ends()[0])
                level = Frontier()
            asked.append(Reach(sides, Frontier([path[-1]]), level))
        for (path, _, _), one, found in zip(halves, asked, walk.step_together(asked, "path", ways.where), strict=True):
            if len(found):
                path.append(found.ends()[0])
            elif not one.is_empty:
                raise BadInput(
                    f"the edges at vertex {path[-1]} are no longer what they were a moment ago: the table was written, "
                    "its reverse table lacks edges, or the condition differs from one reading to the next; ask again"
                )
    return [*reversed(halves[0][0]), *halves[1][0][1:]]
