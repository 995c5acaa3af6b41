"""A frontier is a set of ids: any whole number of 64 bits, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from headgate.domain import Kind
from headgate.errors import BadInput
from headgate.graph import Frontier

ids = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 40), max_size=30)


@given(ids, ids)
def test_frontiers_are_sets(a: list[int], b: list[int]) -> None:
    left, right = Frontier(a), Frontier(b)
    assert list(left | right) == sorted({*a, *b})
    assert list(left & right) == sorted({*a} & {*b})
    assert list(left - right) == sorted({*a} - {*b})
    assert (left == right) == (set(a) == set(b))
    assert len(left) == len(set(a))
    assert all(vertex in left for vertex in a)
    assert left == Frontier(reversed(a))
    assert hash(left) == hash(Frontier(reversed(a)))


@given(ids)
def test_the_domain_of_a_frontier_holds_its_ids_and_no_others(listed: list[int]) -> None:
    found = Frontier(listed)
    assert found.domain("bigint").listed() == sorted(set(listed))
    assert found.domain("smallint").listed() == sorted(i for i in set(listed) if -(2**15) <= i < 2**15)


def test_many_ids_are_published_as_a_bitmap() -> None:
    assert Frontier(range(0, 20_000, 2)).domain("bigint").kind is Kind.SET
    assert Frontier(range(0, 20_002, 2)).domain("int").kind is Kind.BITMAP


def test_the_bytes_are_what_other_libraries_read() -> None:
    assert list(BitMap.deserialize(Frontier([3, 7]).to_bytes())) == [3, 7]
    assert [bit - 2**63 for bit in BitMap64.deserialize(Frontier([-3, 7]).to_bytes())] == [-3, 7]


def test_a_frontier_of_a_hundred_million_ids_takes_little_memory() -> None:
    """Dense ids take a bit each, or less; widening, cutting and asking does not list them."""
    bits = BitMap()
    bits.add_range(0, 200_000_000)
    for start in range(0, 200_000_000, 1000):
        bits.remove(start)
    from headgate.domain.bitmap import IdBitmap

    frontier = Frontier(IdBitmap(bits))
    assert len(frontier) == 199_800_000
    assert len(frontier.to_bytes()) < 64 << 20
    lows, highs = np.arange(0, 1_000_000_000, 50_000_000), np.arange(0, 1_000_000_000, 50_000_000) + 999
    assert frontier.domain("bigint").values.overlaps(lows, highs).tolist() == [True] * 4 + [False] * 16
    assert len(frontier - Frontier([1, 2])) == 199_799_998


@pytest.mark.parametrize("vertex", ["7", 1.5, 2**63, True, b"x", [1]])
def test_what_is_no_id_is_refused(vertex: object) -> None:
    with pytest.raises(BadInput, match="is no vertex id: ids are whole numbers from -2\\^63 to 2\\^63-1; give texts"):
        Frontier([vertex])  # type: ignore[list-item]


def test_null_is_no_id() -> None:
    assert list(Frontier([None, 3, np.int32(4)])) == [3, 4]  # type: ignore[list-item]
    assert list(Frontier.of(5)) == [5]
    with pytest.raises(BadInput, match="'abc' is no vertex id"):
        Frontier.of("abc")  # type: ignore[arg-type]


def test_a_frontier_tells_what_it_is() -> None:
    assert repr(Frontier([2, 1])) == "Frontier([1, 2])"
    assert repr(Frontier(range(1000))) == "Frontier(1,000 vertices from 0 to 999)"
    assert repr(Frontier()) == "Frontier([])"
