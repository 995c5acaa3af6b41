"""The rules run in one documented order over a plan that never changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headgate.plan import RULES, QueryPlan, RuleContext, Strategy, plan_filters
from headgate.plan.casts import lossy_cast
from tests.plan.builders import COST, EVERY, MB, alive, clause, column, computed, join, numbered, planned, scan, where

DOCUMENT = Path(__file__).parents[2] / "docs" / "rules.md"
K, ID = column(1, "k"), column(11, "id")
ROOT = join(scan("fact", K, bytes=1000 * MB), where(scan("dim", ID)), clause(K, ID))


def test_the_order_of_the_rules() -> None:
    """Filters are planned, traced, checked, chosen and ordered: each rule needs what the one before it found."""
    assert [rule.__name__ for rule in RULES] == [
        "add_dynamic_filters",
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


def test_the_whole_pipeline() -> None:
    """A star of one dimension: one filter to the fact table in wave 0, the other direction dropped with a reason."""
    plan = plan_filters(numbered(ROOT), COST)

    assert alive(plan) == {"dim.id": ["fact.k"]}
    assert [(f.wave, f.is_alive) for f in plan.filters] == [(0, True), (-1, False)]
    assert all(f.reason for f in plan.filters if not f.is_alive)


def test_rules_change_no_node_and_give_the_same_plan_each_time() -> None:
    """Rules are functions of the plan: the tree is handed on as it is, and a second run plans the same."""
    root = numbered(ROOT)
    first, second = plan_filters(root, EVERY), plan_filters(root, EVERY)

    assert first.root is root
    assert first == second


@pytest.mark.parametrize("strategy", list(Strategy))
def test_no_rule_changes_a_finished_plan_but_the_first(strategy: Strategy) -> None:
    """Each rule after the first leaves what it has done already as it is."""
    context = RuleContext(strategy=strategy, clustering=COST.clustering)
    done = plan_filters(numbered(ROOT), context)
    for rule in RULES[1:]:
        assert rule(done, context) == done


def test_no_rules_plan_nothing() -> None:
    """A plan that no rule has seen has no filters, and can be reported."""
    assert plan_filters(numbered(ROOT), COST, rules=()) == QueryPlan(numbered(ROOT))


def test_every_join_has_a_filter_or_a_reason() -> None:
    """After the first rule each join has filters or stands among the unfiltered."""
    other = column(21, "o")
    root = join(ROOT, scan("other", other), clause(computed(K), computed(other)))
    plan = planned(root, RULES[:1])

    assert {f.join for f in plan.filters} | {number for number, _ in plan.unfiltered} == {0, 1}


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
