"""What a query itself asks of the columns of a scan, read from plain comparisons only."""

from __future__ import annotations

import datetime as dt

import pytest

from headgate.domain import Domain
from headgate.plan.statics import static_domains
from tests.plan.fixture_text import parse_plan

TABLE = "Scan table(day date, n int, name string)"


def asked(condition: str) -> dict[str, Domain]:
    return static_domains(parse_plan(f"Filter {condition}\n  {TABLE}"))[1]


@pytest.mark.parametrize(
    ("condition", "of", "expected"),
    [
        ("n < 5", "n", Domain.range("int", None, 4)),
        ("5 < n", "n", Domain.range("int", 6, None)),
        ("n = -7", "n", Domain.single("int", -7)),
        ("day >= DATE '1994-02-01'", "day", Domain.range("date", dt.date(1994, 2, 1), None)),
        ("n >= 5 AND n < 9", "n", Domain.range("int", 5, 8)),
    ],
)
def test_plain_comparisons(condition: str, of: str, expected: Domain) -> None:
    assert asked(condition) == {of: expected}


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param("name = 'a'", id="text"),
        pytest.param("n < (1 + 1)", id="computed literal"),
        pytest.param("day > DATE '0000-01-01'", id="year 0"),
        pytest.param("n <=> NULL", id="null-safe"),
        pytest.param("(n + 1) < 5", id="computed column"),
        pytest.param("n < day", id="two columns"),
        pytest.param("n IN (1, 2)", id="no comparison"),
    ],
)
def test_anything_else_says_nothing(condition: str) -> None:
    assert asked(condition) == {}


def test_through_projections_and_only_right_above_the_scan() -> None:
    narrow = parse_plan(f"Filter n < 5\n  Project n\n    {TABLE}")
    assert static_domains(narrow) == {2: {"n": Domain.range("int", None, 4)}}
    assert static_domains(parse_plan(TABLE)) == {}
