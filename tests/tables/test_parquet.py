"""A Parquet layout tells where row groups lie and what is known of a column, and nothing that it cannot be sure of."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.catalyst.listing import read_listing
from headgate.tables import FooterCache, LayoutCache, Listing, ParquetLayout, layout_from_listing


def _listing(
    paths: list[Path], columns: list[list[str]] | None = None, values: list[list[Any]] | None = None
) -> Listing:
    partitions = values or [[]]
    files = [
        [min(i, len(partitions) - 1), f"file:{path}", path.stat().st_size, path.stat().st_mtime_ns // 1_000_000]
        for i, path in enumerate(paths)
    ]
    document = {"partitionColumns": columns or [], "partitions": partitions, "files": files}
    return read_listing(json.dumps(document).encode())


def _layout(path: Path, table: pa.Table, **options: Any) -> ParquetLayout:
    pq.write_table(table, path, row_group_size=2, **options)
    return layout_from_listing(_listing([path]), FooterCache())


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bigint": (pa.int64(), [1, 2, 3, 4]),
    "int": (pa.int32(), [-5, 2, 3, 4]),
    "double": (pa.float64(), [-1.5, 2.0, 3.0, 4.5]),
    "string": (pa.string(), ["a", "b", "ü", "z"]),
    "binary": (pa.binary(), [b"\x00", b"a", b"b", b"\xff"]),
    "boolean": (pa.bool_(), [False, True, False, False]),
    "date": (pa.date32(), [dt.date(2020, 1, i) for i in (1, 2, 3, 4)]),
    "timestamp": (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, i, tzinfo=dt.UTC) for i in (1, 2, 3, 4)]),
    "timestamp_ntz": (pa.timestamp("us"), [dt.datetime(2020, 1, i) for i in (1, 2, 3, 4)]),  # noqa: DTZ001
    "decimal(7,2)": (pa.decimal128(7, 2), [Decimal("1.10"), Decimal("2.20"), Decimal("3.30"), Decimal("4.40")]),
    "decimal(30,4)": (pa.decimal128(30, 4), [Decimal("1.1000"), Decimal("2.2"), Decimal("3.3"), Decimal("4.4")]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_statistics_of_each_type(tmp_path: Path, kind: str) -> None:
    """Min, max and NULL count of each row group come back as values of the column's type."""
    arrow, values = VALUES[kind]
    layout = _layout(tmp_path / "f.parquet", pa.table({"k": pa.array([*values, None, None], arrow)}))

    found = layout.statistics([0], [("k", kind)])
    mins, maxs, nulls = found.columns["k"]

    assert found.rows == [2, 2, 2]
    assert nulls == [0, 0, 2]
    assert mins == [min(values[:2]), min(values[2:]), None]
    assert maxs == [max(values[:2]), max(values[2:]), None]


def test_row_groups_lie_one_after_another(tmp_path: Path) -> None:
    """Byte ranges of row groups rise, do not overlap, and end with the file."""
    layout = _layout(tmp_path / "f.parquet", pa.table({"k": list(range(8)), "v": ["x" * 50] * 8}))
    found = layout.statistics([0], [("k", "bigint")])

    assert found.starts == sorted(found.starts)
    assert found.ends[:-1] == found.starts[1:]
    assert found.ends[-1] == layout.files[0].size


def test_columns_are_found_as_spark_finds_them(tmp_path: Path) -> None:
    """By name without regard to case, unless two differ only in case; a missing column is not known."""
    layout = _layout(tmp_path / "f.parquet", pa.table({"Key": [1, 2], "a": [1, 2], "A": [3, 4]}))
    wanted = [("key", "bigint"), ("a", "bigint"), ("none", "bigint"), ("x.y", "bigint")]

    loose = layout.statistics([0], wanted).columns
    strict = (
        ParquetLayout(layout.files, [], [[]], case_sensitive=True).statistics([0], [*wanted, ("Key", "bigint")]).columns
    )

    assert loose["key"][0] == [1]
    assert loose["a"][0] == loose["none"][0] == loose["x.y"][0] == [None]
    assert strict["key"][0] == [None]
    assert (strict["a"][0], strict["Key"][0]) == ([1], [1])


def test_a_field_of_a_struct_is_not_a_column(tmp_path: Path) -> None:
    """A column called a.b is not taken for the field b of the struct a."""
    layout = _layout(tmp_path / "f.parquet", pa.table({"a": [{"b": 1}, {"b": 2}]}))

    assert layout.statistics([0], [("a.b", "bigint")]).columns["a.b"][0] == [None]


def test_other_types_and_old_dates_are_not_trusted(tmp_path: Path) -> None:
    """Statistics of another type than the table's, and dates of the old calendar, say nothing."""
    table = pa.table({"k": ["1", "2"], "d": [dt.date(1500, 1, 1), dt.date(2020, 1, 1)]})
    layout = _layout(tmp_path / "f.parquet", table)

    found = layout.statistics([0], [("k", "bigint"), ("d", "date")]).columns

    assert found["k"][:2] == ([None], [None])
    assert found["d"][:2] == ([None], [None])


def test_a_file_without_a_footer_is_one_unknown_container(tmp_path: Path) -> None:
    """A damaged file spans itself and nothing is known of it."""
    good, bad = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"k": [1, 2]}), good)
    bad.write_bytes(b"not parquet at all")

    found = layout_from_listing(_listing([good, bad]), FooterCache()).statistics([0, 1], [("k", "bigint")])

    assert found.files == [0, 1]
    assert found.columns["k"] == ([1, None], [2, None], [0, None])
    assert (found.starts[1], found.ends[1], found.rows[1]) == (0, bad.stat().st_size, None)


def test_a_file_without_row_groups_has_no_container(tmp_path: Path) -> None:
    """An empty file adds nothing, and does not shift the row groups of the files after it."""
    empty, full = tmp_path / "a.parquet", tmp_path / "b.parquet"
    with pq.ParquetWriter(empty, pa.schema({"k": pa.int64()})):
        pass
    pq.write_table(pa.table({"k": [1, 2, 3, 4]}), full, row_group_size=2)

    found = layout_from_listing(_listing([empty, full]), FooterCache()).statistics([0, 1], [("k", "bigint")])

    assert found.files == [1, 1]
    assert len(found.starts) == len(found.ends) == len(found.rows) == 2
    assert found.ends == [found.starts[1], full.stat().st_size]


def test_a_file_that_changed_after_it_was_listed_is_not_known(tmp_path: Path) -> None:
    """What a footer said before does not hold for a file that was written again."""
    path, cache = tmp_path / "f.parquet", LayoutCache()
    pq.write_table(pa.table({"k": [1, 2]}), path)
    layout = cache.get(_listing([path]), case_sensitive=False)
    assert layout.statistics([0], [("k", "bigint")]).columns["k"][1] == [2]
    pq.write_table(pa.table({"k": list(range(100))}), path)

    assert layout.statistics([0], [("k", "bigint")]).columns["k"] == ([None], [None], [None])


def test_no_statistics_is_not_known(tmp_path: Path) -> None:
    """A file written without statistics keeps its row groups, with nothing known of the column."""
    layout = _layout(tmp_path / "f.parquet", pa.table({"k": [1, 2, 3]}), write_statistics=False)

    assert layout.statistics([0], [("k", "bigint")]).columns["k"] == ([None, None], [None, None], [None, None])


def test_layouts_are_kept_by_their_listing(tmp_path: Path) -> None:
    """The same listing gives the same statistics object; a changed file another."""
    path, cache = tmp_path / "f.parquet", LayoutCache(max_tables=2)
    pq.write_table(pa.table({"k": [1, 2]}), path)
    first = cache.get(_listing([path]), case_sensitive=False).statistics([0], [("k", "bigint")])
    again = cache.get(_listing([path]), case_sensitive=False).statistics([0], [("k", "bigint")])
    pq.write_table(pa.table({"k": list(range(100))}), path)
    changed = cache.get(_listing([path]), case_sensitive=False).statistics([0], [("k", "bigint")])

    assert again is first
    assert changed.columns["k"][1] == [99]
