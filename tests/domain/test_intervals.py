"""Intervals stay sorted, disjoint and apart, and combine without losing a place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, value_type
from headgate.domain.intervals import END_OF_TEXT, Cut, Intervals, bound_at, make_interval, top_of, up_from, up_to
from headgate.domain.types import INT64_MAX, INT64_MIN, to_axis
from tests.domain.strategies import TYPES, exact_models, order_key, per_type, pool, values

BIGINT, STRING = value_type("bigint"), value_type("string")


def pairs(intervals: Intervals) -> list[tuple[Any, Any]]:
    return list(zip(intervals.lows.tolist(), intervals.highs.tolist(), strict=True))


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_intervals_are_kept_in_one_form(name: str, data: st.DataObject) -> None:
    """After any operation the intervals are filled, in order, and neither overlap nor touch."""
    a, b = data.draw(exact_models(name)).domain, data.draw(exact_models(name)).domain
    for intervals in (x.values.intervals() for x in (a, a | b, a & b, a - b, ~a, a.simplify(2), a.span())):
        assert all(low <= high for low, high in pairs(intervals))
        for (_, high), (low, _) in zip(pairs(intervals), pairs(intervals)[1:], strict=False):
            assert high < low
            assert len(Intervals.merge(intervals.type, intervals.lows, intervals.highs)) == len(intervals)


def test_touching_intervals_are_one() -> None:
    """[1,3] and [4,9] are [1,9]; "a" and the text right after it, "a" and NUL, touch too."""
    assert pairs((Domain.range("bigint", 1, 3) | Domain.range("bigint", 4, 9)).values.intervals()) == [(1, 9)]
    joined = Domain.of("string", ["a", "a\0"]).values.intervals()
    assert pairs(joined) == [(Cut(0, "a", 0), Cut(0, "a\0", 0))]
    below_b = Domain.range("string", "a", "b", high_inclusive=False)
    assert len((below_b | Domain.single("string", "b")).values.intervals()) == 1
    assert len((below_b | Domain.single("string", "b\0")).values.intervals()) == 2


def test_the_ends_of_int64_do_not_wrap_around() -> None:
    """Next to the smallest and the largest int64 there is nothing, not the other end."""
    ends = Domain.of("bigint", [INT64_MIN, INT64_MAX])
    assert pairs((~ends).values.intervals()) == [(INT64_MIN + 1, INT64_MAX - 1)]
    assert (~ends | ends).is_all
    assert pairs(ends.values.intervals()) == [(INT64_MIN, INT64_MIN), (INT64_MAX, INT64_MAX)]
    assert Domain.range("bigint", INT64_MAX, low_inclusive=False).is_none
    assert Domain.range("bigint", high=INT64_MIN, high_inclusive=False).is_none


def test_text_has_no_value_right_before_another() -> None:
    """Everything below "b" ends in the gap before "b", and holds "a" followed by anything."""
    below = Domain.range("string", high="b", high_inclusive=False)
    assert pairs(below.values.intervals())[0][1] == Cut(0, "b", -1)
    assert "a\U0010ffff\U0010ffff" in below
    assert "b" not in below
    assert Domain.range("string", high="a\0", high_inclusive=False) == Domain.range("string", high="a")
    assert Domain.range("string", high="", high_inclusive=False).is_none
    assert pairs(Domain.not_null("string").values.intervals())[0][1] is END_OF_TEXT


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-3, 12)), max_size=12))
def test_merge_covers_the_same_numbers(given_pairs: list[tuple[int, int]]) -> None:
    """Intervals in any order, overlapping or empty, merge to the same numbers."""
    lows = np.array([low for low, _ in given_pairs], dtype=np.int64)
    highs = np.array([low + width for low, width in given_pairs], dtype=np.int64)
    merged = Intervals.merge(BIGINT, lows, highs)
    wanted = {n for low, high in zip(lows.tolist(), highs.tolist(), strict=True) for n in range(low, high + 1)}
    assert {n for low, high in pairs(merged) for n in range(low, high + 1)} == wanted
    assert sum(high - low + 1 for low, high in pairs(merged)) == len(wanted)


@given(st.sets(st.integers(-1000, 1000), min_size=1, max_size=30), st.integers(1, 6))
def test_the_narrowest_gaps_are_closed_first(places: set[int], most: int) -> None:
    """No choice of gaps covers the values with fewer numbers than simplify does."""
    intervals = Domain.of("bigint", places).values.intervals()
    simple = intervals.simplify(most)
    gaps = sorted(
        (low - high for (_, high), (low, _) in zip(pairs(intervals), pairs(intervals)[1:], strict=False)), reverse=True
    )
    kept = sorted(
        (low - high for (_, high), (low, _) in zip(pairs(simple), pairs(simple)[1:], strict=False)), reverse=True
    )
    assert kept == gaps[: most - 1]


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_one_sided_intervals(name: str, data: st.DataObject) -> None:
    """Everything up to a value, or from it up, with or without it, is what the order says."""
    column_type, value = value_type(name), data.draw(values(name))
    bound, key = bound_at(column_type, to_axis(column_type, value)), order_key(name, value)
    for x in pool(name):
        at, asked = np.array([bound_at(column_type, to_axis(column_type, x))] * 1, dtype=object), order_key(name, x)
        if column_type.axis.value == "ordinal":
            at = at.astype(np.int64)
        for inclusive in (True, False):
            below, above = (
                up_to(column_type, bound, inclusive=inclusive),
                up_from(column_type, bound, inclusive=inclusive),
            )
            assert bool(below.contains(at)[0]) == (asked < key or (inclusive and asked == key))
            assert bool(above.contains(at)[0]) == (asked > key or (inclusive and asked == key))


def test_nothing_is_above_the_top() -> None:
    """The open interval above the top, or below the bottom, of an axis is empty; a gap is its own open end."""
    assert not len(up_from(BIGINT, INT64_MAX, inclusive=False))
    assert not len(up_to(STRING, Cut(0, "", 0), inclusive=False))
    assert up_to(STRING, top_of(STRING), inclusive=False).is_full
    assert pairs(up_to(STRING, Cut(0, "b", -1), inclusive=False))[0][1] == Cut(0, "b", -1)
    assert not len(make_interval(BIGINT, 5, 4))
