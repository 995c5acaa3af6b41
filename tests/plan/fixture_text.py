"""Read a plan from text and write what the rules planned as text; docs of the form: tests/plan/fixtures/README.md.

Nodes are numbered in pre-order, as the reader of Catalyst plans does, so a node's number is its line, from 0.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from headgate.plan import PlannedFilter, QueryPlan, nodes
from headgate.plan.kinds import Can, Feed, Op, Source
from headgate.plan.nodes import Column, Conjunct, Consumer, Expression, Node

# What a word of a fixture means to a node. Whatever is renamed in the nodes is renamed here, and in no fixture.
_ALL, _REREAD = frozenset(Can), frozenset({Can.REREAD})
SOURCES: dict[str, dict[str, Any]] = {
    "parquet": {"source": Source.PARQUET, "format": "Parquet", "can": _ALL},
    "ORC": {"source": Source.FILES, "format": "ORC", "can": _REREAD},
    "narrowed": {"source": Source.NARROWED, "format": "Parquet", "can": _REREAD},
    "unknown files": {"source": Source.UNKNOWN_FILES, "format": "Parquet"},
    "local": {"source": Source.LOCAL, "can": _REREAD},
    "range": {"source": Source.RANGE, "can": _REREAD},
    "cached": {"source": Source.CACHED, "can": _REREAD},
    "cache not loaded": {"source": Source.CACHE},
    "checkpoint": {"source": Source.CHECKPOINT, "can": _REREAD},
    "RDD": {"source": Source.RDD},
    "JDBC": {"source": Source.JDBC},
    "other": {"source": Source.OTHER},
}
FLAGS: dict[str, dict[str, Any]] = {
    "streaming": {"streaming": True},
    "subquery": {"has_subquery": True},
    "unstable subquery": {"has_subquery": True, "has_unstable_subquery": True},
    "not repeatable": {"repeatable": False},
    "numbered": {"is_numbered": True},
}
_OF_ONE_KIND = {"not repeatable": "Aggregate", "numbered": "Project"}
COMPARISONS = {op: Op(op) for op in ("<=>", "<=", ">=", "=", "<", ">")}
JOINS = ("INNER", "CROSS", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI", "EXISTENCE")
_LEFT_ONLY = ("LEFT SEMI", "LEFT ANTI", "EXISTENCE")
_PLAIN: dict[str, type[Node]] = {
    kind.__name__: kind for kind in (nodes.Limit, nodes.Sort, nodes.Repartition, nodes.Union)
}
_KINDS = ("Scan", "Filter", "Project", "Join", "Aggregate", "Window", "Other", *_PLAIN)
_CHILDREN = {"Scan": (0, 0), "Join": (2, 2), "Union": (2, 99), "Other": (1, 99)}
_RANDOM = re.compile(r"\b(rand|uuid)\(")
_UNITS = {"B": 1, "KB": 1024, "MB": 1024 * 1024}


class FixtureError(ValueError):
    """A text that is no plan: its line, what stands there, and what was expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"line {line}: {found.strip()!r}: expected {expected}")


# --- text -> nodes -------------------------------------------------------------------------------------------------


def parse_plan(text: str, first_line: int = 1) -> Node:
    """Return the plan that a text says, two spaces of indent for each level; ``first_line`` is for messages."""
    lines = [(number, line.rstrip()) for number, line in enumerate(text.splitlines(), first_line)]
    reader = _Reader([(number, line) for number, line in lines if line])
    if not reader.lines:
        raise FixtureError(first_line, text, "a plan")
    root = reader.node(0)
    if reader.at < len(reader.lines):
        number, line = reader.lines[reader.at]
        raise FixtureError(number, line, "a child of a line above, two spaces further in; a plan has one root")
    return root


def parse_bytes(text: str) -> int:
    """Return the bytes of a size such as 10MB; anything else is a ValueError."""
    found = re.fullmatch(r"(\d+)(B|KB|MB)", text)
    if found is None:
        raise ValueError("a size such as 100B, 10KB or 8MB")
    return int(found[1]) * _UNITS[found[2]]


@dataclass
class _Reader:
    """Reads nodes from numbered lines; ``made`` holds each column by the name it has in the text, with its line."""

    lines: list[tuple[int, str]]
    at: int = 0
    made: dict[str, tuple[Column, int]] = field(default_factory=dict)

    def node(self, depth: int) -> Node:
        here, (line, text) = self.at, self.lines[self.at]
        self.at += 1
        children: list[Node] = []
        while self.at < len(self.lines) and self._depth() > depth:
            if self._depth() > depth + 1:
                raise FixtureError(*self.lines[self.at], f"{2 * depth + 2} spaces of indent at most")
            children.append(self.node(depth + 1))
        return _Line(self, line, text.strip(), tuple(children)).node(here)

    def _depth(self) -> int:
        line, text = self.lines[self.at]
        spaces = len(text) - len(text.lstrip(" "))
        if spaces % 2:
            raise FixtureError(line, text, "an even number of spaces of indent")
        return spaces // 2

    def name_of(self, column: Column) -> str:
        return next(name for name, (made, _) in self.made.items() if made.id == column.id)


@dataclass
class _Line:
    """One line of a plan, with the nodes below it."""

    reader: _Reader
    line: int
    text: str
    children: tuple[Node, ...]

    def node(self, id: int) -> Node:
        """Return the node that the line says."""
        found = re.fullmatch(r"(\w+):?(?: ([^\[]*?))?(?: ?\[(.*)\])?", self.text)
        if found is None or found[1] not in _KINDS:
            raise self.error(f"one of {', '.join(_KINDS)}")
        kind, rest, flags = found[1], found[2] or "", found[3] or ""
        least, most = _CHILDREN.get(kind, (1, 1))
        if not least <= len(self.children) <= most:
            raise self.error(f"{least}{'' if most == least else ' or more'} below it, not {len(self.children)}")
        common: dict[str, Any] = {
            "id": id,
            "children": self.children,
            "deterministic": not _RANDOM.search(rest) and all(child.deterministic for child in self.children),
            "streaming": any(child.streaming for child in self.children),
        } | self._flags(flags, kind)
        if kind in _PLAIN:
            return _PLAIN[kind](output=self.children[0].output, **common)
        make = getattr(self, f"_{kind.lower()}")
        made: Node = make(rest, common)
        return made

    def error(self, expected: str) -> FixtureError:
        return FixtureError(self.line, self.text, expected)

    def _flags(self, text: str, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for flag in filter(None, text.split(", ")):
            if kind == "Scan" and (column := flag.removeprefix("published ")) != flag:
                found["published"] = (*found.get("published", ()), (f"{column}-1", column))
            elif kind == "Join" and (size := flag.removeprefix("smaller side ")) != flag:
                found["smaller_bytes"] = self._bytes(size)
            elif flag in FLAGS and _OF_ONE_KIND.get(flag, kind) == kind:
                found |= FLAGS[flag]
            else:
                raise self.error(f"a flag of {kind}, not [{flag}]: {', '.join(FLAGS)}, smaller side 50MB (a Join)")
        return found

    def _bytes(self, text: str) -> int:
        try:
            return parse_bytes(text)
        except ValueError as wrong:
            raise self.error(str(wrong)) from None

    # --- kinds of nodes

    def _scan(self, rest: str, common: dict[str, Any]) -> Node:
        found = re.fullmatch(r"([^(]+)\((.*)\)(?: (\d+\w+))?(?: in (\d+) files)?(?: ([A-Za-z].*))?", rest)
        if found is None:
            raise self.error(
                "Scan table(column type, …) 10MB in 20 files source; all after the columns may be left out"
            )
        source = found[5] or "parquet"
        if source not in SOURCES:
            raise self.error(f"a source, not {source}: {', '.join(SOURCES)}")
        columns = tuple(self._new(*self._name_and_type(each)) for each in _split(found[2], ", ", "(<", ")>"))
        return nodes.Scan(
            output=columns,
            table=found[1],
            bytes=self._bytes(found[3] or "1MB"),
            files=int(found[4] or 0),
            **SOURCES[source],
            **common,
        )

    def _filter(self, rest: str, common: dict[str, Any]) -> Node:
        return nodes.Filter(output=self.children[0].output, conjuncts=self._conjuncts(rest), **common)

    def _project(self, rest: str, common: dict[str, Any]) -> Node:
        output, columns = self._columns(rest)
        return nodes.Project(output=output, columns=columns, **common)

    def _aggregate(self, rest: str, common: dict[str, Any]) -> Node:
        keys, items = self._by(rest)
        output, columns = self._columns(items)
        return nodes.Aggregate(output=output, columns=columns, keys=keys, **common)

    def _window(self, rest: str, common: dict[str, Any]) -> Node:
        keys, items = self._by(rest)
        added, _ = self._columns(items)
        return nodes.Window(output=(*self.children[0].output, *added), keys=keys, **common)

    def _join(self, rest: str, common: dict[str, Any]) -> Node:
        kind = next((kind for kind in JOINS if f"{rest} ".startswith(f"{kind} ")), None)
        if kind is None:
            raise self.error(f"Join and one of {', '.join(JOINS)}")
        left, right = self.children
        output = left.output if kind in _LEFT_ONLY else (*left.output, *right.output)
        condition = rest[len(kind) + 1 :]
        return nodes.Join(output=output, type=kind, conjuncts=self._conjuncts(condition) if condition else (), **common)

    def _other(self, rest: str, common: dict[str, Any]) -> Node:
        name, _, items = rest.partition(": ")
        added, _ = self._columns(items)
        return nodes.Other(output=(*self.children[0].output, *added), name=name, **common)

    # --- columns, expressions and conditions

    def _name_and_type(self, text: str) -> tuple[str, str]:
        found = re.fullmatch(r"([a-z]\w*(?:#\d+)?) ([a-z].*)", text)
        if found is None:
            raise self.error(f"a column as name and type, such as `k int`, not `{text}`")
        return found[1], found[2]

    def _new(self, name: str, type: str) -> Column:
        """Make a column; ``id#2`` is another one that people call id too."""
        made = self.reader.made
        if name in made:
            raise self.error(f"another name: line {made[name][1]} makes a column {name} already; {name}#2 is free")
        column = Column(len(made) + 1, name.partition("#")[0], type)
        made[name] = column, self.line
        return column

    def _scope(self) -> dict[str, Column]:
        return {self.reader.name_of(column): column for child in self.children for column in child.output}

    def _columns(self, text: str) -> tuple[tuple[Column, ...], tuple[tuple[int, Expression], ...]]:
        """Return what a list of columns puts out: plain ones as they are, new ones as ``expression AS name type``."""
        output, columns = [], []
        for item in _split(text, ", "):
            found = re.fullmatch(r"(.+) AS ([a-z][\w#]*)(?: (.+))?", item)
            expression = self._expression(found[1] if found else item)
            if found is None and expression.column is None:
                raise self.error(f"a column below it, or `expression AS name`, not `{item}`")
            below = next((c for c in self._scope().values() if c.id == expression.column), None)
            kind = (found and found[3]) or expression.type or (below.type if below else "")
            if not kind:
                raise self.error(f"a type for what is computed: `{item} int`")
            made = self._new(found[2], kind) if found else below
            assert made is not None
            output.append(made)
            columns.append((made.id, expression))
        return tuple(output), tuple(columns)

    def _by(self, text: str) -> tuple[tuple[Expression, ...], str]:
        """Split ``by k, v: what is put out``; without keys there is only what is put out."""
        keys, colon, items = text.partition(": ")
        if not keys.startswith("by "):
            return (), text
        return tuple(map(self._expression, _split(keys[3:].rstrip(":"), ", "))), items if colon else ""

    def _expression(self, text: str) -> Expression:
        scope = self._scope()
        if text in scope:
            return Expression(references=frozenset({scope[text].id}), column=scope[text].id)
        if found := re.fullmatch(r"CAST\((.+) AS ([a-z][^ ]*)\)", text):
            inner = self._expression(found[1])
            return Expression(references=inner.references, cast=inner, type=found[2])
        words = re.findall(r"\b[a-z_][\w#]*\b(?!\()", re.sub(r"'[^']*'", "''", text))
        for word in words:
            if word not in scope:
                raise self.error(f"a column below it, not {word}: {', '.join(scope)}")
        is_random = bool(_RANDOM.search(text))
        return Expression(
            references=frozenset(scope[word].id for word in words),
            sql=text,
            literal=not words and not is_random,
            deterministic=not is_random,
        )

    def _conjuncts(self, text: str) -> tuple[Conjunct, ...]:
        return tuple(map(self._conjunct, _split(f"{text} ", " AND ")))

    def _conjunct(self, text: str) -> Conjunct:
        text = text.strip()
        if not text:
            raise self.error("a condition on each side of AND")
        if text.endswith(" IS NOT NULL"):
            self._expression(text.removesuffix(" IS NOT NULL"))
            return Conjunct(Op.IS_NOT_NULL, text)
        if (key := text.removeprefix("DYNAMIC PRUNING ")) != text:
            return Conjunct(Op.DYNAMIC_PRUNING, text, left=self._expression(key))
        sides = _split(text, rf" ({'|'.join(COMPARISONS)}) ")
        if len(sides) != 3 or re.search(r"\bOR\b", _masked(text)):
            self._expression(text)
            return Conjunct(Op.OTHER, text, deterministic=not _RANDOM.search(text))
        left, op, right = sides
        ends = self._expression(left), self._expression(right)
        return Conjunct(COMPARISONS[op], text, *ends, deterministic=not _RANDOM.search(text))


def _masked(text: str, opening: str = "(", closing: str = ")") -> str:
    """Blank out what stands in brackets, so that what is found in the rest stands outside of them."""
    depth, shown = 0, []
    for letter in text:
        depth -= letter in closing
        shown.append("\0" if depth > 0 else letter)
        depth += letter in opening
    return "".join(shown)


def _split(text: str, separator: str, opening: str = "(", closing: str = ")") -> list[str]:
    """Split at a pattern where it stands outside of brackets; what its group matched is a part of its own."""
    parts, start = [], 0
    for found in re.finditer(separator, _masked(text, opening, closing)):
        parts += [text[start : found.start()], *found.groups()]
        start = found.end()
    return [*parts, text[start:]] if text else []


# --- what was planned -> text --------------------------------------------------------------------------------------


def planned_text(plan: QueryPlan) -> str:
    """Return one line for each filter, and one for each join that has none."""
    labels, all_nodes = _labels(plan), plan.nodes()
    told = [_filter_text(planned, all_nodes, labels) for planned in plan.filters]
    told += [f"join {join}: no filter: {why}" for join, why in plan.unfiltered]
    return "\n".join(told or ["nothing planned"])


def _labels(plan: QueryPlan) -> dict[int, str]:
    """Name each node by its kind and tables, and by its number as well where that is not enough."""
    found = {}
    for node in plan.root.walk():
        kind = node.name if isinstance(node, nodes.Other) else type(node).__name__
        tables = ", ".join(scan.table for scan in node.scans())
        found[node.id] = tables if isinstance(node, nodes.Scan) else f"{kind}({tables})"
    count = Counter(found.values())
    return {number: label if count[label] == 1 else f"{label}#{number}" for number, label in found.items()}


def _filter_text(planned: PlannedFilter, all_nodes: dict[int, Node], labels: dict[int, str]) -> str:
    def column(node: int, id: int, compared: str) -> str:
        held = all_nodes[node].find_column(id)
        assert held is not None, f"{labels[node]} has no column {id}"
        return f"{labels[node]}.{held.name}" + (f" as {compared}" if held.type != compared else "")

    def consumer(to: Consumer) -> str:
        moves = [f"{to.shuffles} shuffle{'s' * (to.shuffles > 1)}"] if to.shuffles else []
        more = ", ".join(moves + ["by rows"] * to.by_rows)
        return column(to.scan, to.column, to.compared) + (f" ({more})" if more else "")

    inner, _ = planned.probe_expression.unwrapped()
    probe = all_nodes[planned.probe].find_column(inner.column) if inner.column is not None else None
    to = ", ".join(map(consumer, planned.consumers)) or f"{labels[planned.probe]}.{probe.name if probe else inner.sql}"
    op = next(word for word, op in COMPARISONS.items() if op == planned.op)
    build = "" if planned.feed is Feed.PUBLISHED else column(planned.build, planned.build_column, planned.compared)
    state = [
        *["once only"] * planned.build_once_only,
        *[f"wave {planned.wave}"] * (planned.wave >= 0),
        *["in the background"] * (planned.feed is Feed.BACKGROUND),
        *["tapped"] * (planned.feed is Feed.TAP),
        *[f"dropped: {planned.reason}"] * (not planned.is_alive),
    ]
    if planned.feed is Feed.PUBLISHED:
        return "; ".join([f"{planned.id} ({planned.clause}): {to}", *state])
    return "; ".join([f"{planned.id} (join {planned.join}: {planned.clause}): {to} {op} {{{build}}}", *state])
