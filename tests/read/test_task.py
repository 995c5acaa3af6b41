"""What a task reads of a Lance table: the rows wanted, all of them, and by Lance's own counters no others."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import BadInput
from headgate.read import task
from headgate.read.task import Part, Place, Wanted, fragments_of, read_part
from tests.read.lances import KINDS, Kind, Row, edges_table, listed, read_here, write

ENDS = st.one_of(st.none(), st.integers(-4, 12), st.sampled_from([-(2**63), 2**63 - 1, 2**40]))
EDGES = st.lists(st.tuples(ENDS, ENDS, st.integers(0, 50)), min_size=1, max_size=40)
SETS = st.lists(st.one_of(st.integers(-6, 14), st.sampled_from([-(2**63), 2**63 - 1, 2**40, 2**41])), max_size=15)
MANY: list[Row] = [(i // 10 - 100, (i * 7919) % 400 - 100, i % 97) for i in range(3000)]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return write(tmp_path_factory.mktemp("lance") / "t", edges_table(MANY), request.param)


@settings(max_examples=40)
@given(edges=EDGES, starts=SETS, ends=st.none() | SETS, kind=st.sampled_from(KINDS))
def test_ids_give_the_rows_of_a_plain_filter(
    edges: list[Row], starts: list[int], ends: list[int] | None, kind: Kind
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = write(Path(folder) / "t", edges_table(edges), kind)
        ids = {"src": starts} if ends is None else {"src": starts, "dst": ends}
        got, _ = read_here(table, ids=ids)
        wanted = [
            row
            for row in listed(table.to_table())
            if row[0] in starts and (ends is None or row[1] in ends) and None not in row[:1]
        ]
        assert listed(got) == wanted


def test_a_mask_reads_the_rows_of_the_mask_and_no_others(table: Any) -> None:
    everything = table.to_table(with_row_id=True)
    some = everything.take(list(range(0, everything.num_rows, 7)))
    rows = some.column("_rowid").to_pylist()
    got, counts = read_here(table, rows=rows, row_id="row")
    assert listed(got) == listed(some)
    assert counts.rows_read == len(rows)
    assert counts.rows_tested == 0


def test_rows_that_are_gone_or_never_were_are_not_given(table: Any) -> None:
    there = set(table.to_table(columns=[], with_row_id=True).column("_rowid").to_pylist())
    asked = [*range(900), 2**40 + 1, 2**62, -1, -(2**63)]
    got, counts = read_here(table, columns=(), rows=asked, row_id="row")
    assert set(got.column("row").to_pylist()) == there & set(asked)
    assert counts.rows_read == len(there & set(asked)) > 0


def test_columns_are_read_for_the_rows_in_the_sets_only(table: Any) -> None:
    got, counts = read_here(table, ids={"src": range(-50, -40), "dst": range(200)}, columns=("w", "dst"))
    everything = table.to_table(columns=["src", "w", "dst"]).to_pylist()
    wanted = [(r["w"], r["dst"]) for r in everything if -50 <= r["src"] < -40 and 0 <= r["dst"] < 200]
    assert listed(got) == sorted(wanted)
    assert counts.rows_read == len(wanted) > 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.indexed], ids=str)
def test_an_index_finds_ids_without_reading_the_column(tmp_path: Path, kind: Kind) -> None:
    """Only rows that the index does not know yet are tested one by one: those that were changed or appended."""
    table = write(tmp_path / "t", edges_table(MANY), kind)
    _, counts = read_here(table, ids={"src": range(-50, -40)})
    matching = table.count_rows("src >= -50 and src < -40")
    changed = [fragment.physical_rows for fragment in table.get_fragments()][3:]
    assert counts.rows_read == matching > 0
    assert counts.rows_tested <= matching + sum(changed) < table.count_rows()


def test_rows_and_ids_are_anded_and_no_other_row_is_tested(table: Any) -> None:
    everything = table.to_table(with_row_id=True)
    rows = everything.column("_rowid").to_pylist()[::3]
    got, counts = read_here(table, ids={"src": range(-100, 0)}, rows=rows, row_id="row")
    assert listed(got) == [row for row in listed(everything) if row[0] < 0 and row[3] in set(rows)]
    assert counts.rows_tested == len(rows)


@pytest.mark.parametrize(
    "how", [{}, {"rows": range(5000)}, {"ids": {"src": range(-100, 100)}}], ids=["all", "rows", "ids"]
)
def test_a_limit_is_pushed(table: Any, how: dict[str, Any]) -> None:
    got, counts = read_here(table, limit=5, **how)
    assert got.num_rows == 5
    assert counts.rows_read < table.count_rows() // 2
    assert set(listed(got)) <= set(listed(table.to_table()))


def test_no_ids_and_no_rows_read_nothing(table: Any) -> None:
    ways: list[dict[str, Any]] = [{"ids": {"src": []}}, {"rows": []}, {"ids": {"src": [10**9]}}]
    for how in ways:
        got, counts = read_here(table, **how)
        assert (got.num_rows, counts.rows_read) == (0, 0)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint32(), pa.uint64()], ids=str)
def test_narrow_and_unsigned_ids(tmp_path: Path, kind: pa.DataType) -> None:
    table = write(tmp_path / "t", edges_table([(0, 1, 0), (7, 100, 1), (None, 3, 2)], kind), KINDS[0])
    got, _ = read_here(table, ids={"src": [7, -1, 2**40, -(2**63)], "dst": [100, 2**63 - 1]})
    assert [row[2] for row in listed(got)] == [1]


def test_null_is_in_no_set(tmp_path: Path) -> None:
    table = write(tmp_path / "t", edges_table([(0, 0, 0), (None, 0, 1), (0, None, 2)]), KINDS[0])
    row_ids = table.to_table(with_row_id=True).column("_rowid").to_pylist()
    for how in ({}, {"rows": row_ids}):
        got, _ = read_here(table, ids={"src": [0, 1], "dst": [0]}, **how)
        assert [row[2] for row in listed(got)] == [0]


def test_numbers_beyond_63_bits_are_no_ids(tmp_path: Path) -> None:
    """The bits of 2^64-1 are those of -1, which is another number."""
    made = pa.table({"id": pa.array([2**64 - 1, 2**63, 5], pa.uint64())})
    table = lance.write_dataset(made, str(tmp_path / "t"))
    got, _ = read_here(table, ids={"id": [-1, -(2**63), 5, 0]})
    assert got.column("id").to_pylist() == [5]
    row_ids = table.to_table(with_row_id=True).column("_rowid").to_pylist()
    got, _ = read_here(table, ids={"id": [-1, -(2**63), 0]}, rows=row_ids)
    assert got.num_rows == 0


def test_columns_that_differ_in_case_are_two_columns(tmp_path: Path) -> None:
    made = pa.table({"Id": [1, 2, 3], "id": [3, 2, 1], "order by": [3, 1, 2]})
    table = lance.write_dataset(made, str(tmp_path / "t"))
    for name in made.column_names:
        got, _ = read_here(table, ids={name: [1]})
        assert got.to_pylist() == [row for row in made.to_pylist() if row[name] == 1]


@pytest.mark.parametrize("spread", [1, 2**33], ids=["32 bits", "64 bits"])
def test_sets_larger_than_the_table(tmp_path: Path, spread: int) -> None:
    """Such a set is pushed as ranges, and the rows between its ids are taken out."""
    ids = np.arange(-300_000, 300_000, 3) * spread
    ids = ids[ids >= 0] if spread == 1 else ids
    rows: list[Row] = [(i * spread, i, i) for i in range(-2000, 2000)]
    table = write(tmp_path / "t", edges_table(rows), KINDS[2])
    got, counts = read_here(table, ids={"src": ids})
    assert [row[1] for row in listed(got)] == [i for i in range(-2000, 2000) if i % 3 == 0 and (i >= 0 or spread > 1)]
    assert counts.rows_read == got.num_rows


def test_what_is_written_later_is_not_read(tmp_path: Path) -> None:
    table = write(tmp_path / "t", edges_table(MANY), KINDS[0])
    before = listed(table.to_table())
    lance.write_dataset(edges_table(MANY[:50]), table.uri, mode="append")
    lance.dataset(table.uri).delete("w < 50")
    lance.dataset(table.uri).optimize.compact_files()
    assert listed(read_here(table)[0]) == before
    assert listed(read_here(table, ids={"src": range(200)})[0]) == [row for row in before if row[0] >= 0]
    lance.write_dataset(edges_table([(1, 1, 1)]), table.uri, mode="overwrite")
    assert listed(read_here(table)[0]) == before


@pytest.mark.parametrize("is_open", [False, True], ids=["opened anew", "still open"])
def test_another_table_at_the_same_path_is_refused(tmp_path: Path, is_open: bool) -> None:
    """It has the same number of version, and a process may still have the old one open."""
    table = write(tmp_path / "t", edges_table(MANY), KINDS[0])
    planned = tuple(fragments_of(table))
    read_here(table)
    shutil.rmtree(tmp_path / "t")
    other = write(tmp_path / "t", edges_table(MANY[:1500]), KINDS[0])
    assert other.version == table.version
    why = r"could not read version 1 of .*Not found.*make the DataFrame again"
    if not is_open:
        task._kept_open.cache_clear()
        why = r"version 1 of .* is not the one that the DataFrame was made from.*make the DataFrame again"
    place, wanted = Place(table.uri, table.version), Wanted(("w",), pa.schema([("w", pa.int64())]))
    with pytest.raises(BadInput, match=why):
        list(read_part(place, Part(planned), wanted, lambda _: None))
    assert read_here(other)[0].num_rows == 1500


def test_a_version_that_was_cleaned_up_is_said(tmp_path: Path) -> None:
    table = write(tmp_path / "t", edges_table(MANY), KINDS[0])
    lance.write_dataset(edges_table(MANY), table.uri, mode="overwrite")
    lance.dataset(table.uri).cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(BadInput, match=r"there is no Lance table .* at version 1 .*not found.*versions\(\) lists"):
        read_here(table)
