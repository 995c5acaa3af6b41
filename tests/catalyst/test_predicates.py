"""Domains become predicates: ranges for the Parquet reader, values or a bitmap for each row, nothing for floats."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from headgate.catalyst.predicates import range_predicate, row_predicate, source_predicate, told_row_predicate
from headgate.catalyst.wire import Literal, Predicate
from headgate.domain import Domain


@pytest.mark.parametrize("make", [range_predicate, row_predicate])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_floats_have_no_predicate(make: object, kind: str) -> None:
    """Parquet leaves NaN out of its statistics and tells zeros apart, so nothing is pushed down for floats."""
    for domain in (Domain.of(kind, [1.5]), Domain.range(kind, 0.0, 9.0), Domain.none(kind), Domain.not_null(kind)):
        assert make(7, domain) is None  # type: ignore[operator]


def test_everything_and_everything_but_null() -> None:
    """Where all matches there is nothing to test; where all but NULL does, an open range tests for NULL."""
    assert range_predicate(7, Domain.all("int")) is None
    assert row_predicate(7, Domain.all("int")) is None
    assert range_predicate(7, Domain.not_null("int")) == Predicate(column=7, ranges=[(None, None)])
    assert row_predicate(7, Domain.not_null("int")) == Predicate(column=7, ranges=[(None, None)])


@pytest.mark.parametrize("null", [True, False])
def test_few_values_are_listed(null: bool) -> None:
    """Up to ten values that stand apart are given as they are, with NULL where it matches."""
    domain = Domain.of("int", [5, 1, 9], null_allowed=null)
    expected = Predicate(column=7, values=[1, 5, 9], null=null)

    assert range_predicate(7, domain) == expected
    assert row_predicate(7, domain) == expected


def test_nothing_is_an_empty_list() -> None:
    """No value matches: an empty list of values or ranges, which is false."""
    found = row_predicate(7, Domain.none("int"))

    assert found is not None
    assert (found.ranges if found.values is None else found.values) == []
    assert found.null is False


@pytest.mark.parametrize("count", [10, 11, 400])
def test_many_values_are_few_ranges_for_the_reader_and_a_list_for_rows(count: int) -> None:
    """Above ten values the reader gets at most four ranges that cover them; each row is tested exactly."""
    values: list[Any] = [i * i for i in range(2, count + 2)]
    ranges, rows = range_predicate(7, Domain.of("int", values)), row_predicate(7, Domain.of("int", values))

    assert rows == Predicate(column=7, values=values)
    assert ranges is not None
    if count <= 10:
        assert ranges.values == values
    else:
        held = ranges.ranges
        assert held is not None
        assert 1 <= len(held) <= 4
        assert all(any(low <= value <= high for low, high in held) for value in values)
        assert (held[0][0], held[-1][1]) == (values[0], values[-1])


def test_more_than_400_whole_numbers_are_a_bitmap() -> None:
    """The bitmap is exact, in the portable format, with smallest and largest beside it."""
    values = list(range(0, 802, 2))
    found = row_predicate(7, Domain.of("int", values, null_allowed=True))

    assert found is not None
    assert found.bitmap is not None
    assert list(BitMap.deserialize(base64.b64decode(found.bitmap))) == values
    assert (found.ranges, found.null, found.column) == ([(0, 800)], True, 7)


@pytest.mark.parametrize("values", [range(-401, 1), [2**40 + 2 * i for i in range(401)], [-(2**63), *range(400)]])
def test_numbers_outside_32_bits_are_a_wide_bitmap(values: Iterable[int]) -> None:
    """Negative and large numbers are in a bitmap of 64 bits, with the sign bit flipped."""
    found = row_predicate(7, Domain.of("bigint", values))

    assert found is not None
    assert found.bitmap is not None
    assert found.width == 64
    assert [bit - 2**63 for bit in BitMap64.deserialize(base64.b64decode(found.bitmap))] == list(values)


def test_values_that_the_bit_test_does_not_take_are_listed() -> None:
    """Strings and dates stay lists, however many they are."""
    first = dt.date(1969, 1, 1)
    for domain in (
        Domain.of("string", [f"s{i:04d}" for i in range(401)]),
        Domain.of("date", [first + dt.timedelta(days=2 * i) for i in range(401)]),
    ):
        found = row_predicate(7, domain)
        assert found is not None
        assert found.bitmap is None
        assert found.values is not None
        assert len(found.values) == domain.count()


@pytest.mark.parametrize(
    ("domain", "ranges"),
    [
        (Domain.range("int", 3, 9), [(3, 9)]),
        (Domain.range("int", 3), [(3, None)]),
        (Domain.range("int", None, 9), [(None, 9)]),
        (Domain.range("int", 3, 9, low_inclusive=False, high_inclusive=False), [(4, 8)]),
        (Domain.range("int", 1, 3) | Domain.range("int", 7, 9), [(1, 3), (7, 9)]),
        (Domain.range("string", "b", "d"), [("b", "d")]),
        (Domain.range("string", "b"), [("b", None)]),
        (Domain.range("string", "b", "d", high_inclusive=False), [("b", "d")]),
        (Domain.range("decimal(9,2)", Decimal("1.5"), Decimal("2.25")), [("1.50", "2.25")]),
        (Domain.range("decimal(38,2)", Decimal("1E+20"), None), [("100000000000000000000.00", None)]),
        (Domain.range("binary", b"\x00", b"\xff"), [("AA==", "/w==")]),
    ],
)
def test_ranges(domain: Domain, ranges: list[tuple[Literal, Literal]]) -> None:
    """Ends are literals in Spark's own form, included; an open end is null."""
    for make in (range_predicate, row_predicate):
        assert make(7, domain) == Predicate(column=7, ranges=ranges)


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (Domain.of("boolean", [True]), [True]),
        (Domain.of("decimal(9,2)", [Decimal("-0.5")]), ["-0.50"]),
        (Domain.of("decimal(38,0)", [Decimal(10) ** 30]), ["1" + "0" * 30]),
        (Domain.of("binary", [b"\xff"]), ["/w=="]),
        (Domain.of("string", ["ä"]), ["ä"]),
        (Domain.of("date", [19723]), [19723]),
    ],
)
def test_literals(domain: Domain, values: list[Literal]) -> None:
    """Values are written as the Java side reads them: decimals as plain text, binary as base64, dates as days."""
    assert row_predicate(7, domain) == Predicate(column=7, values=values)


@pytest.mark.parametrize(("word", "listed"), [("m", True), ("é", False), ("\ue000", False), ("\U0001f600", False)])
def test_sources_are_told_no_list_of_text_that_they_may_sort_otherwise(word: str, listed: bool) -> None:
    """A source may look for each value of a list in its own order; the ends of ranges are the words around them."""
    words = [*(f"a{i:02}" for i in range(7)), "a" + word, *(f"b{i:03}" for i in range(142))]
    found = source_predicate(7, Domain.of("string", words))

    assert found is not None
    assert found.ranges is not None
    assert (found.ranges[0][0], found.ranges[-1][1]) == ("a00", "b141")
    assert (found.values is not None) == listed
    assert (told_row_predicate(7, Domain.of("string", words)) is not None) == listed
    assert row_predicate(7, Domain.of("string", words)) is not None


@pytest.mark.parametrize(
    ("words", "ranges"),
    [
        (["abc"], [("abc", "abc")]),
        (["aé"], [("a", "b")]),
        (["aé", "zoë"], [("a", "b"), ("zo", "zp")]),
        (["a\x7fé"], [("a\x7f", "b")]),
        (["ab", "cé"], [("ab", "ab"), ("c", "d")]),
        (["é"], None),
        (["a", "\x7f\x7fé"], [("a", "a"), ("\x7f\x7f", None)]),
    ],
)
def test_ends_of_text_that_sources_are_told_are_ascii(
    words: list[str], ranges: list[tuple[str, str | None]] | None
) -> None:
    """They hold what they stand for: `aé` lies between `a` and `b`."""
    found = source_predicate(7, Domain.of("string", words))
    assert (found and found.ranges) == ranges


@given(
    st.lists(st.text(alphabet="aé\ue000\U0001f600", max_size=2), min_size=1, max_size=3),
    st.lists(st.lists(st.sampled_from([b"a", b"\x80", b"\xff"]), max_size=2), min_size=1, max_size=3),
)
def test_bounds_of_text_that_is_no_utf_8_lose_no_value(keys: list[str], broken: list[list[bytes]]) -> None:
    """A table keeps the least and greatest bytes of a file as text, and compares it in UTF-8 or UTF-16."""
    stored = sorted([keys[0].encode(), *map(b"".join, broken)])
    found = source_predicate(7, Domain.of("string", keys))
    if found is None:
        return
    assert found.ranges is not None
    for encoding in ("utf-8", "utf-16-be"):
        least, most = (end.decode(errors="replace").encode(encoding) for end in (stored[0], stored[-1]))
        ends = [tuple(None if end is None else str(end).encode(encoding) for end in pair) for pair in found.ranges]
        assert any((low is None or low <= most) and (high is None or least <= high) for low, high in ends)
