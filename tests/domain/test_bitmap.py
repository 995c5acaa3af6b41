"""Roaring bitmaps hold any int64 exactly, in 32 bit where that is enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from headgate.domain import Domain, Kind
from headgate.domain.bitmap import IdBitmap
from headgate.domain.types import INT64_MAX, INT64_MIN
from headgate.errors import InvalidFilter

EDGES = (INT64_MIN, -1, 0, 1, 65535, 65536, 2**31, 2**32 - 1, 2**32, INT64_MAX)
ids = st.lists(st.sampled_from(EDGES) | st.integers(INT64_MIN, INT64_MAX) | st.integers(0, 300), max_size=30)


def bitmap_of(listed: list[int]) -> IdBitmap:
    return IdBitmap.of(np.array(listed, dtype=np.int64))


@given(ids, ids)
def test_bitmaps_are_sets(a: list[int], b: list[int]) -> None:
    """Union, intersection, membership, counting and order are those of a set of int64, whatever the widths."""
    left, right = bitmap_of(a), bitmap_of(b)
    assert left.ids().tolist() == sorted(set(a))
    assert len(left) == len(set(a))
    assert left.union(right).ids().tolist() == sorted({*a, *b})
    assert left.intersect(right).ids().tolist() == sorted({*a} & {*b})
    assert left.minus(right).ids().tolist() == sorted({*a} - {*b})
    assert left.minus(right).width == bitmap_of(sorted({*a} - {*b})).width
    asked = np.array([*EDGES, *a, *b], dtype=np.int64)
    assert left.contains(asked).tolist() == [x in set(a) for x in asked.tolist()]
    assert left.same_as(right) == (set(a) == set(b))
    if a:
        assert left.ends() == (min(a), max(a))


@given(ids, st.integers(INT64_MIN, INT64_MAX), st.integers(INT64_MIN, INT64_MAX))
def test_members_between_two_ends_are_counted(listed: list[int], low: int, high: int) -> None:
    """count_between counts the ids of a closed interval, and none where the ends are crossed."""
    ends = np.array([low], dtype=np.int64), np.array([high], dtype=np.int64)
    assert max(0, int(bitmap_of(listed).count_between(*ends)[0])) == sum(low <= i <= high for i in set(listed))


@pytest.mark.parametrize("last", [999, 2**32 - 1, 2**32, INT64_MAX])
def test_both_ends_of_an_interval_count(last: int) -> None:
    """A few intervals are asked of the bitmap one by one, many of the list of its ids: the answers are the same."""
    listed = [*range(last - 99, last + 1)]
    bitmap = bitmap_of(listed)
    lows = np.array([last - 5, last, last - 99, last - 200, INT64_MIN, last], dtype=np.int64)
    highs = np.array([last - 1, last, last, last - 100, INT64_MAX, last - 1], dtype=np.int64)
    few = bitmap.count_between(lows, highs).tolist()
    assert few == [5, 1, 100, 0, 100, 0]
    assert np.maximum(bitmap.count_between(np.tile(lows, 9), np.tile(highs, 9)), 0).tolist() == few * 9


def test_large_bitmaps_are_asked_id_by_id() -> None:
    """A few questions to a large bitmap give the same answers as many, in both widths."""
    for start in (0, -500_000):
        bitmap = IdBitmap.of(np.arange(start, start + 1_000_000, 2))
        asked = np.array([INT64_MIN, -2, -1, 0, 1, 2, 499_998, 999_999, 2**32, 2**32 + 2, INT64_MAX])
        expected = [start <= x < start + 1_000_000 and (x - start) % 2 == 0 for x in asked.tolist()]
        assert len(asked) <= len(bitmap) // 8
        assert bitmap.contains(asked).tolist() == expected
        assert bitmap.contains(np.repeat(asked, 100_000))[::100_000].tolist() == expected


@given(ids)
def test_bytes_are_the_portable_format(listed: list[int]) -> None:
    """The bytes are read back to the same ids, and a 32-bit bitmap is what any roaring library reads."""
    bitmap = bitmap_of(listed)
    assert IdBitmap.from_bytes(bitmap.to_bytes(), bitmap.width).same_as(bitmap)
    if bitmap.width == 32:
        assert list(BitMap.deserialize(bitmap.to_bytes())) == sorted(set(listed))


def test_the_narrow_width_is_used_where_it_is_enough() -> None:
    """Ids of 32 bit stay in 32 bit; one negative or larger id takes 64."""
    assert bitmap_of([0, 2**32 - 1]).width == 32
    assert bitmap_of([-1]).width == bitmap_of([2**32]).width == 64
    assert bitmap_of([-1, 5]).intersect(bitmap_of([5])).width == 32


@given(st.sampled_from([32, 64]), st.binary(max_size=60))
def test_random_bytes_are_not_a_bitmap(width: int, data: bytes) -> None:
    """Bytes that are no bitmap are an InvalidFilter; bytes that are one are read to the last."""
    try:
        bitmap = IdBitmap.from_bytes(data, width)
    except InvalidFilter:
        return
    assert bitmap.to_bytes() == data


@given(ids.filter(bool), st.data())
def test_damaged_bytes_never_read_out_of_order(listed: list[int], data: st.DataObject) -> None:
    """A flipped bit is refused or makes another well-formed bitmap; its ids are always in order."""
    bitmap = bitmap_of(listed)
    raw = bytearray(bitmap.to_bytes())
    position = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[position // 8] ^= 1 << position % 8
    try:
        damaged = IdBitmap.from_bytes(bytes(raw), bitmap.width)
    except InvalidFilter:
        return
    if len(damaged) < 1_000_000:
        assert (np.diff(damaged.ids().astype(object)) > 0).all()


def test_left_over_and_missing_bytes_are_refused() -> None:
    """The bytes are the bitmap and nothing else."""
    raw = bitmap_of([1, 2, 70000]).to_bytes()
    for data in (raw + b"\0", raw[:-1], b""):
        for width in (32, 64):
            with pytest.raises(InvalidFilter):
                IdBitmap.from_bytes(data, width)
    with pytest.raises(InvalidFilter, match="not 16"):
        IdBitmap.from_bytes(raw, 16)


def test_a_small_message_cannot_ask_for_much_memory() -> None:
    """A bitmap of all 2^32 ids is a few hundred kilobytes, and is read without listing them."""
    everything = BitMap()
    everything.add_range(0, 2**32)
    everything.run_optimize()
    bitmap = IdBitmap.from_bytes(everything.serialize(), 32)
    assert len(bitmap) == 2**32
    assert bitmap.ends() == (0, 2**32 - 1)


def test_bitmap_domains_take_any_iterable_of_values() -> None:
    """Lists, sets, ranges, generators and empty ones make bitmaps; other types than whole numbers do not."""
    for listed in ([3, 1], {3, 1}, range(1, 4, 2), (i for i in (1, 3)), np.array([1, 3])):
        assert Domain.bitmap("bigint", listed).listed() == [1, 3]
    assert Domain.bitmap("bigint", []).is_none
    assert Domain.bitmap("bigint", [1], null_allowed=True) == Domain.of("bigint", [1], null_allowed=True)
    with pytest.raises(InvalidFilter, match="whole numbers"):
        Domain.bitmap("string", ["a"])


def test_a_bitmap_of_every_value_is_everything() -> None:
    """All 256 values of a tinyint are NOT NULL, whichever kind they came in."""
    assert Domain.bitmap("tinyint", range(-128, 128)).kind is Kind.NOT_NULL
    assert Domain.bitmap("boolean", [True, False]).kind is Kind.NOT_NULL
    assert Domain.bitmap("tinyint", range(-128, 127)).kind is Kind.BITMAP
