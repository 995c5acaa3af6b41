"""What happened and why: the report of a query, and its plan explained."""

from headgate.observe.explain import explain_text
from headgate.observe.report import FilterReport, JoinReport, LateReport, QueryReport, ScanReport

__all__ = ["FilterReport", "JoinReport", "LateReport", "QueryReport", "ScanReport", "explain_text"]
