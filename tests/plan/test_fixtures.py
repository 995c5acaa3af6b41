"""Each case of tests/plan/fixtures plans what its text expects; HEADGATE_UPDATE_FIXTURES=1 rewrites the texts."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from headgate.plan import RULES, plan_filters
from headgate.plan.kinds import Feed
from headgate.plan.nodes import Join
from tests.plan.fixture_cases import (
    Case,
    Outcome,
    fixture_files,
    parse_context,
    read_cases,
    rewritten,
    run_case,
)
from tests.plan.fixture_text import parse_plan


def all_cases() -> list[tuple[Path, Case]]:
    """Read all fixtures, and rewrite them before that if a person wants to look at the difference with git."""
    found = []
    for path in fixture_files():
        text = path.read_text()
        if os.environ.get("HEADGATE_UPDATE_FIXTURES"):
            text = rewritten(text, path.stem)
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_text(text)
            fresh.replace(path)  # whole or not at all: another process may read it now
        found += [(path, case) for case in read_cases(text, path.stem)]
    return found


CASES = all_cases()


def name(case: Case, outcome: Outcome) -> str:
    several = f" ({outcome.context or 'as usual'})" if len(case.outcomes) > 1 else ""
    return f"{case.rule}: {case.title}{several}"


@pytest.mark.parametrize(
    ("path", "case", "outcome"),
    [pytest.param(path, case, out, id=name(case, out)) for path, case in CASES for out in case.outcomes],
)
def test_fixture(path: Path, case: Case, outcome: Outcome) -> None:
    found = run_case(case, outcome)
    if found != outcome.expected:
        diff = difflib.unified_diff(
            outcome.expected.splitlines(), found.splitlines(), "expected", "planned", lineterm="", n=99
        )
        where = f"{path.name}:{outcome.line}: {name(case, outcome)}"
        pytest.fail("\n".join([where, "", case.plan, "", *diff]), pytrace=False)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.rule}: {case.title}") for _, case in CASES])
def test_what_holds_of_every_plan(case: Case) -> None:
    """The whole pipeline over each plan: nothing is half planned, and a second run plans the same."""
    root = parse_plan(case.plan, case.plan_line)
    for outcome in case.outcomes:
        context = parse_context(outcome.context, root, outcome.line)
        plan = plan_filters(root, context)

        assert plan.root is root
        assert plan == plan_filters(root, context)
        joins = {node.id for node in root.walk() if isinstance(node, Join)}
        joined = {f.join for f in plan.filters if f.feed is not Feed.PUBLISHED}
        assert joined | {number for number, _ in plan.unfiltered} == joins
        for planned in plan.filters:
            assert planned.is_alive or planned.wave == -1
            assert not planned.is_alive or (planned.consumers and (planned.wave >= 0) == (planned.feed is Feed.BUILD))


def test_each_rule_has_a_fixture() -> None:
    assert {path.stem for path in fixture_files()} == {rule.__name__ for rule in RULES} | {"pipeline"}
