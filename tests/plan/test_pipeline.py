"""The rules run in one documented order over a plan that never changes."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import pytest

from headgate.plan import RULES, Clustering, QueryPlan, Rule, RuleContext, Strategy, plan_filters
from headgate.plan.casts import lossy_cast
from tests.plan.fixture_text import parse_plan

DOCUMENT = Path(__file__).parents[2] / "docs" / "rules.md"
ROOT = parse_plan("""
Join INNER k = id
  Scan fact(k int) 1000MB
  Filter id > 0
    Scan dim(id int) 1MB
""")


def test_the_order_of_the_rules() -> None:
    """Filters are planned, traced, checked, chosen and ordered: each rule needs what the one before it found."""
    assert [rule.__name__ for rule in RULES] == [
        "add_dynamic_filters",
        "add_published_filters",
        "trace_to_scans",
        "remove_unsupported_filters",
        "choose_filters",
        "order_filters",
    ]


def test_the_document_lists_the_rules_in_their_order() -> None:
    """docs/rules.md has one row for each rule of the pipeline, in order, with each cell filled."""
    rows = [line for line in DOCUMENT.read_text().splitlines() if re.match(r"\|\s*`", line)]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]

    assert [row[0].strip("`") for row in cells] == [rule.__name__ for rule in RULES]
    assert all(len(row) == 3 and all(row) for row in cells)


@pytest.mark.parametrize("rule", RULES, ids=[rule.__name__ for rule in RULES])
def test_each_rule_shows_an_example(rule: Rule) -> None:
    """The docstring of a rule's module shows in an indented line or more what becomes of what."""
    assert re.search(r"^    \S", getdoc(import_module(rule.__module__)) or "", re.MULTILINE)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_no_rule_changes_a_finished_plan_but_the_first(strategy: Strategy) -> None:
    """Each rule after the first leaves what it has done already as it is."""
    context = RuleContext(strategy=strategy, clustering=lambda scan, column: Clustering(100, 0.01))
    done = plan_filters(ROOT, context)
    assert any(planned.is_alive for planned in done.filters)
    for rule in RULES[1:]:
        assert rule(done, context) == done


def test_a_node_is_found_by_its_number() -> None:
    plan = QueryPlan(ROOT)
    assert [plan.node(node.id) for node in ROOT.walk()] == list(ROOT.walk())
    assert plan.nodes() == {node.id: node for node in ROOT.walk()}


def test_no_rules_plan_nothing() -> None:
    """A plan that no rule has seen has no filters, and can be reported."""
    assert plan_filters(ROOT, RuleContext(), rules=()) == QueryPlan(ROOT)


@pytest.mark.parametrize(
    ("stored", "steps", "lossy"),
    [
        ("int", (), False),
        ("int", ("bigint",), False),
        ("int", ("bigint", "int"), True),
        ("int", ("decimal(10,0)",), False),
        ("int", ("decimal(9,0)",), True),
        ("int", ("double",), False),
        ("bigint", ("double",), True),
        ("float", ("double",), False),
        ("double", ("float", "double"), True),
        ("date", ("timestamp_ntz", "date"), True),
        ("string", ("binary",), True),
        ("int", ("struct<a:int>",), True),
    ],
)
def test_lossy_casts_step_by_step(stored: str, steps: tuple[str, ...], lossy: bool) -> None:
    """A chain of casts is lossless only if each of its steps is."""
    assert bool(lossy_cast(stored, steps)) is lossy
