"""Pruning many containers at once gives each the verdict it would get alone, and never loses a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import BloomBits, ColumnStatistics, Domain, TupleDomain, Verdict, judge, value_type
from headgate.errors import InvalidFilter
from headgate.prune import ColumnBounds, survivors, survivors_of_column
from tests.domain.strategies import TYPES, maybe_null, models, order_key, per_type

NAN = float("nan")
BIGINT, STRING = value_type("bigint"), value_type("string")


@dataclass(frozen=True)
class Container:
    """Some rows, and the statistics that a writer kept of them."""

    rows: list[Any]
    statistics: ColumnStatistics


@st.composite
def containers(draw: st.DrawFn, name: str) -> Container:
    """Rows with statistics of which any part may be missing, text maxima cut off, NaN left out or let in."""
    rows: list[Any] = draw(st.lists(maybe_null(name), max_size=5))
    low: Any
    high: Any
    kept = sorted((r for r in rows if r is not None and r == r), key=lambda v: order_key(name, v))
    low, high, cut = (kept[0], kept[-1], False) if kept else (None, None, False)
    hidden = draw(st.sets(st.sampled_from(["min", "max", "nulls", "rows"])))
    shortened: bool = draw(st.booleans())
    if name in ("string", "binary") and kept and shortened:
        low, high, cut = low[: draw(st.integers(0, len(low)))], high[: draw(st.integers(0, len(high)))], True
    if any(r is not None and r != r for r in rows) and draw(st.booleans()):
        low, high = draw(st.sampled_from([(NAN, high), (low, NAN), (NAN, NAN)]))
    return Container(
        rows,
        ColumnStatistics(
            min=None if "min" in hidden else low,
            max=None if "max" in hidden else high,
            null_count=None if "nulls" in hidden else rows.count(None),
            row_count=None if "rows" in hidden else len(rows),
            max_truncated=cut,
        ),
    )


def bounds_of(name: str, statistics: list[ColumnStatistics]) -> ColumnBounds:
    return ColumnBounds.of(
        value_type(name),
        [s.min for s in statistics],
        [s.max for s in statistics],
        [s.null_count for s in statistics],
        [s.row_count for s in statistics],
        [s.max_truncated for s in statistics],
    )


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_no_container_with_a_member_is_lost(name: str, data: st.DataObject) -> None:
    """Against brute force over the rows: a container in which a row matches survives, whatever is known of it."""
    domain = data.draw(models(name)).domain
    found = data.draw(st.lists(containers(name), max_size=6))
    keep = survivors_of_column(domain, bounds_of(name, [c.statistics for c in found]))
    assert keep.dtype == bool
    assert not [c for c, kept in zip(found, keep, strict=True) if not kept and any(row in domain for row in c.rows)]


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_many_at_once_are_judged_as_each_alone(name: str, data: st.DataObject) -> None:
    """The vectorised verdict is that of judge, for every kind of domain and of statistics."""
    domain = data.draw(models(name)).domain
    statistics = [c.statistics for c in data.draw(st.lists(containers(name), max_size=6))]
    keep = survivors_of_column(domain, bounds_of(name, statistics))
    assert keep.tolist() == [judge(domain, s) is Verdict.KEEP for s in statistics]


@given(st.data())
def test_columns_are_combined(data: st.DataObject) -> None:
    """A container survives when every constrained column that has statistics may match."""
    names = {"k": "bigint", "s": "string", "f": "double"}
    domains = {c: data.draw(models(t)).domain for c, t in names.items()}
    size = data.draw(st.integers(0, 4))
    statistics = {c: [data.draw(containers(t)).statistics for _ in range(size)] for c, t in names.items()}
    known = data.draw(st.sets(st.sampled_from(sorted(names))))
    columns = {c: bounds_of(names[c], statistics[c]) for c in known}
    domain = TupleDomain(domains)
    keep = survivors(domain, columns, count=size)
    for i in range(size):
        alone = all(judge(domains[c], statistics[c][i]) is Verdict.KEEP for c in known if not domains[c].is_all)
        assert bool(keep[i]) == (not domain.is_none and alone)


def test_the_documented_example() -> None:
    """k in {3, 42}: [1, 10] stays, [11, 40] goes, unknown stays."""
    bounds = ColumnBounds.of(BIGINT, [1, 11, None], [10, 40, None])
    assert survivors_of_column(Domain.of("bigint", [3, 42]), bounds).tolist() == [True, False, True]
    assert len(bounds) == 3


def test_one_known_end_is_enough_to_skip() -> None:
    """A minimum above the domain, or a maximum below it, rules a container out without the other end."""
    bounds = ColumnBounds.of(BIGINT, [50, None, 10, None], [None, 2, None, 5])
    assert survivors_of_column(Domain.of("bigint", [3, 42]), bounds).tolist() == [False, False, True, True]
    texts = ColumnBounds.of(STRING, ["x", None, "a", None], [None, "a", None, "c"])
    assert survivors_of_column(Domain.of("string", ["b", "m"]), texts).tolist() == [False, False, True, True]


def test_statistics_that_contradict_themselves_say_nothing() -> None:
    """A minimum above the maximum is a mistake of the writer: keep."""
    assert survivors_of_column(Domain.of("bigint", [3]), ColumnBounds.of(BIGINT, [10], [1])).tolist() == [True]
    texts = ColumnBounds.of(STRING, ["b", "b"], ["a", "a"], max_truncated=[False, True])
    assert survivors_of_column(Domain.of("string", ["zz"]), texts).tolist() == [True, True]


def test_truncated_text_stands_for_all_that_begins_with_it() -> None:
    """A maximum cut off to "ab" may be "abz", and not "ac"; the largest text has no end."""
    mins, maxs = ["aa", "aa", "aa", "\U0010ffff"], ["ab", "ab", "\U0010ffff", "\U0010ffff"]
    bounds = ColumnBounds.of(STRING, mins, maxs, max_truncated=[True, False, True, True])
    for value, expected in {
        "abz": [True, False, True, False],
        "ac": [False, False, True, False],
        "\U0010ffff\U0010ffff": [False, False, True, True],
    }.items():
        kept = [value in domain for domain in (Domain.single("string", value),)]
        assert kept == [True]
        for domain in (Domain.single("string", value), Domain.range("string", value, value + "\0\0")):
            assert survivors_of_column(domain, bounds).tolist() == expected, value


def test_where_truncation_is_not_known_it_is_assumed() -> None:
    """A maximum that may have been cut off stands for all that begins with it, however the flags are given."""
    for flags in ([None, False], pa.array([None, False]), np.array([True, False])):
        bounds = ColumnBounds.of(STRING, ["aa", "aa"], ["ab", "ab"], max_truncated=flags)
        assert survivors_of_column(Domain.single("string", "abz"), bounds).tolist() == [True, False]


def test_nulls_decide_where_null_may_match() -> None:
    """A domain with NULL keeps what may hold a NULL; one without skips what holds nothing else."""
    bounds = ColumnBounds.of(BIGINT, [1, 1, 1, None], [5, 5, 5, None], [0, 1, None, 3], [3, 3, 3, 3])
    assert survivors_of_column(Domain.of("bigint", [9], null_allowed=True), bounds).tolist() == [
        False,
        True,
        True,
        True,
    ]
    assert survivors_of_column(Domain.of("bigint", [2]), bounds).tolist() == [True, True, True, False]
    assert survivors_of_column(Domain.only_null("bigint"), bounds).tolist() == [False, True, True, True]
    assert survivors_of_column(Domain.not_null("bigint"), bounds).tolist() == [True, True, True, False]


def test_empty_containers_are_skipped() -> None:
    """No rows, nothing to read, whatever the domain."""
    bounds = ColumnBounds.of(BIGINT, [None, None], [None, None], row_counts=[0, 1])
    assert survivors_of_column(Domain.all("bigint"), bounds).tolist() == [False, True]
    assert survivors_of_column(Domain.only_null("bigint"), bounds).tolist() == [False, True]


@pytest.mark.parametrize("name", ["float", "double"])
def test_a_domain_with_nan_prunes_nothing_by_range(name: str) -> None:
    """Statistics leave NaN out, so any container of floats may hold one, unless all its rows are NULL."""
    bounds = ColumnBounds.of(value_type(name), [1.0, NAN, 1.0], [2.0, 2.0, 2.0], [0, 0, 4], [4, 4, 4])
    assert survivors_of_column(Domain.single(name, NAN), bounds).tolist() == [True, True, False]
    assert survivors_of_column(Domain.range(name, 5.0), bounds).tolist() == [True, True, False]
    assert survivors_of_column(Domain.range(name, 5.0, 9.0), bounds).tolist() == [False, True, False]


def test_a_bloom_is_asked_about_containers_of_one_value() -> None:
    """Partition values, say: where minimum and maximum are one value, its hash decides."""
    bits = BloomBits(2, np.zeros(8, dtype=np.uint64))
    bloom = Domain.bloom("bigint", bits, Domain.range("bigint", 0, 100))
    bounds = ColumnBounds.of(BIGINT, [5, 5, 200], [5, 6, 200])
    assert survivors_of_column(bloom, bounds).tolist() == [False, True, False]


def test_statistics_come_in_any_form() -> None:
    """Arrow, NumPy and lists give the same bounds, NULL being "not known" in each."""
    domain = Domain.of("bigint", [3])
    forms = [
        ([1, None], [2, None], [0, None], [5, None]),
        (pa.array([1, None]), pa.array([2, None]), pa.array([0, None]), pa.array([5, None])),
        (pa.chunked_array([[1], [None]], pa.int64()), pa.chunked_array([[2, None]]), (0, None), (5, None)),
    ]
    for mins, maxs, nulls, rows in forms:
        assert survivors_of_column(domain, ColumnBounds.of(BIGINT, mins, maxs, nulls, rows)).tolist() == [False, True]
    numbers = np.array([1, 3])
    bounds = ColumnBounds.of(BIGINT, numbers, numbers, np.array([0, 0]), np.array([1, 1]))
    assert survivors_of_column(domain, bounds).tolist() == [False, True]


def test_no_containers_and_no_constraints() -> None:
    """Nothing to judge is judged as nothing; ALL keeps everything and NONE nothing."""
    bounds = {"k": ColumnBounds.of(BIGINT, [1, 2], [1, 2])}
    assert survivors(TupleDomain.all(), bounds).tolist() == [True, True]
    assert survivors(TupleDomain.none(), bounds).tolist() == [False, False]
    assert survivors(TupleDomain({"other": Domain.of("int", [1])}), bounds).tolist() == [True, True]
    assert survivors(TupleDomain.all(), {}, count=2).tolist() == [True, True]
    assert (
        survivors(TupleDomain({"k": Domain.of("bigint", [1])}), {"k": ColumnBounds.of(BIGINT, [], [])}).tolist() == []
    )


def test_statistics_that_do_not_belong_together_are_refused() -> None:
    """Lengths that differ, an unknown number of containers, and a domain of another type: an InvalidFilter."""
    with pytest.raises(InvalidFilter, match="lengths 1 and 2"):
        ColumnBounds.of(BIGINT, [1], [1, 2])
    with pytest.raises(InvalidFilter, match="lengths 2 and 1"):
        ColumnBounds.of(BIGINT, [1, 1], [1, 2], null_counts=[1])
    with pytest.raises(InvalidFilter, match="lengths 1 and 2"):
        ColumnBounds.of(STRING, ["a"], ["a"], max_truncated=[True, False])
    with pytest.raises(InvalidFilter, match="the same number"):
        survivors(TupleDomain.all(), {})
    two = {"a": ColumnBounds.of(BIGINT, [1], [1]), "b": ColumnBounds.of(BIGINT, [1, 2], [1, 2])}
    with pytest.raises(InvalidFilter, match="the same number"):
        survivors(TupleDomain.all(), two)
    with pytest.raises(InvalidFilter, match="coerce it first"):
        survivors_of_column(Domain.all("int"), two["a"])


def test_large_sets_against_many_containers() -> None:
    """Ten thousand values against a hundred thousand containers agree with a search in the sorted values."""
    random = np.random.default_rng(1)
    mins = random.integers(0, 10_000_000, 100_000)
    maxs = mins + random.integers(0, 2_000, 100_000)
    ids = np.sort(random.choice(10_000_000, 10_000, replace=False))
    expected = np.searchsorted(ids, mins) < np.searchsorted(ids, maxs, "right")
    bounds = ColumnBounds.of(BIGINT, mins, maxs)
    for domain in (Domain.of_array("bigint", ids), Domain.bitmap("bigint", ids)):
        assert (survivors_of_column(domain, bounds) == expected).all()
    assert expected.any()
    assert not expected.all()
