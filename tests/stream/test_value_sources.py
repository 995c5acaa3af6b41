"""Right sides that are no streams: a batch DataFrame read in each trigger, and ticks that finish a move in pieces."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import headgate
from headgate.errors import BadInput
from headgate.stream.dynamic_filter import dynamic_filter
from tests.stream.ticking import Input, Told, replaced

pytestmark = pytest.mark.usefixtures("operators")


def numbers(*values: int) -> list[dict[str, int]]:
    return [{"v": value} for value in values]


def test_a_batch_frame_is_read_in_each_trigger(spark: SparkSession, tmp_path: Path) -> None:
    """Its files are listed anew; one row, none, a NULL and the same again; two rows fail with a sentence."""
    source, told, folder = Input(spark, tmp_path / "in", "v int"), Told(tmp_path), tmp_path / "limit"
    replaced(folder, [])
    limit = spark.read.schema("m int").json(str(folder))
    # an absent row is not a row with NULL, of which COALESCE would make a value
    frame = dynamic_filter(source.read(), limit, "v > coalesce(m, 100) and v < 200", "v").select("_op", "v")
    source.write(numbers(1, 2, 3, 150, 300))
    with told.run(frame) as query:
        query.processAllAvailable()
        assert told.rows() == {}
        seen = []
        for rows in ([{"m": 2}], [{"m": 2}], [{"m": None}], [], [{"m": 1}]):
            replaced(folder, rows)
            query.processAllAvailable()
            seen.append(sorted(row[0] for row in told.rows()))
        assert seen == [[3, 150], [3, 150], [150], [], [2, 3, 150]]
        assert max(told.batches) == 4  # the same row again is no news
        source.write(numbers(4, 1))
        query.processAllAvailable()
        assert told.last == [("+I", 4)]
        replaced(folder, [{"m": 1}, {"m": 1}])
        with pytest.raises(StreamingQueryException, match="more than one row; it may have one or none"):
            query.processAllAvailable()


def test_a_right_side_that_is_gone_is_not_an_empty_one(spark: SparkSession, tmp_path: Path) -> None:
    """A folder that is missing would be read as no row, which takes everything back; the query fails instead."""
    source, told, folder = Input(spark, tmp_path / "in", "v int"), Told(tmp_path), tmp_path / "limit"
    replaced(folder, [{"m": 2}])
    frame = dynamic_filter(source.read(), spark.read.schema("m int").json(str(folder)), "v > m", "v")
    source.write(numbers(1, 3))
    with told.run(frame.select("_op", "v")) as query:
        query.processAllAvailable()
        shutil.rmtree(folder)
        with pytest.raises(StreamingQueryException, match=r"limit, which is not there\. Nothing is lost"):
            query.processAllAvailable()
    assert told.rows() == {(3,): 1}


@pytest.mark.parametrize("kept", [False, True])
def test_a_table_that_was_dropped_is_named(spark: SparkSession, tmp_path: Path, kept: bool) -> None:
    """Its files may stay behind, and are not read for it any more; or they go before the table does."""
    source, told = Input(spark, tmp_path / "in", "v int"), Told(tmp_path)
    where = f"location '{tmp_path / 'limits'}'" if kept else ""
    spark.sql(f"create table dropped (m bigint) using parquet {where}")
    spark.sql("insert into dropped values (2)")
    source.write(numbers(1, 3))
    with told.run(dynamic_filter(source.read(), spark.table("dropped"), "v > m", "v").select("_op", "v")) as query:
        query.processAllAvailable()
        spark.sql("drop table dropped")
        named = r"reads the table spark_catalog\.default\.dropped( at \S+/dropped)?, which is not there"
        with pytest.raises(StreamingQueryException, match=named):
            query.processAllAvailable()
    assert told.rows() == {(3,): 1}


def test_a_batch_run_again_sees_the_same_row(spark: SparkSession, tmp_path: Path) -> None:
    """The row lies in the offsets; what the table says meanwhile counts from the next batch on."""
    source, told = Input(spark, tmp_path / "in", "v int"), Told(tmp_path)
    spark.sql(f"create table limits (m bigint) using parquet location '{tmp_path / 'limits'}'")
    try:
        spark.sql("insert into limits values (2)")

        def stream():
            largest = spark.table("limits").selectExpr("max(m) as m")
            return dynamic_filter(source.read(), largest, "v > m", "v", moves="up").select("_op", "v")

        source.write(numbers(1, 2, 3, 4, 5))
        with told.run(stream()) as query:
            query.processAllAvailable()
            spark.sql("insert into limits values (3)")
            query.processAllAvailable()
        assert told.last == [("-D", 3)]
        told.forget_last_commit()
        spark.sql("insert into limits values (4)")
        told.finish(stream(), availableNow=True)
        assert told.reruns == [(1, [("-D", 3)], [("-D", 3)])]
        assert told.last == [("-D", 4)]
        assert max(told.batches) == 2
        spark.sql("insert into limits values (5)")
        told.finish(stream(), once=True)
        assert told.rows() == {}
    finally:
        spark.sql("drop table limits")


def test_a_move_in_pieces_goes_on_without_input(spark: SparkSession, tmp_path: Path) -> None:
    """All is told when `processAllAvailable` returns, also by a query that was stopped in the middle of a move."""
    source, told, folder = Input(spark, tmp_path / "in", "v int"), Told(tmp_path), tmp_path / "limit"
    replaced(folder, [{"m": 100}])

    def stream(piece_rows: int):
        limit = spark.read.schema("m int").json(str(folder))
        frame = dynamic_filter(source.read(), limit, "v > m", "v", piece_rows=piece_rows, vnodes=2)
        return frame.select("_op", "v")

    source.write(numbers(*range(40)))
    told.finish(stream(4), availableNow=True)
    assert told.rows() == {}
    replaced(folder, [{"m": 19}])
    told.finish(stream(4), once=True)  # one batch, so it stops in the middle
    assert 0 < len(told.last) <= 4
    with told.run(stream(8)) as query:
        query.processAllAvailable()
        assert sorted(row[0] for row in told.rows()) == list(range(20, 40))
        assert all(len(changes) <= 8 for changes in told.batches.values())
        replaced(folder, [{"m": -1}])
        before = max(told.batches)
        query.processAllAvailable()
        assert sorted(row[0] for row in told.rows()) == list(range(40))
        batches = max(told.batches)
        assert batches - before >= 3
        query.processAllAvailable()
        assert max(told.batches) == batches  # no ticks without a move
        assert headgate.streaming_report(query).moves[-1].vnodes_pending == 0
    replaced(folder, [{"m": 30}])
    told.finish(stream(4), availableNow=True)  # ends when all is told, and not before
    assert sorted(row[0] for row in told.rows()) == list(range(31, 40))


def test_what_is_given_is_checked(spark: SparkSession) -> None:
    left = spark.readStream.format("rate").load()
    with pytest.raises(BadInput, match="order is 'id'; it is for streams"):
        dynamic_filter(left, spark.range(1), "value > id", "value", order="id")
    with pytest.raises(BadInput, match="a batch DataFrame with a column '_op', which is for streams"):
        dynamic_filter(left, spark.range(1).selectExpr("id", "'+I' as _op"), "value > id", "value")
    with pytest.raises(BadInput, match="the right side is int; it has to be a streaming DataFrame"):
        dynamic_filter(left, 5, "value > id", "value")  # type: ignore[arg-type]
