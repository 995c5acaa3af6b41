"""Lance tables in Spark: the rows that Lance itself gives, whatever is pushed, and Lance's counters of each read."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import lance
import pyarrow as pa
import pytest
from lance.dataset import ScannerBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate.errors import BadInput
from headgate.graph import Frontier
from headgate.read import LanceCounts, LanceTable
from tests.read.lances import KINDS, Kind, Row, edges_table, listed, write

MANY: list[Row] = [(i // 10 - 100, (i * 7919) % 400 - 100 if i % 50 else None, i % 97) for i in range(3000)]


@pytest.fixture(scope="module", params=[KINDS[1], KINDS[7]], ids=str)
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> LanceTable:
    folder = tmp_path_factory.mktemp("lance") / "t"
    write(folder, edges_table(MANY), request.param)
    return LanceTable(spark, str(folder))


def rows_of(frame: DataFrame) -> list[tuple]:
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: [(v is not None, v or 0) for v in row])


def test_all_rows_are_those_of_lance(spark: SparkSession, table: LanceTable) -> None:
    stored = lance.dataset(table.path)
    assert rows_of(headgate.read.lance(spark, stored.uri)) == listed(stored.to_table())
    assert (table.row_count, table.part_count) == (stored.count_rows(), len(stored.get_fragments()))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "ids", [[], [-70], range(-60, 20), range(-(10**5), 10**5, 3), Frontier([-(2**63), 5, 2**63 - 1])]
)
def test_pushed_ids_give_the_rows_of_a_filter(table: LanceTable, ids: Any) -> None:
    """The same question with nothing pushed: Spark reads all rows and tests them."""
    listed_ids = list(ids)
    off = table.frame.where(sf.col("dst").isin(listed_ids)) if len(listed_ids) < 100 else None
    off = table.frame.where("pmod(dst + 100000, 3) = 0") if off is None else off
    on = table.read(ids={"dst": ids})
    assert rows_of(on.frame) == rows_of(off)
    assert on.counts.rows_read == len(rows_of(off))


def test_a_mask_reads_at_most_its_rows_by_the_counters_of_lance(table: LanceTable) -> None:
    """Path B: row ids that one read found are the mask of the next."""
    mask = table.row_ids({"src": range(-50, -20)})
    read = table.read(["w", "dst"], rows=mask, row_id="row")
    found = rows_of(read.frame)
    assert {row for *_, row in found} == set(mask)
    assert sorted(w for w, *_ in found) == sorted(
        row.w for row in table.frame.where("src between -50 and -21").collect()
    )
    assert read.counts.rows_read == len(mask) > 0
    assert read.counts.rows_tested == 0


def test_vertices_are_read_by_stable_row_id(spark: SparkSession, tmp_path: Path) -> None:
    """Row ids that stay are names for vertices: a frontier is the mask of the table that describes them."""
    path = str(tmp_path / "people")
    made = lance.write_dataset(
        pa.table({"name": [f"p{i}" for i in range(100)]}), path, max_rows_per_file=30, enable_stable_row_ids=True
    )
    made.delete("name = 'p7'")
    made.update({"name": "'renamed'"}, where="name = 'p40'")
    made.optimize.compact_files()
    people = LanceTable(spark, path)
    assert people.has_stable_row_ids
    reached = Frontier([3, 7, 40, 99, -5, 1000])
    read = people.read(["name"], rows=reached, row_id="vertex")
    assert rows_of(read.frame.select("vertex", "name")) == [(3, "p3"), (40, "renamed"), (99, "p99")]
    assert read.counts.rows_read == 3


def test_what_is_written_while_a_frame_is_there_is_not_seen(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write(Path(path), edges_table(MANY), KINDS[0])
    table = LanceTable(spark, path)
    frame = table.read(ids={"src": range(-100, -90)}).frame
    before = rows_of(frame)
    lance.dataset(path).delete("src < -95")
    lance.write_dataset(edges_table([(-99, 1, 1)]), path, mode="append")
    assert rows_of(frame) == before
    assert rows_of(headgate.read.lance(spark, path, version=1, ids={"src": range(-100, -90)})) == before
    assert len(rows_of(headgate.read.lance(spark, path, ids={"src": range(-100, -90)}))) == 51


def test_limit_and_projection_are_pushed(spark: SparkSession, table: LanceTable) -> None:
    uri = table.path
    assert rows_of(headgate.read.lance(spark, uri, ["dst", "src"], limit=0)) == []
    assert headgate.read.lance(spark, uri, ids={"src": range(-50, 0)}, limit=7).count() == 7
    for limit in (7, table.row_count - 1, table.row_count + 1):
        few = table.read(["w"], limit=limit)
        assert few.frame.columns == ["w"]
        assert few.frame.count() == min(limit, table.row_count)
        assert few.counts.rows_read == min(limit, table.row_count)
    narrow, wide = table.read(["w"]), table.read()
    assert narrow.frame.count() == wide.frame.count() == table.row_count
    assert narrow.counts.rows_read == wide.counts.rows_read
    assert narrow.counts.bytes_read < wide.counts.bytes_read


def test_filters_of_joins_leave_lance_frames_as_they_are(
    spark: SparkSession, table: LanceTable, tmp_path: Path
) -> None:
    """Headgate on and off: a join with a Lance table on either side."""
    spark.range(-100, 300).selectExpr("id", "id % 7 as k").write.parquet(str(tmp_path / "p"))
    numbers = spark.read.parquet(str(tmp_path / "p"))
    few = table.read(ids={"src": range(-20, -10)}).frame
    joins = [
        table.frame.join(numbers.where("id between 5 and 9"), sf.col("dst") == sf.col("id")),
        numbers.join(few, sf.col("dst") == sf.col("id")),
        few.join(table.frame.withColumnRenamed("src", "from").select("from"), sf.col("dst") == sf.col("from")),
    ]
    off = [rows_of(frame) for frame in joins]
    headgate.enable(spark, strategy="always")
    assert [rows_of(frame) for frame in joins] == off
    assert all(off)


def test_counts_start_at_nothing_and_add_up(table: LanceTable) -> None:
    read = table.read()
    assert read.counts == LanceCounts()
    for times in (1, 2):
        read.frame.count()
        assert read.counts.rows_read == times * table.row_count
        assert read.parts_read == times * table.part_count


def test_many_fragments_are_read_by_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": range(90)}), str(tmp_path / "t"), max_rows_per_file=1)
    table = LanceTable(spark, str(tmp_path / "t"))
    assert table.part_count == 90
    assert table.frame.rdd.getNumPartitions() == spark.sparkContext.defaultParallelism * 4
    assert rows_of(table.frame) == [(i,) for i in range(90)]
    # an address names its fragment, and others are not opened
    assert table.read(rows=[0, 5 << 32, 70 << 32]).frame.rdd.getNumPartitions() == 3
    assert rows_of(table.read(rows=[0, 5 << 32, 70 << 32, 1]).frame) == [(0,), (5,), (70,)]


def test_an_empty_table(spark: SparkSession, tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": pa.array([], pa.int64())}), str(tmp_path / "t"))
    table = LanceTable(spark, str(tmp_path / "t"))
    assert table.frame.count() == table.read(ids={"x": [1]}).frame.count() == table.read(rows=[0]).frame.count() == 0


def test_odd_types_arrive_in_spark_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    blob = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    columns = {
        "u8": (pa.uint8(), [1, 255, None]),
        "u64": (pa.uint64(), [0, 2**64 - 1, None]),
        "vector": (pa.list_(pa.float32(), 2), [[1, 2], [3, 4], None]),
        "word": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "a"]),
        "at": (pa.timestamp("ms", "Europe/Paris"), [datetime(2024, 5, 1, tzinfo=UTC), None, None]),
        "day": (pa.date32(), [date(2024, 5, 1), None, None]),
        "both": (
            pa.struct([("x", pa.uint16()), ("y", pa.list_(pa.string()))]),
            [{"x": 1, "y": ["a", None]}, {}, {}],
        ),
    }
    made = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    made = made.append_column(blob, pa.array([b"a", b"b", None], pa.large_binary()))
    made = made.append_column("time", pa.array([1, 2, 3], pa.time64("us")))
    lance.write_dataset(made, str(tmp_path / "t"), data_storage_version="2.0")
    with pytest.raises(
        BadInput, match=r"Spark has no type for time \(time64\[us\]\) of version 1 of .*; name the columns"
    ):
        LanceTable(spark, str(tmp_path / "t"))
    frame = headgate.read.lance(spark, str(tmp_path / "t"), [*columns, "blob"])
    first, second, third = (row.asDict(recursive=True) for row in frame.collect())
    assert first.pop("at").astimezone(UTC) == datetime(2024, 5, 1, tzinfo=UTC)
    assert first == {
        "u8": 1,
        "u64": Decimal(0),
        "vector": [1.0, 2.0],
        "word": "a",
        "day": date(2024, 5, 1),
        "both": {"x": 1, "y": ["a", None]},
        "blob": bytearray(b"a"),
    }
    assert (second["u8"], second["u64"]) == (255, Decimal(2**64 - 1))
    assert {name for name, value in third.items() if value is not None} <= {"word", "blob", "both"}
    assert third["both"] == {"x": None, "y": None}


def test_advice_asks_for_an_index(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t", edges_table(MANY), Kind(stable=False, indexed=True, changed=False))
    table = LanceTable(spark, str(tmp_path / "t"))
    assert table.advice("src") == ""
    assert "3,000 of 3,000 rows of version 2 of" in table.advice("dst")
    assert "create_scalar_index('dst', 'BTREE')" in table.advice("dst")


def test_wrong_words(spark: SparkSession, table: LanceTable, tmp_path: Path) -> None:
    folder, no_ids = table.path, cast("list[int]", ["a"])
    for ask, why in (
        (lambda: table.read(["x"]), r"has no column 'x'; its columns are src, dst, w"),
        (lambda: table.read(["w", "w"]), r"gives each column once; its columns are src, dst, w"),
        (lambda: table.read([]), r"no column of version \d+ of .* is asked for; name one of src, dst, w, or row_id="),
        (lambda: table.read(row_id="w"), r"there is a column 'w' already; give the column of row ids another name"),
        (lambda: table.read(limit=-1), r"limit=-1 is no number of rows; give 0 or more, or None for all"),
        (lambda: table.read(ids={"x": [1]}), r"has no column 'x'"),
        (lambda: table.read(ids={"src": no_ids}), r"'a' is no vertex id"),
        (lambda: LanceTable(spark, folder).read(ids={"src": True}), r"True is no vertex id"),
        (lambda: table.read(rows=no_ids), r"'a' is no vertex id"),
        (lambda: table.row_ids({"src": range(-100, 200)}, most=7), r"more than most=7 rows of version"),
        (
            lambda: headgate.read.lance(spark, str(tmp_path)),
            r"there is no Lance table '.*' that can be opened \(.*not f",
        ),
        (lambda: headgate.read.lance(spark, folder, version=99), r"there is no Lance table '.*' at version 99"),
    ):
        with pytest.raises(BadInput, match=why):
            ask()


def test_without_pylance_a_sentence_says_how_to_get_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(
        BadInput, match=r"read with pylance, and it is not installed.*every other table.*headgate\[lance"
    ):
        headgate.read.lance(spark, "/nowhere")


def test_a_pylance_that_is_too_old_is_said(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ScannerBuilder, "row_addr_prefilter")
    with pytest.raises(BadInput, match=r"pylance \S+ takes no masks of row ids, and later versions do; bring it up"):
        headgate.read.lance(spark, "/nowhere")
