"""A container is skipped only when its statistics rule out every row that could matter."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import BloomBits, ColumnStatistics, Domain, Verdict, judge
from headgate.domain.statistics import end_of_prefix
from tests.domain.strategies import TYPES, maybe_null, models, order_key, per_type

SKIP, KEEP = Verdict.SKIP, Verdict.KEEP


def statistics_of(name: str, rows: list[Any], hidden: set[str]) -> ColumnStatistics:
    """The statistics that a writer would keep of some rows, some of them left out; NaN is never in them."""
    kept = sorted((r for r in rows if r is not None and r == r), key=lambda v: order_key(name, v))
    return ColumnStatistics(
        min=kept[0] if kept and "min" not in hidden else None,
        max=kept[-1] if kept and "max" not in hidden else None,
        null_count=None if "nulls" in hidden else rows.count(None),
        row_count=None if "rows" in hidden else len(rows),
    )


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_a_container_with_a_member_is_kept(name: str, data: st.DataObject) -> None:
    """Whatever statistics are missing, a container in which some row matches is never skipped."""
    domain = data.draw(models(name)).domain
    rows = data.draw(st.lists(maybe_null(name), max_size=6))
    statistics = statistics_of(name, rows, data.draw(st.sets(st.sampled_from(["min", "max", "nulls", "rows"]))))
    if any(row in domain for row in rows):
        assert judge(domain, statistics) is KEEP


@pytest.mark.parametrize(
    ("domain", "statistics", "verdict"),
    [
        (Domain.of("int", [3, 42]), ColumnStatistics(1, 10), KEEP),
        (Domain.of("int", [3, 42]), ColumnStatistics(11, 40), SKIP),
        (Domain.of("int", [3, 42]), ColumnStatistics(), KEEP),
        (Domain.of("int", [3, 42]), ColumnStatistics(min=43), SKIP),
        (Domain.of("int", [3, 42]), ColumnStatistics(max=2), SKIP),
        (Domain.of("int", [3, 42]), ColumnStatistics(min=4), KEEP),
        (Domain.of("int", [3]), ColumnStatistics(1, 10, null_count=5, row_count=5), SKIP),
        (Domain.of("int", [3]), ColumnStatistics(1, 10, row_count=0), SKIP),
        (Domain.of("int", [3]), ColumnStatistics(10, 1), KEEP),
        (Domain.none("int"), ColumnStatistics(), SKIP),
        (Domain.all("int"), ColumnStatistics(row_count=0), SKIP),
        (Domain.all("int"), ColumnStatistics(), KEEP),
        (Domain.not_null("int"), ColumnStatistics(null_count=2, row_count=2), SKIP),
        (Domain.not_null("int"), ColumnStatistics(null_count=2, row_count=3), KEEP),
        (Domain.only_null("int"), ColumnStatistics(1, 10, null_count=0), SKIP),
        (Domain.only_null("int"), ColumnStatistics(1, 10, null_count=1), KEEP),
        (Domain.only_null("int"), ColumnStatistics(1, 10), KEEP),
        (Domain.of("int", [99], null_allowed=True), ColumnStatistics(1, 10), KEEP),
        (Domain.of("int", [99], null_allowed=True), ColumnStatistics(1, 10, null_count=0), SKIP),
        (Domain.single("double", math.nan), ColumnStatistics(1.0, 2.0), KEEP),
        (Domain.single("double", math.nan), ColumnStatistics(1.0, 2.0, null_count=3, row_count=3), SKIP),
        (Domain.range("double", 5.0), ColumnStatistics(1.0, 2.0), KEEP),
        (Domain.range("double", 5.0, math.inf), ColumnStatistics(1.0, 2.0), SKIP),
        (Domain.single("double", 5.0), ColumnStatistics(math.nan, 2.0), KEEP),
        (Domain.single("double", 5.0), ColumnStatistics(1.0, math.nan), KEEP),
        (Domain.single("double", 0.0), ColumnStatistics(-0.0, -0.0), KEEP),
        (Domain.single("double", -0.0), ColumnStatistics(0.0, 1.0), KEEP),
        (Domain.single("string", "abz"), ColumnStatistics("aa", "ab"), SKIP),
        (Domain.single("string", "abz"), ColumnStatistics("aa", "ab", max_truncated=True), KEEP),
        (Domain.single("string", "ac"), ColumnStatistics("aa", "ab", max_truncated=True), SKIP),
        (Domain.single("string", "ac\0"), ColumnStatistics("aa", "ab", max_truncated=True), SKIP),
        (Domain.single("string", "\U0010ffffz"), ColumnStatistics("a", "\U0010ffff", max_truncated=True), KEEP),
        (Domain.single("binary", b"\xff\xff\xff"), ColumnStatistics(b"", b"\xff\xff", max_truncated=True), KEEP),
        (Domain.single("binary", b"b"), ColumnStatistics(b"", b"a\xff", max_truncated=True), SKIP),
    ],
)
def test_verdicts(domain: Domain, statistics: ColumnStatistics, verdict: Verdict) -> None:
    """Known, missing, contradictory, truncated and NaN statistics give the verdict that loses no row."""
    assert judge(domain, statistics) is verdict


def test_a_container_of_one_value_is_asked_by_hash() -> None:
    """Where the smallest value is the largest, a bloom can rule it out."""
    bloom = Domain.bloom("int", BloomBits(3, np.zeros(8, dtype=np.uint64)), Domain.range("int", 0, 10))
    assert judge(bloom, ColumnStatistics(5, 5)) is SKIP
    assert judge(bloom, ColumnStatistics(5, 6)) is KEEP
    assert judge(bloom, ColumnStatistics(11, 11)) is SKIP


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_end_of_a_prefix_is_above_all_that_begin_with_it(prefix: str, rest: str) -> None:
    """The end is above the prefix followed by anything, and is text itself; only the largest has none."""
    end = end_of_prefix(prefix)
    if end is None:
        assert set(prefix) <= {chr(sys.maxunicode)}
    else:
        assert end.encode() > (prefix + rest).encode()
        assert end_of_prefix(prefix.encode()) <= end.encode()


@given(st.binary(max_size=4), st.binary(max_size=4), st.binary(max_size=6))
def test_the_end_of_a_prefix_of_bytes_is_the_lowest_such(prefix: bytes, rest: bytes, other: bytes) -> None:
    """Nothing below the end is above all that begin with the prefix."""
    end = end_of_prefix(prefix)
    if end is None:
        assert set(prefix) <= {0xFF}
        return
    assert prefix + rest < end
    if prefix <= other < end:
        assert other.startswith(prefix)


def test_the_end_of_a_prefix_steps_over_surrogates() -> None:
    """After U+D7FF comes U+E000: what lies between is no text."""
    assert end_of_prefix("a\ud7ff") == "a\ue000"
    assert end_of_prefix("a\U0010ffff") == "b"
    assert end_of_prefix("\U0010ffff") is end_of_prefix("") is end_of_prefix(b"\xff") is None
