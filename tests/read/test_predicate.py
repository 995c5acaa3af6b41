"""Sets of ids in the forms that Lance takes: a predicate never loses an id, a mask has exactly the row ids."""

from __future__ import annotations

import struct

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance.dataset import serialize_row_addrs
from pyroaring import BitMap

from headgate.domain.bitmap import IdBitmap
from headgate.graph import Frontier
from headgate.read import predicate
from headgate.read.predicate import Predicate, id_limits, mask_of, predicate_of, united

IDS = st.one_of(
    st.integers(-3, 40), st.sampled_from([-(2**63), -(2**63) + 1, 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)


@given(st.lists(st.one_of(st.integers(0, 90), st.integers(2**32 - 3, 2**32 + 3), st.integers(0, 2**62))))
def test_a_mask_has_the_rows_of_the_one_that_lance_makes_itself(rows: list[int]) -> None:
    """The bytes may differ: a roaring bitmap may hold neighbours one by one or as a run."""
    assert rows_in(mask_of(Frontier(rows).ids)) == rows_in(serialize_row_addrs(rows)) == set(rows)


def rows_in(mask: bytes) -> set[int]:
    """Read a mask as Lance lays it out."""
    (count,), at, found = struct.unpack_from("<I", mask), 4, set()
    for _ in range(count):
        half, length = struct.unpack_from("<II", mask, at)
        bits = BitMap.deserialize(mask[at + 8 : at + 8 + length])
        found |= {half << 32 | low for low in bits}
        at += 8 + length
    assert at == len(mask)
    return found


@given(st.lists(st.integers(-(2**63), -1)))
def test_negative_numbers_are_no_row_ids(rows: list[int]) -> None:
    assert mask_of(Frontier(rows).ids) == serialize_row_addrs([])
    assert mask_of(Frontier([*rows, 7, 2**33]).ids) == serialize_row_addrs([7, 2**33])


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    """A column with the ends of 64 bits, small numbers and NULL."""
    values = [-(2**63), -(2**63) + 1, *range(-3, 41), None, 2**63 - 1]
    return lance.write_dataset(pa.table({"Id": pa.array(values, pa.int64())}), str(tmp_path_factory.mktemp("ends")))


@pytest.mark.parametrize(
    "limits", [{"_TOO_MANY": 0}, {"_LISTED": 0, "_RANGES": 4}, {}], ids=["one range", "ranges", "lists"]
)
@given(ids=st.lists(IDS, max_size=30))
def test_a_predicate_keeps_every_id_and_no_null(
    ends: lance.LanceDataset, limits: dict[str, int], ids: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(predicate, name, value)
        test = predicate_of("Id", pa.int64(), Frontier(ids).ids)
    kept = ends.to_table(filter=test.sql).column("Id").to_pylist()
    assert set(ids) & set(ends.to_table().column("Id").to_pylist()) <= set(kept)
    assert None not in kept


def test_ranges_are_cut_at_the_widest_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicate, "_LISTED", 0)
    monkeypatch.setattr(predicate, "_RANGES", 3)
    ids = Frontier([-(2**63), 1, 2, 4, 2**63 - 2, 2**63 - 1]).ids
    assert predicate_of("a b", pa.int64(), ids) == Predicate(
        "`a b` < -9223372036854775807 OR (`a b` >= 1 AND `a b` <= 4) OR "
        "(`a b` >= 9223372036854775806 AND `a b` <= 9223372036854775807)"
    )


def test_ids_beyond_counting_are_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicate, "_TOO_MANY", 2)
    ids = Frontier([-500, 3, 9]).ids
    assert predicate_of("x", pa.int64(), ids) == Predicate("(`x` >= -500 AND `x` <= 9)", is_tight=False)
    assert predicate_of("x", pa.uint8(), ids) == Predicate("(`x` >= 0 AND `x` <= 9)", is_tight=False)
    assert predicate_of("x", pa.int8(), Frontier([500, 501, 502]).ids).sql == "false"


def test_many_ids_are_few_ranges() -> None:
    for step, is_tight in ((1, True), (2, True), (3, False)):
        test = predicate_of("x", pa.int64(), IdBitmap.of(np.arange(0, 200_000, step)))
        assert test.sql.count(" OR ") < 64
        assert test.is_tight == is_tight


def test_wide_ranges_are_left_out_beside_a_tight_condition() -> None:
    few, wide = Predicate("a IN (1)"), Predicate("b <= 5 OR b >= 9", is_tight=False)
    assert united([few, wide]) == Predicate("(a IN (1))")
    assert united([few, few]) == Predicate("(a IN (1)) AND (a IN (1))")
    assert united([wide, wide]) == Predicate("(b <= 5 OR b >= 9) AND (b <= 5 OR b >= 9)", is_tight=False)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (pa.int8(), "-128,127"),
        (pa.uint8(), "127,128,255"),
        (pa.int16(), "-129,-128,127,128,255,256"),
        (pa.uint64(), "127,128,255,256,9223372036854775807"),
    ],
)
def test_numbers_that_a_column_cannot_hold_are_left_out(kind: pa.DataType, kept: str) -> None:
    ids = Frontier([-129, -128, 127, 128, 255, 256, 2**63 - 1]).ids
    assert predicate_of("x", kind, ids).sql == f"`x` IN ({kept})"
    assert predicate_of("x", kind, Frontier().ids).sql == "false"


def test_only_whole_numbers_are_ids() -> None:
    assert [id_limits(kind) for kind in (pa.float64(), pa.string(), pa.bool_())] == [None] * 3
