"""The dynamic filter operator: what each move of the right value tells, for each comparison."""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.stream import dynamic_filter
from tests.stream.epochs import Driver, Epoch, Operator, Told, left, right

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
}


pytestmark = [pytest.mark.usefixtures("operators"), pytest.mark.turns(2)]


def filters(condition: str, **options: Any) -> Operator:
    options = {"key": "id", "order": "at", "vnodes": 2, **options}
    return lambda one, other: dynamic_filter(one, other, condition, **options)


def compared(symbol: str, **options: Any) -> Operator:
    return filters(f"v {symbol} m", **options)


def ids(changes: list[Told]) -> list[str]:
    return sorted(f"{op} {k}" for op, k, *_ in changes)


# --- RisingWave's own tables: scenarios 1 to 5 ------------------------------------------------------------------------
# left rows and right moves, and what each epoch tells

THREE = left(("+I", 1), ("+I", 2), ("+I", 3))
TABLES: dict[str, tuple[list[Epoch], list[list[str]]]] = {
    ">": (
        [THREE, right(2), left(("+I", 4), ("-D", 3)), right(1), right(4)],
        [[], ["+I 3"], ["+I 4", "-D 3"], ["+I 2"], ["-D 2", "-D 4"]],
    ),
    ">=": (
        [THREE, right(3), left(("+I", 4), ("-D", 3)), right(2), right(5)],
        [[], ["+I 3"], ["+I 4", "-D 3"], ["+I 2"], ["-D 2", "-D 4"]],
    ),
    "<": (
        [left(("+I", 2), ("+I", 3), ("+I", 4)), right(3), left(("+I", 1), ("-D", 2)), right(4), right(1)],
        [[], ["+I 2"], ["+I 1", "-D 2"], ["+I 3"], ["-D 1", "-D 3"]],
    ),
    "<=": (
        [left(("+I", 2), ("+I", 3), ("+I", 4)), right(2), left(("+I", 1), ("-D", 2)), right(3), right(0)],
        [[], ["+I 2"], ["+I 1", "-D 2"], ["+I 3"], ["-D 1", "-D 3"]],
    ),
}


@pytest.mark.parametrize("symbol", TABLES)
def test_the_tables_of_the_seed(spark: SparkSession, tmp_path: Path, symbol: str) -> None:
    """Scenarios 1 to 5: with a restart in the middle, nothing is told twice."""
    epochs, expected = TABLES[symbol]
    driver = Driver(spark, tmp_path, {symbol: compared(symbol)})
    for part in (epochs[:2], epochs[2:]):
        driver.feed(part)
        driver.run()
    assert [ids(changes) for changes in driver.told[symbol]] == expected


# --- each move from one place to another ------------------------------------------------------------------------------

WHOLE = os.environ.get("HEADGATE_SUITES") == "all"
PLACES = [None, 0, 2, 3, 5, 9]  # below all, on a row, between rows, on several rows, above all
ROWS = [(1, 1), (2, 2), (3, 4), (4, 5), (5, 5), (6, 7)]  # k, v


def round_trip(places: list[int | None]) -> list[int | None]:
    """Return a way that takes each step from one place to another once."""
    way, left = [places[0]], [(a, b) for a in places for b in places if a != b]
    while left:
        # the place with most ways out first: so none is left over at the end
        step = max((s for s in left if s[0] == way[-1]), key=lambda s: sum(other[0] == s[1] for other in left))
        left.remove(step)
        way.append(step[1])
    return way


def test_every_move(spark: SparkSession, tmp_path: Path) -> None:
    """From each place to each other, for each comparison: the rows between, once."""
    moves = round_trip(PLACES if WHOLE else PLACES[::2])
    epochs = [Epoch(left=[("+I", k, v, None) for k, v in ROWS]), *(right(value) for value in moves)]
    driver = Driver(spark, tmp_path, {symbol: compared(symbol) for symbol in COMPARISONS})
    driver.feed(epochs)
    driver.run()
    for symbol, holds in COMPARISONS.items():
        before: set[int] = set()
        for value, changes in zip([None, *moves], driver.told[symbol], strict=True):
            now = {k for k, v in ROWS if value is not None and holds(v, value)}
            expected = [f"+I {k}" for k in now - before] + [f"-D {k}" for k in before - now]
            assert ids(changes) == sorted(expected), f"{symbol} {value}"
            before = now


def test_moves_within_an_epoch_and_updates(spark: SparkSession, tmp_path: Path) -> None:
    """Left rows are judged by the committed value; of the right values of an epoch only the last counts."""
    update = partial(Epoch, right=())
    epochs = [
        Epoch(left=[("+I", k, k, "old") for k in range(1, 7)], right=[(0, 3)]),
        right(1, 5, 3),  # there and back: nothing
        Epoch(left=[("+I", 9, 4, None)], right=[(0, 6)]),  # comes by the committed 3, goes by the new 6
        update(left=[("-U", 1, 1, "old"), ("+U", 1, 9, "new")]),  # F to T
        update(left=[("+U", 1, 8, "newer"), ("-U", 1, 9, "new")]),  # T to T, in the wrong order
        update(left=[("-U", 1, 8, "newer"), ("+U", 1, 8, "same value")]),  # T to T
        update(left=[("-U", 1, 8, "same value"), ("+U", 1, 2, "back")]),  # T to F
        update(left=[("-U", 2, 2, "old"), ("+U", 2, 3, "new")]),  # F to F
        update(left=[("-U", 1, 2, "back"), ("+U", 1, 9, "a"), ("-U", 1, 9, "a"), ("+U", 1, 7, "b")]),  # twice
        update(left=[("+I", 7, None, None), ("+I", 8, 8, None)]),  # a NULL is never stored
        right(None),
        right(0),
    ]
    driver = Driver(spark, tmp_path, {">": compared(">")})
    driver.feed(epochs)
    driver.run()
    told = [sorted((op, k, v) for op, k, v, _ in changes) for changes in driver.told[">"]]
    assert told[0] == [("+I", 4, 4), ("+I", 5, 5), ("+I", 6, 6)]
    assert told[1] == []
    assert told[2] == [("+I", 9, 4), ("-D", 4, 4), ("-D", 5, 5), ("-D", 6, 6), ("-D", 9, 4)]
    assert told[3] == [("+I", 1, 9)]
    assert told[4] == [("+U", 1, 8), ("-U", 1, 9)]
    assert told[5] == [("+U", 1, 8), ("-U", 1, 8)]
    assert told[6] == [("-D", 1, 8)]
    assert told[7] == []
    assert driver.after_each_epoch(">")[8] == Counter({(1, 7, "b"): 1})
    assert told[9] == [("+I", 8, 8)]
    assert told[10] == [("-D", 1, 7), ("-D", 8, 8)]
    assert told[11] == sorted(("+I", k, v) for k, v in [(1, 7), (2, 3), (3, 3), (4, 4), (5, 5), (6, 6), (8, 8), (9, 4)])


def test_a_changelog_as_right_side(spark: SparkSession, tmp_path: Path) -> None:
    """Scenario 7: no row, then one, an update in either order, none again; a deleted row is like NULL."""
    epochs = [
        THREE,
        Epoch(right=[("+I", None)]),
        Epoch(right=[("-U", None), ("+U", 0)]),
        Epoch(right=[("+U", 2), ("-U", 0)]),
        Epoch(right=[("-U", 2), ("+U", 1)]),
        Epoch(right=[("-D", 1)]),
        Epoch(right=[("+I", 1)]),
        Epoch(right=[("-D", 1), ("+I", 9), ("-D", 9), ("+I", 1)]),
    ]
    driver = Driver(spark, tmp_path, {">": compared(">", order=None)}, changelog=True)
    driver.feed(epochs)
    driver.run()
    there = [{row[0] for row in state} for state in driver.after_each_epoch(">")]
    assert there == [set(), set(), {1, 2, 3}, {3}, {2, 3}, set(), {2, 3}, {2, 3}]
    assert driver.told[">"][7] == []


def test_conditions(spark: SparkSession, tmp_path: Path) -> None:
    """Scenarios 9, 10, 12, 14: expressions and other types on either side, several comparisons, plain predicates."""
    conditions: dict[str, Callable[[int, int], bool]] = {
        "v + v > m": lambda v, m: v + v > m,
        "v > 2 * m": lambda v, m: v > 2 * m,
        "m < v": lambda v, m: m < v,
        "right.m <> left.v": lambda v, m: m != v,
        "v > m and v < m + 5": lambda v, m: m < v < m + 5,
        "v >= m and id % 2 = 0": lambda v, m: v >= m and v % 2 == 0,
        "cast(v as double) > m / 2": lambda v, m: v > m / 2,
        "not (v = m)": lambda v, m: v != m,
    }
    driver = Driver(spark, tmp_path, {text: filters(text) for text in conditions}, right_type="int")
    moves = [3, 5, 0, -2, 7, 4]
    driver.feed([left(*(("+I", k) for k in range(12))), *(right(value) for value in moves)])
    driver.run()
    for text, holds in conditions.items():
        for value, state in zip(moves, driver.after_each_epoch(text)[1:], strict=True):
            assert sorted(row[0] for row in state) == [v for v in range(12) if holds(v, value)], f"{text}, m = {value}"


def test_rows_that_are_there_twice(spark: SparkSession, tmp_path: Path) -> None:
    """The same row twice is two rows; each goes when it is deleted."""
    driver = Driver(spark, tmp_path, {">": compared(">")})
    twice = left(("+I", 1, 5), ("+I", 1, 5), ("+I", 2, 5))
    driver.feed([twice, right(0), left(("-D", 1, 5)), right(9), right(0), left(("-D", 1, 5))])
    driver.run()
    told = [ids(changes) for changes in driver.told[">"]]
    one, two = ["+I 1", "+I 2"], ["-D 1", "-D 2"]
    assert told == [[], ["+I 1", *one], ["-D 1"], two, one, ["-D 1"]]


# --- types ------------------------------------------------------------------------------------------------------------


def test_a_batch_side_is_refused(spark: SparkSession) -> None:
    """What cannot work is said before the query starts."""
    stream: DataFrame = spark.readStream.format("rate").load()
    with pytest.raises(ValueError, match="the left side is a batch DataFrame"):
        dynamic_filter(spark.range(3), stream, "id > value", "id")


def test_backticks_in_names(spark: SparkSession, tmp_path: Path) -> None:
    """Names of columns may hold any character, as key, as order, and beside a plain predicate."""

    def odd(rows: DataFrame, values: DataFrame) -> DataFrame:
        named = rows.withColumnsRenamed({"id": "i`d", "note": "no.te"})
        told = dynamic_filter(
            named, values.withColumnRenamed("at", "a`t"), "v > m and v < 9", "i`d", order="a`t", vnodes=2
        )
        return told.withColumnsRenamed({"i`d": "id", "no.te": "note"})

    driver = Driver(spark, tmp_path, {"odd": odd})
    driver.feed([left(("+I", 1), ("+I", 3), ("+I", 9)), right(2)])
    driver.run()
    assert ids(driver.told["odd"][-1]) == ["+I 3"]
