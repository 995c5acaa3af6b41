"""Run the rules in order over a query; the order is data."""

from __future__ import annotations

from headgate.plan.context import Rule, RuleContext
from headgate.plan.nodes import Node, QueryPlan
from headgate.plan.rules.add_dynamic_filters import add_dynamic_filters
from headgate.plan.rules.add_published_filters import add_published_filters
from headgate.plan.rules.choose_filters import choose_filters
from headgate.plan.rules.order_filters import order_filters
from headgate.plan.rules.remove_unsupported_filters import remove_unsupported_filters
from headgate.plan.rules.trace_to_scans import trace_to_scans

RULES: tuple[Rule, ...] = (
    add_dynamic_filters,
    add_published_filters,
    trace_to_scans,
    remove_unsupported_filters,
    choose_filters,
    order_filters,
)


def plan_filters(root: Node, context: RuleContext, rules: tuple[Rule, ...] = RULES) -> QueryPlan:
    """Return the query with its filters planned: who feeds whom, in which order, and why not where not."""
    plan = QueryPlan(root)
    for rule in rules:
        plan = rule(plan, context)
    return plan
