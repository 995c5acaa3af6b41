"""Answers with Headgate off and on: the same rows, the same but for the last digits, or which row differs."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

import headgate
from headgate.comparison import Comparison, _are_same, _difference
from headgate.errors import BadInput
from headgate.observe import QueryReport

COLUMNS = ("k", "total")


@pytest.mark.parametrize(
    ("off", "on", "expected"),
    [
        ([(1, 2.5), (2, None)], [(2, None), (1, 2.5)], (True, ())),
        ([(1, 16460806.693769602)], [(1, 16460806.693769526)], (True, ("total",))),
        ([(1, 0.1), (1, 0.3)], [(1, 0.30000000000000004), (1, 0.1)], (True, ("total",))),
        ([(1, 2.5)], [(1, 2.5001)], (False, ())),
        ([(1, 0.0)], [(1, -0.0)], (True, ("total",))),
        ([(1, float("nan"))], [(1, float("nan"))], (True, ())),
        ([(1, float("nan"))], [(1, 1.0)], (False, ())),
        ([(1, 2)], [(1, 2.0)], (False, ())),
        ([(1, 2.5)], [(1, 2.5), (1, 2.5)], (False, ())),
        ([(1, 2.5)], [], (False, ())),
        ([(1, 2.5), (1, 2.5)], [(1, 2.5), (2, 2.5)], (False, ())),
    ],
)
def test_which_answers_are_the_same(
    off: list[tuple[object, ...]], on: list[tuple[object, ...]], expected: tuple[bool, tuple[str, ...]]
) -> None:
    assert _are_same(off, on, COLUMNS) == expected


def test_a_row_of_each_that_the_other_lacks() -> None:
    off, on = [Row(k=1), Row(k=2), Row(k=2)], [Row(k=1), Row(k=2), Row(k=3)]
    assert _difference(off, on) == "only off: Row(k=2); only on: Row(k=3)"
    assert _difference(off, off[:2]) == "only off: Row(k=2)"


def test_one_line_says_which() -> None:
    same = Comparison(1.0, 0.5, COLUMNS, [], True, QueryReport(), ("total",))
    other = Comparison(1.0, 0.5, COLUMNS, [], False, QueryReport(), (), "only off: Row(k=2)")
    assert repr(same).startswith("<Comparison: the same rows, but for the last digits of total, 1.00 s off")
    assert repr(other).startswith("<Comparison: OTHER ROWS (only off: Row(k=2)), 1.00 s off")


def test_what_is_no_session_and_no_frame(spark: SparkSession) -> None:
    frame: Any = spark.range(3)
    for ask in (headgate.enable, headgate.report):
        with pytest.raises(BadInput, match="this needs a SparkSession, not DataFrame"):
            ask(frame)
    with pytest.raises(BadInput, match="explain needs a DataFrame, not str"):
        headgate.explain("select 1")  # type: ignore[arg-type]
    with pytest.raises(
        BadInput, match="compare needs a function that makes the DataFrame anew each time, not DataFrame"
    ):
        headgate.compare(spark, frame)
