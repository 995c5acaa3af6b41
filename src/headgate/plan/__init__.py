"""The query as frozen nodes, and the rules that plan its filters; no Spark, no Arrow, no I/O in here."""

from headgate.plan.context import Clustering, Rule, RuleContext, Strategy
from headgate.plan.nodes import Consumer, Node, PlannedFilter, QueryPlan, Scan
from headgate.plan.pipeline import RULES, plan_filters

__all__ = [
    "RULES",
    "Clustering",
    "Consumer",
    "Node",
    "PlannedFilter",
    "QueryPlan",
    "Rule",
    "RuleContext",
    "Scan",
    "Strategy",
    "plan_filters",
]
