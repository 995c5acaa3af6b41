"""A checkpoint goes on with the operator that wrote it, and with no other."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from headgate.stream import ManualClock, dynamic_filter, temporal_filter
from tests.stream.epochs import Driver, Epoch, Operator, left, right
from tests.stream.test_dynamic_filter import THREE, compared, filters, ids
from tests.stream.ticking import Input, Told, replaced

pytestmark = pytest.mark.usefixtures("operators")

ROWS = "struct<id:bigint,v:bigint,note:string>"
CHANGED: dict[str, tuple[Operator, str]] = {
    "vnodes": (compared(">", vnodes=8), "vnodes 2, which is now 8"),
    "key": (compared(">", key="v"), "key id, which is now v"),
    "order of the key": (compared(">", key=["v", "id"]), "key id, which is now v, id"),
    "order": (compared(">", order="m"), "order at, which is now m"),
    "no order": (compared(">", order=None), "order at, which is now none"),
    "comparison": (compared("<="), "comparison left.v > right.m, which is now left.v <= right.m"),
    "expression": (
        filters("v + 1 > m"),
        r"comparison left.v > right.m, which is now \(left.v \+ .* > right.m in time zone UTC",
    ),
    "right expression": (filters("v > m + 3"), r"comparison left.v > right.m, which is now left.v > \(right.m \+ "),
    "left condition": (filters("v > m and id < 3"), r"left condition none, which is now \(left.id < "),
    "pieces": (compared(">", piece_rows=5), "piece_rows 0, which is now above 0"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_operator_is_refused(spark: SparkSession, tmp_path: Path, what: str) -> None:
    """Also where the batch to come has nothing for the operator; what it was goes on afterwards."""
    changed, said = CHANGED[what]
    driver = Driver(spark, tmp_path, {"it": compared(">")})
    driver.feed([THREE, right(2)])
    driver.run()
    driver.feed([left(("+I", 4))])
    other = Driver(spark, tmp_path, {"it": changed})
    with pytest.raises(StreamingQueryException, match=f"was written by an operator with {said}.*new checkpoint"):
        other.run()
    assert other.told == {}
    driver.run()
    assert ids(driver.told["it"][-1]) == ["+I 4"]


def test_several_changes_are_told_together(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path, {"it": compared(">")})
    driver.feed([THREE])
    driver.run()
    other = Driver(spark, tmp_path, {"it": compared(">", key="v", vnodes=4)})
    with pytest.raises(
        StreamingQueryException, match="with key id, which is now v; with vnodes 2, which is now 4: give"
    ):
        other.run()


def test_other_left_columns_and_another_kind_of_right_side(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path, {"it": compared(">", order=None)})
    driver.feed([THREE])
    driver.run()
    fewer: Operator = lambda one, other: compared(">", order=None)(one.drop("note"), other)  # noqa: E731
    with pytest.raises(StreamingQueryException, match=f"left columns {ROWS}, which is now struct<id:bigint,v:bigint>"):
        Driver(spark, tmp_path, {"it": fewer}).run()
    with pytest.raises(
        StreamingQueryException, match="right side the latest row of a stream, which is now a changelog"
    ):
        Driver(spark, tmp_path, {"it": compared(">", order=None)}, changelog=True).run()


def test_a_batch_that_is_run_again_is_not_run_by_another_operator(spark: SparkSession, tmp_path: Path) -> None:
    """Spark does not ask sources for news before it runs such a batch."""
    driver = Driver(spark, tmp_path, {"it": compared(">")})
    driver.feed([THREE, right(2)])
    driver.run()
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    other = Driver(spark, tmp_path, {"it": compared(">", vnodes=4)})
    with pytest.raises(StreamingQueryException, match="vnodes 2, which is now 4"):
        other.run()
    assert other.told == {}


def test_until_a_batch_has_ended_the_operator_may_change(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is kept yet: a first batch that fails is mended without a new checkpoint."""
    driver = Driver(spark, tmp_path, {"it": compared(">", order=None)})
    driver.feed([Epoch(left=THREE.left, right=[(0, 2), (1, 1)])])
    with pytest.raises(StreamingQueryException, match="give `order`"):
        driver.run()
    again = Driver(spark, tmp_path, {"it": compared(">=", vnodes=4)})
    again.run()
    assert ids(again.told["it"][0]) == ["+I 1", "+I 2", "+I 3"]
    with pytest.raises(StreamingQueryException, match=r"comparison left.v >= right.m, which is now left.v > right.m"):
        driver.run()


def test_an_order_may_be_given_later(spark: SparkSession, tmp_path: Path) -> None:
    """The value that counted counts until a row comes, however low the order of that is."""
    driver = Driver(spark, tmp_path, {"it": compared(">", order=None)})
    driver.feed([THREE, right(2)])
    driver.run()
    ordered = Driver(spark, tmp_path, {"it": compared(">", order="m")}, fed=driver.fed)
    ordered.feed([left(("+I", 4)), right(-5)])
    ordered.run()
    assert [ids(told) for told in ordered.told["it"]] == [["+I 4"], ["+I 1", "+I 2"]]


def test_a_checkpoint_that_was_begun_without_the_operator(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path, {"it": compared(">")})
    driver.feed([THREE])
    driver.run()
    shutil.rmtree(tmp_path / "checkpoint" / "sources")
    with pytest.raises(
        StreamingQueryException, match=r"was begun without the filter left.v > right.m, or with other sources"
    ):
        driver.run()


def test_another_batch_frame_as_right_side(spark: SparkSession, tmp_path: Path) -> None:
    """Its row lies in the offsets, and would be read as one of other columns."""
    source, told, folder = Input(spark, tmp_path / "in", "v int"), Told(tmp_path), tmp_path / "limit"
    replaced(folder, [{"m": 2, "n": 1}])
    source.write([{"v": 3}])

    def stream(schema: str):
        limit = spark.read.schema(schema).json(str(folder))
        return dynamic_filter(source.read(), limit, "v > m", "v").select("_op", "v")

    told.finish(stream("m int"), availableNow=True)
    with pytest.raises(StreamingQueryException, match=r"right side a batch DataFrame of struct<m:int>, which is now"):
        told.finish(stream("n int, m int"), availableNow=True)


def test_another_temporal_filter(spark: SparkSession, tmp_path: Path) -> None:
    """The tick and the clock are no part of it."""
    source, told = Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    clock = ManualClock(dt.datetime(2024, 3, 1, tzinfo=dt.UTC))
    source.write([{"id": 1, "ts": "2024-03-01T00:00:00Z"}])

    def stream(days: int, tick: str = "1 second"):
        condition = f"ts > now() - interval {days} day"
        return temporal_filter(source.read(), condition, "id", clock=clock, tick=tick).select("_op", "id")

    told.finish(stream(1), availableNow=True)
    with pytest.raises(StreamingQueryException, match=r"operator with comparison .*, which is now "):
        told.finish(stream(2), availableNow=True)
    clock.advance("25 hours")
    told.finish(stream(1, tick="2 seconds"), availableNow=True)
    assert told.rows() == {}
