"""Read patterns of edges: ``(a)-[:paid]->(b)-[:paid]->(c), (c)-->(a)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.errors import BadInput

_NODE = re.compile(r"\s*\(\s*(\w*)\s*\)\s*")
_EDGE = re.compile(r"\s*(<)?-(?:\[\s*(?::\s*(\w+)\s*)?\])?-(>)?\s*")
_HOW = "write it like (a)-[:paid]->(b), (b)-->(c), (c)<--(d) or (a)--(b)"


@dataclass(frozen=True, slots=True)
class PatternEdge:
    """An edge of a pattern, from one variable to another; either way where it is not directed."""

    start: str
    end: str
    label: str = ""
    directed: bool = True

    def __str__(self) -> str:
        label, arrow = f"[:{self.label}]" if self.label else "", ">" if self.directed else ""
        return f"({_shown(self.start)})-{label}-{arrow}({_shown(self.end)})"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The edges of a pattern; ``variables`` are those with a name, in the order in which they come."""

    edges: tuple[PatternEdge, ...]
    variables: tuple[str, ...]


def read_pattern(text: str) -> Pattern:
    """Read a pattern: paths of vertices in parentheses with edges between them, separated by commas."""
    edges: list[PatternEdge] = []
    variables: dict[str, None] = {}
    nameless = 0
    for part in text.split(","):
        at, before, waiting = 0, "", None
        while at < len(part):
            if not before or waiting is not None:
                if (node := _NODE.match(part, at)) is None:
                    raise BadInput(_unread(text, part[at:], "a vertex"))
                at, name = node.end(), node[1] or f" {nameless}"  # nobody can write a name with a space
                nameless += not node[1]
                variables.update({node[1]: None} if node[1] else {})
                if waiting is not None:
                    edges.append(_edge(before, name, waiting))
                before, waiting = name, None
            else:
                waiting = _EDGE.match(part, at)
                if waiting is None or (waiting[1] and waiting[3]):
                    raise BadInput(_unread(text, part[at:], "an edge"))
                at = waiting.end()
        if waiting is not None or not before:
            raise BadInput(_unread(text, part[at:], "a vertex"))
    if not edges:
        raise BadInput(f"the pattern {text!r} has no edge; {_HOW}")
    lonely = sorted(set(variables) - {end for edge in edges for end in (edge.start, edge.end)})
    if lonely:
        raise BadInput(f"no edge of the pattern {text!r} touches {', '.join(lonely)}; take it out, or add an edge")
    return Pattern(tuple(edges), tuple(variables))


def _shown(name: str) -> str:
    return "" if name.startswith(" ") else name


def _edge(before: str, after: str, found: re.Match[str]) -> PatternEdge:
    start, end = (after, before) if found[1] else (before, after)
    return PatternEdge(start, end, found[2] or "", directed=bool(found[1] or found[3]))


def _unread(text: str, rest: str, wanted: str) -> str:
    place = f"at {rest.strip()[:20]!r}" if rest.strip() else "at its end"
    return f"the pattern {text!r} cannot be read {place}, where {wanted} should be; {_HOW}"
