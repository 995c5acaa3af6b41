"""What is known of the files of a scan is asked of the right column, and only where that may help."""

from __future__ import annotations

from headgate.plan import RULES, Clustering, QueryPlan, RuleContext, plan_filters
from headgate.plan.rules.choose_filters import choose_filters
from tests.plan.fixture_text import parse_plan

STAR = """
Join RIGHT OUTER k = id
  Scan fact(v int, k int) 1000MB
  Filter x > 0
    Scan dim(id int, x int) 1MB
"""


def planned(text: str, context: RuleContext) -> QueryPlan:
    return plan_filters(parse_plan(text), context, RULES[: RULES.index(choose_filters) + 1])


def test_clustering_is_asked_of_the_scan_and_the_column_of_the_filter() -> None:
    """What is known of another column does not count."""
    asked = []

    def clustering(scan: int, column: int) -> Clustering:
        asked.append((scan, column))
        return Clustering(100, 0.01)

    plan = planned(STAR, RuleContext(clustering=clustering))
    consumer = plan.filters[0].consumers[0]
    key = plan.node(1).output[1]

    assert asked == [(consumer.scan, consumer.column)] == [(1, key.id)]


def test_clustering_is_not_asked_where_sizes_say_no() -> None:
    """Footers are read only for filters that may pay."""

    def never(scan: int, column: int) -> Clustering:
        raise AssertionError("footers were read for nothing")

    plan = planned(STAR.replace("1000MB", "10B"), RuleContext(clustering=never))
    assert "the scan is too small to pay for a filter" in plan.filters[0].reason
