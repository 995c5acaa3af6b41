"""Late data stops at the scan: what is cut off, what is skipped, what is counted, and that nothing else changes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate.coordinator.openapi import DOCUMENT
from tests.stream.operators import OPERATORS
from tests.stream.random_programs import RandomProgram
from tests.stream.streams import Pair, Row, micros, read_stream

# With a delay of ten seconds the watermark is 90 after the first batch and 190 after the second. A batch is compared
# with the watermark of the batch before it: the third with 90, the fourth with 190.
RISING: list[list[Row]] = [[(1, 1, 0.0), (2, 2, 100.0)], [(1, 1, 200.0)]]


def windowed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """Sums by window of twenty seconds and key."""
    stream = read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")
    return stream.groupBy(sf.window("ts", "20 seconds"), "k").agg(sf.sum("v").alias("v"))


def same(spark: SparkSession, home: Path, program: Any, *batches: list[list[Row]], **options: str) -> Pair:
    """Run a program over batches with Headgate and without it; nothing may differ."""
    pair = Pair(spark, home, program, **options)
    pair.feed(batches)
    pair.run()
    pair.assert_same()
    return pair


class _First(random.Random):
    """Draws the first choice, so that each operator has known numbers."""

    def choice(self, seq: Any) -> Any:
        return seq[0]


# The largest late time at a watermark of 90; None: nothing may be cut.
CUTS: dict[str, list[float | None]] = {
    "tumbling": [89.999999],
    "sliding": [74.999999],
    "session": [85.0],
    "session_by_key": [None],
    "by_time": [90.0],
    "deduplicated": [90.0],
    "deduplicated_by_key": [90.0],
    "deduplicated_within": [90.0],
    "joined": [90.0, 90.0],
    "outer_joined": [90.0, 90.0],
    "deduplicated_then_counted": [90.0],
    "counted_twice": [89.999999],
    "joined_then_counted": [90.0, 90.0],
    "united": [89.999999, 89.999999],
}


def test_each_operator_has_its_own_cut_off(
    gated: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cut-off is the largest time that the operator itself calls late, to the microsecond."""
    assert {*CUTS, "by_key"} == set(OPERATORS)
    inputs = sum(OPERATORS[name].inputs for name in CUTS)
    late: list[Row] = [(1, 1, second / 2) for second in range(130, 190)]
    program = RandomProgram(0, "append", "min", tuple(CUTS), (10,) * inputs, (), streams_each=1)
    monkeypatch.setattr("tests.stream.random_programs.random.Random", _First)
    pair = same(gated, tmp_path, program, *([[*RISING, late]] * inputs))
    told = pair.report().batches[2]
    expected = [None if cut is None else micros(cut) for cuts in CUTS.values() for cut in cuts]
    assert [source.cut_off for source in told.sources] == expected
    counted = [
        sum(1 for row in late if cut is not None and (row[2] or 0) <= cut) for cuts in CUTS.values() for cut in cuts
    ]
    assert [source.late_rows for source in told.sources] == counted
    assert {source.reason for source in told.sources if source.cut_off is None} == {
        "Headgate cannot tell from ts alone whether a row is late"
    }


def test_downstream_sees_only_data_on_time(gated: SparkSession, tmp_path: Path) -> None:
    """Late rows do not reach the operator: Spark alone drops them there, with Headgate it has none to drop."""
    pair = same(gated, tmp_path, windowed, [*RISING, [(1, 9, 3.0), (2, 9, 300.0)], [(1, 9, 4.0)]])
    assert pair.runs["off"].dropped == 2
    assert pair.runs["on"].dropped == 0
    assert [sum(s.late_rows for s in batch.sources) for batch in pair.report().batches][:4] == [0, 0, 1, 1]


def test_more_is_skipped_as_the_watermark_advances(gated: SparkSession, tmp_path: Path) -> None:
    """The same rows are on time, then partly late, then late; the generation rises with each advance and only then."""
    again: list[Row] = [(1, 1, 85.0), (1, 1, 150.0), (1, 1, 210.0)]
    pair = same(gated, tmp_path, windowed, [*RISING, again, again, [(1, 1, 400.0)], again, again])
    told = pair.report().batches
    assert [batch.sources[0].late_rows for batch in told[:7]] == [0, 0, 0, 2, 0, 2, 3]
    assert [batch.generation for batch in told[:7]] == [0, 0, 1, 2, 3, 3, 4]
    assert told[1].sources[0].reason == "there is no watermark yet"


def test_skipped_data_is_not_read(gated: SparkSession, tmp_path: Path) -> None:
    """Files wholly below the cut-off are not opened, row groups of the others are not read, by Spark's own count."""
    late: list[Row] = [(1, 1, 1.0)] * 16
    mixed: list[Row] = [*late, *[(1, 1, 300.0)] * 8]
    pair = same(gated, tmp_path, windowed, [*RISING, late, mixed])
    third, fourth = pair.report().batches[2:4]
    assert (third.sources[0].files_skipped, third.sources[0].late_rows) == (1, 16)
    assert (fourth.sources[0].files_skipped, fourth.sources[0].row_groups_skipped) == (0, 2)
    rows = {told["batchId"]: told["numInputRows"] for told in pair.runs["on"].raw}
    assert (rows[2], rows[3]) == (0, 8)
    assert {told["batchId"]: told["numInputRows"] for told in pair.runs["off"].raw}[3] == 24


def test_a_row_below_the_watermark_in_an_open_window_is_kept(gated: SparkSession, tmp_path: Path) -> None:
    """At a watermark of 90 the window from 80 to 100 is open, and a row at 81 belongs to it."""
    pair = same(gated, tmp_path, windowed, [*RISING, [(7, 5, 81.0), (7, 6, 79.0), (7, 1, 300.0)], [(1, 1, 400.0)]])
    assert pair.report().batches[2].sources[0].late_rows == 1
    assert any('"k":7,"v":5' in row for rows in pair.runs["on"].batches.values() for row in rows)


def test_rows_without_an_event_time_are_kept_and_counted(gated: SparkSession, tmp_path: Path) -> None:
    """NULL is never late: it reaches the operator, and its file is opened however late the rest is."""

    def distinct(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        return read_stream(spark, folders[0]).withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])

    pair = same(gated, tmp_path, distinct, [*RISING, [(1, 1, 2.0), (5, 5, None), (6, 6, None)], [(8, 8, None)]])
    told = pair.report().batches
    assert (told[2].sources[0].late_rows, told[2].sources[0].null_rows) == (1, 2)
    assert (told[3].sources[0].late_rows, told[3].sources[0].null_rows) == (0, 1)
    assert sum('"k":5' in row or '"k":8' in row for rows in pair.runs["on"].batches.values() for row in rows) == 2


def test_the_report_is_told_like_progress(gated: SparkSession, tmp_path: Path) -> None:
    pair = same(gated, tmp_path, windowed, [*RISING, [(1, 9, 3.0), (None, 9, None)]])
    report = pair.report()
    told = report.to_dicts()[2]
    assert told["watermark"] == "2024-03-01T12:01:30.000Z"
    assert told["sources"][0]["cutOff"] == "2024-03-01T12:01:19.999999Z"
    assert (told["batchId"], told["generation"], told["lateRows"], told["nullRows"]) == (2, 1, 1, 1)
    assert report.late_rows == 1
    assert report.files_skipped == 0
    assert "12:01:19.999999Z" in str(report)
    assert "12:01:19.999999Z" in report._repr_html_()
    assert headgate.streaming_report("of no query").batches == []


def test_the_page_has_the_report(gated: SparkSession, tmp_path: Path) -> None:
    """The page asks the coordinator for all streams, in the form that its OpenAPI document names."""
    report = same(gated, tmp_path, windowed, [*RISING, [(1, 9, 3.0)]]).report()
    url, _, token = headgate.enable(gated).page_url.partition("/?token=")
    answer = httpx.get(f"{url}/v1/streams", headers={"Authorization": f"Bearer {token}"})
    assert {"query": report.query_id, "batches": report.to_dicts(), "moves": []} in answer.json()["streams"]
    schemas = DOCUMENT["components"]["schemas"]
    batch = report.to_dicts()[2]
    assert set(batch) == set(schemas["Batch"]["properties"])
    assert set(batch["sources"][0]) == set(schemas["Source"]["properties"])
    assert httpx.get(f"{url}/v1/streams").status_code == 401


def test_computed_event_times_are_filtered_above_their_projection(gated: SparkSession, tmp_path: Path) -> None:
    """A time that is parsed from text is parsed once; its late rows still do not reach the shuffle."""

    def parsed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        text = sf.date_format("ts", "yyyy-MM-dd HH:mm:ss")
        stream = read_stream(spark, folders[0]).select("k", "v", sf.to_timestamp(text).alias("event"))
        return stream.withWatermark("event", "10 seconds").groupBy(sf.window("event", "20 seconds")).agg(sf.sum("v"))

    pair = same(gated, tmp_path, parsed, [*RISING, [(1, 9, 3.0), (2, 9, 300.0)]])
    filtered, source = pair.report().batches[2].sources
    assert (filtered.source, filtered.column, filtered.late_rows) == ("Project", "event", 1)
    assert source.reason == "late rows are filtered above Project, not at the source"
    assert pair.runs["on"].dropped == 0


def test_renames_filters_tables_and_python_do_not_stop_it(gated: SparkSession, tmp_path: Path) -> None:
    """Between source and operator: a rename, a filter, a table, shuffles by value, an explode, a Python function."""

    def busy(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        table = spark.createDataFrame([(1, "one"), (2, "two")], "id int, name string")
        stream = read_stream(spark, folders[0]).where("v > 0").withColumnRenamed("ts", "event")
        stream = stream.join(table, stream.k == table.id, "left").withWatermark("event", "10 seconds")
        stream = stream.repartition(2, "k").coalesce(1)
        stream = stream.select("event", "name", sf.explode(sf.array("v", "k")).alias("x"))
        stream = stream.withColumn("y", sf.udf(lambda x: x + 1, "int")("x"))
        return stream.groupBy(sf.window("event", "20 seconds"), "name").agg(sf.sum("y").alias("y"))

    pair = same(gated, tmp_path, busy, [*RISING, [(1, 9, 3.0), (2, 9, 300.0)], [(1, 1, 400.0)]])
    assert pair.report().batches[2].sources[0].late_rows == 1


@pytest.mark.parametrize("policy", ["min", "max"])
def test_two_watermarks_follow_the_policy(gated: SparkSession, tmp_path: Path, policy: str) -> None:
    """The slow stream decides, or the fast one."""
    program = RandomProgram(0, "append", policy, ("deduplicated",) * 2, (10, 10), (), streams_each=1)
    slow: list[list[Row]] = [[(1, 1, 0.0), (2, 2, 50.0)], [(1, 1, 60.0)], [(1, 1, 30.0), (1, 2, 45.0), (1, 3, 95.0)]]
    fast: list[list[Row]] = [[(1, 1, 0.0), (2, 2, 100.0)], [(1, 1, 200.0)], [(1, 1, 30.0), (1, 2, 45.0), (1, 3, 95.0)]]
    pair = same(gated, tmp_path, program, slow, fast, **{"streaming.multipleWatermarkPolicy": policy})
    cut = {"min": 40, "max": 90}[policy]
    assert [source.cut_off for source in pair.report().batches[2].sources] == [micros(cut)] * 2
    assert [source.late_rows for source in pair.report().batches[2].sources] == [{"min": 1, "max": 2}[policy]] * 2


def test_the_single_watermark_of_older_queries(gated: SparkSession, tmp_path: Path) -> None:
    """With `allowMultiple=false` Spark compares with the batch's own watermark, and so does Headgate."""
    legacy = {"streaming.statefulOperator.allowMultiple": "false"}
    pair = same(gated, tmp_path, windowed, [RISING[0], [(1, 9, 3.0), (1, 1, 200.0)], [(1, 9, 150.0)]], **legacy)
    assert [batch.sources[0].late_rows for batch in pair.report().batches[:3]] == [0, 1, 1]


def test_strict_mode_cuts_at_the_watermark_itself(gated: SparkSession, tmp_path: Path) -> None:
    """Without a stateful operator late rows pass in Spark; strict mode drops them, ties and NULL pass."""

    def plain(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        return read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")

    batches: list[list[Row]] = [RISING[0], [(1, 1, 89.0), (2, 2, 90.0), (3, 3, None), (4, 4, 300.0)]]
    whole = same(gated, tmp_path / "whole", plain, batches)
    assert whole.report().late_rows == 0
    assert (
        whole.report().batches[1].sources[0].reason
        == "no stateful operator reads this source, so Spark drops no late rows"
    )
    for slack, keys in (("0s", [2, 3, 4]), ("1s", [1, 2, 3, 4])):
        headgate.enable(gated, watermark_strict=True, watermark_slack=slack)
        pair = Pair(gated, tmp_path / slack, plain)
        pair.feed([batches])
        pair.run()
        rows = "".join(pair.runs["on"].batches[1])
        assert [key for key in (1, 2, 3, 4) if f'"k":{key},' in rows] == keys
        assert pair.report().batches[1].strict


def test_it_can_be_turned_off_and_only_reported(gated: SparkSession, tmp_path: Path) -> None:
    """`enabled=false` leaves no trace; `strategy=never` reads everything and says so."""
    batches: list[list[Row]] = [*RISING, [(1, 9, 3.0)]]
    headgate.enable(gated, strategy="never")
    told = same(gated, tmp_path / "never", windowed, batches).report().batches[2].sources[0]
    assert (told.late_rows, told.reason) == (1, "reported but not applied: spark.headgate.strategy=never")
    headgate.enable(gated, strategy="cost", enabled=False)
    pair = same(gated, tmp_path / "disabled", windowed, batches)
    assert pair.report().batches == []
    assert pair.runs["on"].dropped == 1
    headgate.enable(gated, enabled=True)
