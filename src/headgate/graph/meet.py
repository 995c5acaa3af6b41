"""Find the way between two vertices from both ends: two frontiers that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.graph.frontier import Frontier
from headgate.graph.walk import Side, Walk, Where


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


def meet(walk: Walk, ways: Ways, a: int, b: int, most_hops: int | None) -> Meeting | None:
    """Widen the smaller of two frontiers until they share a vertex; None when one ends, or after so many hops.

    Where they share none with i hops from one end and j from the other, the distance is above i + j. So the vertices
    that they share first lie in both last levels, and the path through any of them is a shortest one.
    """
    ahead, behind = [Frontier([a])], [Frontier([b])]
    seen = [ahead[0], behind[0]]
    while not len(ahead[-1] & behind[-1]):
        hops = len(ahead) + len(behind) - 1
        if most_hops is not None and hops > most_hops:
            return None
        first = len(ahead[-1]) <= len(behind[-1])
        sides, at, mine = (ways.on, ahead, 0) if first else (ways.back, behind, 1)
        what = f"hop {len(at)} from {a if first else b}"
        fresh = walk.step(sides, at[-1], what, ways.where) - seen[mine]
        if not len(fresh):
            return None
        at.append(fresh)
        seen[mine] |= fresh
    return Meeting(ahead, behind)


def path_of(walk: Walk, ways: Ways, met: Meeting) -> list[int]:
    """Return a shortest path: from the smallest vertex in the middle to both ends, each time the smallest vertex."""
    middle = (met.ahead[-1] & met.behind[-1]).ends()[0]
    before = _towards(walk, ways.back, middle, met.ahead, ways.where)
    after = _towards(walk, ways.on, middle, met.behind, ways.where)
    return [*reversed(before), middle, *after]


def _towards(walk: Walk, sides: Sequence[Side], at: int, found: Sequence[Frontier], where: Where) -> list[int]:
    """Return the vertices from a vertex of the last level, without it, down to the first level."""
    path: list[int] = []
    for level in reversed(found[:-1]):
        if len(level) == 1:  # nothing to choose from
            at = level.ends()[0]
        else:
            at = walk.step(sides, Frontier([at]), f"path by {at}", where, within=level).ends()[0]
        path.append(at)
    return path
