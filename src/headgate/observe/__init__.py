"""What happened and why: the report of a query, made from the facts it left, and its plan explained."""

from headgate.observe.explain import explain_text
from headgate.observe.facts import FilterFacts, LateFacts, QueryFacts, ScanFacts
from headgate.observe.report import FilterReport, FilterState, JoinReport, LateReport, QueryReport, ScanReport
from headgate.observe.telling import report_of

__all__ = [
    "FilterFacts",
    "FilterReport",
    "FilterState",
    "JoinReport",
    "LateFacts",
    "LateReport",
    "QueryFacts",
    "QueryReport",
    "ScanFacts",
    "ScanReport",
    "explain_text",
    "report_of",
]
