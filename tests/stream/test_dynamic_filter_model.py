"""A model of the dynamic filter operator: whatever arrives, in any order, it tells what a batch query would find."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import headgate
from headgate.catalyst import changes
from tests.stream.epochs import Driver, Epoch
from tests.stream.test_dynamic_filter import COMPARISONS, compared

pytestmark = pytest.mark.turns(2)

Rows = list[tuple[int, Any, str | None]]  # id, v, note
MOST_EXAMPLES = {25: 1, 100: 1, 2000: 40}  # by profile: an example is a streaming query


@pytest.fixture(autouse=True)
def small_blocks(operators: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few hundred rows make many runs, blocks and merges."""
    monkeypatch.setattr(changes, "BLOCK_BYTES", 200)
    monkeypatch.setattr(changes, "FRESH_BYTES", 2_000)


@st.composite
def programs(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> list[Epoch]:
    """Draw epochs whose left side is consistent: only rows that are there are taken away or replaced."""
    there: dict[int, tuple[Any, str | None]] = {}
    epochs, next_key = [], 0
    for _ in range(draw(st.integers(4, 9))):
        left: list[tuple[str, int, Any, str | None]] = []
        for _ in range(draw(st.sampled_from([0, 1, 5, 60]))):
            row = draw(st.one_of(st.none(), values)), draw(st.sampled_from([None, "a", "b"]))
            what = draw(st.sampled_from(["insert", "insert", "update", "delete"])) if there else "insert"
            key = draw(st.sampled_from(sorted(there))) if what != "insert" else next_key
            if what != "insert":
                left.append(("-U" if what == "update" else "-D", key, *there.pop(key)))
            if what != "delete":
                left.append(("+U" if what == "update" else "+I", key, *row))
                there[key] = row
            next_key += what == "insert"
        moves = draw(st.lists(st.one_of(st.none(), values), max_size=2))
        epochs.append(Epoch(left=draw(st.permutations(left)), right=list(enumerate(moves))))
    return epochs


def expected(epochs: list[Epoch], holds: Callable[[Any, Any], bool]) -> list[Counter[Any]]:
    """Which rows a batch query finds after each epoch."""
    there: Counter[Any] = Counter()
    found, value = [], None
    for epoch in epochs:
        for op, *row in epoch.left:
            there[tuple(row)] += 1 if op[0] == "+" else -1
        value = epoch.right[-1][1] if epoch.right else value
        passing = {row: count for row, count in there.items() if count and passes(row[1], value, holds)}
        found.append(Counter({comparable(row): count for row, count in passing.items()}))
    return found


def passes(v: Any, value: Any, holds: Callable[[Any, Any], bool]) -> bool:
    return v is not None and value is not None and holds(ranked(v), ranked(value))


def ranked(value: Any) -> Any:
    """Return what orders like the value does in Spark: NaN above all, strings by their bytes, one zero."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row that equals another if and only if they are the same to the last bit that Python can see."""
    return tuple(
        str(cell) if isinstance(cell, float) else bytes(cell) if isinstance(cell, bytearray) else cell for cell in row
    )


def check(spark: SparkSession, home: Path, kind: str, epochs: list[Epoch], restart: int) -> Driver:
    driver = Driver(spark, home, {symbol: compared(symbol) for symbol in COMPARISONS}, type=kind)
    for part in (epochs[:restart], epochs[restart:]):
        driver.feed(part)
        driver.run()
    for symbol, holds in COMPARISONS.items():
        for number, (state, wanted) in enumerate(
            zip(driver.after_each_epoch(symbol), expected(epochs, holds), strict=True)
        ):
            found: Counter[Any] = Counter()
            for row, count in state.items():  # a row with NaN is not equal to itself, and may be there twice
                found[comparable(row)] += count
            assert +found == wanted, f"{symbol} after epoch {number} of {epochs}"
            assert not -found, f"{symbol} after epoch {number} takes back more than it gave: {epochs}"
    return driver


@settings(max_examples=MOST_EXAMPLES[settings().max_examples], suppress_health_check=list(HealthCheck))
@given(epochs=programs(st.integers(-6, 6)), restart=st.integers(1, 3))
def test_whole_numbers(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, epochs: list[Epoch], restart: int
) -> None:
    check(spark, tmp_path_factory.mktemp("model"), "bigint", epochs, restart)


TEXTS = st.text("ab\0é中", max_size=4) | st.text("x", min_size=15, max_size=20)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "double": st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 5e-324, 1e300]),
    "string": TEXTS,
    "decimal(38,10)": st.decimals(-3, 3, places=1) | st.just(Decimal("-9999999999999999999999999999.9")),
    "date": st.dates(dt.date(1969, 12, 30), dt.date(1970, 1, 3)),
    "binary": TEXTS.map(str.encode),
    "boolean": st.booleans(),
}


@pytest.mark.parametrize(
    "kind", [kind if kind == "double" else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS]
)
def test_other_types(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    """One program for each type that is ordered in a way of its own."""

    @settings(max_examples=max(1, MOST_EXAMPLES[settings().max_examples] // 4), suppress_health_check=list(HealthCheck))
    @given(epochs=programs(KINDS[kind]))
    def run(epochs: list[Epoch]) -> None:
        check(spark, tmp_path_factory.mktemp("model"), kind, epochs, restart=2)

    run()


def test_many_rows_merge(spark: SparkSession, tmp_path: Path) -> None:
    """Thousands of rows in tiny blocks: runs merge over several levels, rows that came and went are forgotten."""
    gone, starts = range(0, 4_000, 3), range(0, 4_000, 800)
    epochs = [Epoch(left=[("+I", k, k * 37 % 1_000, None) for k in range(at, at + 800)]) for at in starts]
    epochs.append(Epoch(left=[("-D", k, k * 37 % 1_000, None) for k in gone], right=[(0, 500)]))
    epochs += [Epoch(right=[(0, value)]) for value in (490, -1, 1_000, 995)]
    driver = check(spark, tmp_path, "bigint", epochs, restart=3)
    kept = [move.rows_kept for move in headgate.streaming_report(driver.query_id).moves]
    assert kept[-1] == 4_000 - len(gone)
