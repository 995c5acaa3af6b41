"""What a query itself asks of the columns of a scan, read from plain comparisons only."""

from __future__ import annotations

import datetime as dt

import pytest

from headgate.domain import Domain
from headgate.plan.nodes import Column, Conjunct
from headgate.plan.statics import static_domains
from tests.plan.builders import clause, column, computed, literal, numbered, project, ref, scan, where

DAY, N, NAME = column(1, "day", "date"), column(2, "n", "int"), column(3, "name", "string")
TABLE = scan("table", DAY, N, NAME)


def asked(*conjuncts: Conjunct) -> dict[str, Domain]:
    found = static_domains(numbered(where(TABLE, *conjuncts)))
    return found[1]


@pytest.mark.parametrize(
    ("test", "of", "expected"),
    [
        (clause(N, literal("5"), "<"), N, Domain.range("int", None, 4)),
        (clause(literal("5"), N, "<"), N, Domain.range("int", 6, None)),
        (clause(N, literal("-7"), "="), N, Domain.single("int", -7)),
        (clause(DAY, literal("DATE '1994-02-01'"), ">="), DAY, Domain.range("date", dt.date(1994, 2, 1), None)),
    ],
)
def test_plain_comparisons(test: Conjunct, of: Column, expected: Domain) -> None:
    assert asked(test) == {of.name: expected}


def test_several_conditions_of_one_column() -> None:
    between = (clause(N, literal("5"), ">="), clause(N, literal("9"), "<"))
    assert asked(*between) == {"n": Domain.range("int", 5, 8)}


@pytest.mark.parametrize(
    "test",
    [
        clause(NAME, literal("'a'")),
        clause(N, literal("(1 + 1)"), "<"),
        clause(DAY, literal("DATE '0000-01-01'"), ">"),
        clause(N, literal("NULL"), "<=>"),
        clause(computed(N), literal("5"), "<"),
        clause(N, DAY, "<"),
        Conjunct("other", "n in (1, 2)"),
    ],
    ids=["text", "computed literal", "year 0", "null-safe", "computed column", "two columns", "no comparison"],
)
def test_anything_else_says_nothing(test: Conjunct) -> None:
    assert asked(test) == {}


def test_through_projections_and_only_right_above_the_scan() -> None:
    narrow = where(project(TABLE, (N, ref(N))), clause(N, literal("5"), "<"))
    assert static_domains(numbered(narrow)) == {2: {"n": Domain.range("int", None, 4)}}
    assert static_domains(numbered(TABLE)) == {}
