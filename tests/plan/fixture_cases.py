"""Read the cases of a fixture file, run the rules over each, and rewrite what is expected when asked to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from headgate.plan import RULES, Clustering, PlannedFilter, QueryPlan, Rule, RuleContext
from headgate.plan.nodes import Consumer, Expression, Node, Scan
from tests.plan.fixture_text import COMPARISONS, FixtureError, parse_bytes, parse_plan, planned_text

FOLDER = Path(__file__).parent / "fixtures"
CLUSTERING, BYTES_LEFT = "clustering", "bytes_left"  # the fields of RuleContext that hold functions
_SORTED, _CONTAINERS = 0.01, 100


@dataclass(frozen=True)
class Outcome:
    """What is expected under one context; ``line`` is the one that says ``---``."""

    line: int
    context: str
    expected: str


@dataclass(frozen=True)
class Case:
    """One plan and what the rules of its file should make of it, under one context or several."""

    rule: str
    title: str
    line: int
    plan: str
    plan_line: int
    given: str
    outcomes: tuple[Outcome, ...]


def fixture_files() -> list[Path]:
    """Return the fixture files: one for each rule, and ``pipeline.txt`` for all of them together."""
    return sorted(FOLDER.glob("*.txt"))


def read_cases(text: str, rule: str) -> list[Case]:
    """Split a file into cases: ``=== title``, a plan, perhaps ``given:``, then ``---`` and what is expected."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("===")]
    for number, line in enumerate(lines[: starts[0] if starts else None], 1):
        if line and not line.startswith("#"):
            raise FixtureError(number, line, "a comment, or the title of a case: === title")
    cases = [_case(rule, lines, at, end) for at, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    for case in cases:
        if (first := next(other for other in cases if other.title == case.title)) is not case:
            raise FixtureError(case.line, case.title, f"another title: line {first.line} has this one")
    return cases


def _case(rule: str, lines: list[str], start: int, end: int) -> Case:
    title = lines[start][3:].strip()
    if not title:
        raise FixtureError(start + 1, lines[start], "a title after ===")
    marks = [at for at in range(start, end) if lines[at].startswith("---")]
    if not marks:
        raise FixtureError(start + 1, lines[start], "a line --- and what is expected, after the plan")
    first = next(at for at in range(start + 1, end) if not lines[at].startswith("#") and lines[at])
    if first == marks[0]:
        raise FixtureError(start + 1, lines[start], "a plan after the title")
    given_at = next((at for at in range(first, marks[0]) if lines[at].startswith("given: ")), marks[0])
    outcomes = [
        Outcome(at + 1, _context_of(at + 1, lines[at]), "\n".join(lines[at + 1 : until]).strip())
        for at, until in zip(marks, [*marks[1:], end], strict=True)
    ]
    given = " ".join(lines[given_at : marks[0]]).strip().removeprefix("given: ")
    return Case(rule, title, start + 1, "\n".join(lines[first:given_at]), first + 1, given, tuple(outcomes))


def _context_of(number: int, line: str) -> str:
    found = re.fullmatch(r"---(?: context: (.+))?", line)
    if found is None:
        raise FixtureError(number, line, "--- alone or --- context: setting=value, …")
    return found[1] or ""


def run_case(case: Case, outcome: Outcome) -> str:
    """Run the rules up to that of the file, or only that one over given filters; return what they planned, as text."""
    root = parse_plan(case.plan, case.plan_line)
    plan = QueryPlan(root, _given(case, root) if case.given else ())
    context = parse_context(outcome.context, root, outcome.line)
    for rule in rules_of(case):
        plan = rule(plan, context)
    return planned_text(plan)


def rules_of(case: Case) -> tuple[Rule, ...]:
    """Return the rules that a case runs."""
    names = [rule.__name__ for rule in RULES]
    last = names.index(case.rule) + 1 if case.rule in names else len(names)
    return RULES[last - 1 : last] if case.given else RULES[:last]


def parse_context(text: str, root: Node, line: int = 1) -> RuleContext:
    """Return the context that ``setting=value, …`` says.

    Settings are the fields of `RuleContext`. ``overlap=61%`` says how many row groups overlap in a column (1 % where
    nothing is said), or in a sentence why that is not known; ``left=5MB`` what a scan's own conditions leave of it.
    Both may be said of one column or table: ``overlap fact.k=61%``, ``left fact=5MB``.
    """
    scans = {scan.id: scan for scan in root.scans()}
    known = {"", *(scan.table for scan in root.scans())}
    known |= {f"{scan.table}.{column.name}" for scan in root.scans() for column in scan.output}
    overlap: dict[str, Clustering] = {"": Clustering(_CONTAINERS, _SORTED)}
    left: dict[str, int] = {}
    settings: dict[str, Any] = {}
    readers = dict(_readers())
    for setting in filter(None, text.split(", ")):
        name, equals, value = setting.partition("=")
        kind, _, of = name.partition(" ")
        try:
            if kind in ("overlap", "left") and of not in known:
                raise ValueError(f"a table or column of the plan, not {of}")
            if equals and kind == "overlap":
                overlap[of] = _overlap(value)
            elif equals and kind == "left":
                left[of] = parse_bytes(value)
            elif equals and name in readers:
                settings[name] = readers[name](value)
            else:
                raise ValueError(f"setting=value with one of {', '.join(readers)}, overlap, left")
        except ValueError as wrong:
            raise FixtureError(line, setting, str(wrong)) from None

    def clustering(scan: int, column: int) -> Clustering:
        held = scans[scan].find_column(column)
        assert held is not None
        return overlap.get(f"{scans[scan].table}.{held.name}", overlap[""])

    def bytes_left(scan: Scan) -> int:
        return left.get(scan.table, left.get("", scan.bytes))

    return RuleContext(**settings | {CLUSTERING: clustering, BYTES_LEFT: bytes_left})


def _readers() -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield how the value of each field of the context is read, which its default tells."""
    for setting in fields(RuleContext):
        match setting.default:
            case bool():
                yield setting.name, _switch
            case int():
                yield setting.name, parse_bytes
            case float():
                yield setting.name, float
            case Enum() as default:
                yield setting.name, type(default)


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("on or off")
    return text == "on"


def _overlap(text: str) -> Clustering:
    share = re.fullmatch(r"(\d+)%", text)
    return Clustering(_CONTAINERS, int(share[1]) / 100) if share else Clustering(1, 1.0, text)


def _given(case: Case, root: Node) -> tuple[PlannedFilter, ...]:
    """Return filters that are given as ``build table -> probe table``, over the first column of each."""
    scans = {scan.table: scan for scan in root.scans()}
    found = []
    for number, edge in enumerate(case.given.split(", ")):
        build, _, probe = (scans.get(end) for end in edge.partition(" -> "))
        if build is None or probe is None:
            raise FixtureError(case.line, edge, f"build -> probe with two of {', '.join(scans)}")
        key, to = build.output[0], probe.output[0]
        found.append(
            PlannedFilter(
                id=f"df_{number}",
                join=root.id,
                op=COMPARISONS["="],
                build=build.id,
                build_column=key.id,
                probe=probe.id,
                probe_expression=Expression(references=frozenset({to.id}), column=to.id),
                compared=key.type,
                clause=edge,
                consumers=(Consumer(probe.id, to.id, key.type),),
            )
        )
    return tuple(found)


def rewritten(text: str, rule: str) -> str:
    """Return a file with what the rules plan now in place of what was expected; all else stays as it is."""
    lines = text.splitlines()
    for case in reversed(read_cases(text, rule)):
        for outcome in reversed(case.outcomes):
            end = next((at for at in range(outcome.line, len(lines)) if re.match("---|===", lines[at])), len(lines))
            blank = [""] if end < len(lines) and lines[end].startswith("===") else []
            lines[outcome.line : end] = [*run_case(case, outcome).splitlines(), *blank]
    return "\n".join(lines) + "\n"
