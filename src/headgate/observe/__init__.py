"""What happened and why: the report of a query, made from the facts it left, and its plan explained."""

from headgate.observe.explain import PlanLine, explain_text, plan_lines, why_lines
from headgate.observe.facts import FilterFacts, LateFacts, QueryFacts, ScanFacts
from headgate.observe.report import (
    FilterReport,
    FilterState,
    JoinReport,
    LateReport,
    QueryReport,
    QueryReports,
    ScanReport,
)
from headgate.observe.telling import report_of

__all__ = [
    "FilterFacts",
    "FilterReport",
    "FilterState",
    "JoinReport",
    "LateFacts",
    "LateReport",
    "PlanLine",
    "QueryFacts",
    "QueryReport",
    "QueryReports",
    "ScanFacts",
    "ScanReport",
    "explain_text",
    "plan_lines",
    "report_of",
    "why_lines",
]
