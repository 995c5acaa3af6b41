"""`WatermarkFilter` on Arrow batches: what passes, what is counted, when the generation moves, what is refused."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pytest

from headgate import WatermarkFilter
from headgate.domain import Domain
from headgate.errors import InvalidFilter

MILLIS = pa.timestamp("ms")
TYPES = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin")]
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def batch_of(values: list[int | None], type: pa.DataType = MILLIS) -> pa.RecordBatch:
    """A batch with the time column and the row's own number."""
    return pa.record_batch({"ts": pa.array(values, pa.int64()).cast(type), "row": pa.array(range(len(values)))})


def advanced(watermark: int, type: pa.DataType = MILLIS, **options: int) -> WatermarkFilter:
    """A filter with a watermark."""
    late = WatermarkFilter("ts", type, **options)
    assert late.advance(watermark)
    return late


def kept(late: WatermarkFilter, batch: pa.RecordBatch) -> list[int]:
    """The numbers of the rows that pass; `evaluate` and `apply` must agree."""
    passed = late.apply(batch)
    rows = [] if passed is None else passed["row"].to_pylist()
    assert rows == [row for row, passes in enumerate(late.evaluate(batch).to_pylist()) if passes]
    return rows


def test_watermark_filter_skips_late_data() -> None:
    """Rows before the watermark are dropped and counted: 250 over 100, 200, 300, 400 keeps 300 and 400."""
    late = advanced(250)
    assert kept(late, batch_of([100, 200, 300, 400])) == [2, 3]
    assert (late.late_rows, late.null_rows) == (2, 0)


def test_watermark_filter_passes_on_time_data() -> None:
    """A batch without late rows comes back as it is, and not as a copy."""
    late, batch = advanced(50), batch_of([100, 200, 300, 400])
    assert late.apply(batch) is batch
    assert late.late_rows == 0


def test_watermark_filter_generation_increments_on_advance() -> None:
    late = WatermarkFilter("ts", MILLIS)
    assert late.generation == 0
    assert [late.advance(100), late.generation] == [True, 1]
    assert [late.advance(200), late.generation] == [True, 2]


def test_watermark_filter_no_advance_no_generation_change() -> None:
    """An equal or lower watermark changes neither the generation nor the rows."""
    late = advanced(250)
    assert not late.advance(250)
    assert not late.advance(100)
    assert (late.generation, late.watermark) == (1, 250)
    assert kept(late, batch_of([200, 250])) == [1]


def test_watermark_filter_passes_all_when_uninitialized() -> None:
    """Before the first watermark each row passes, NULL and times before 1970 too; so does a watermark of -1 ms."""
    batch = batch_of([-(10**15), 0, None, 100])
    late = WatermarkFilter("ts", MILLIS)
    assert kept(late, batch) == [0, 1, 2, 3]
    assert late.apply(batch) is batch
    assert kept(advanced(-1), batch_of([0, 100, 200])) == [0, 1, 2]


def test_streaming_scan_with_dynamic_filter_applied() -> None:
    """A reader of batches that asks the filter hands on only what is on time, as the watermark moves."""
    late, seen = WatermarkFilter("ts", MILLIS), []
    for times in ([100, 200], [150, 300], [250, 400]):
        passed = late.apply(batch_of([*times]))
        seen.append([] if passed is None else passed["ts"].cast(pa.int64()).to_pylist())
        late.advance(max(times) - 50)
    assert seen == [[100, 200], [150, 300], [250, 400]]
    assert kept(late, batch_of([349, 350])) == [1]


def test_streaming_scan_empty_batch_after_filter_skipped() -> None:
    """A batch of late rows gives no batch at all; neither does one without rows."""
    late = advanced(1000)
    assert late.apply(batch_of([100, 200])) is None
    assert late.apply(batch_of([])) is None
    assert late.late_rows == 2


def test_a_tie_passes_and_the_watermark_follows_the_batch() -> None:
    """RisingWave's watermark of one day: each batch is filtered with the watermark from before it, and a tie passes."""
    day, late = 86_400_000, WatermarkFilter("ts", MILLIS)

    def through(late: WatermarkFilter, *days: int) -> list[int]:
        batch = batch_of([d * day for d in days])
        rows = [days[row] for row in kept(late, batch)]
        late.advance((max(days) - 1) * day)
        return rows

    assert through(late, 7, 8, 6) == [7, 8, 6]
    assert late.watermark == 7 * day
    assert through(late, 7, 6, 10) == [7, 10]
    assert late.watermark == 9 * day
    after_crash = advanced(late.watermark)
    assert through(after_crash, 14, 9, 8) == [14, 9]
    assert after_crash.watermark == 13 * day


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_each_unit_and_zone_is_compared_exactly(type: pa.DataType) -> None:
    """The watermark is in milliseconds whatever the column is in; 1500 ms lies between seconds 1 and 2."""
    second = PER_SECOND[type.unit]
    late = advanced(1500, type)
    assert kept(late, batch_of([second, 2 * second], type)) == [1]
    if type.unit != "s":
        tie = 1500 * second // 1000
        assert kept(late, batch_of([tie - 1, tie], type)) == [1]


def test_whole_numbers_are_milliseconds() -> None:
    assert kept(advanced(250, pa.int64()), batch_of([249, 250, 251], pa.int64())) == [1, 2]


def test_rows_without_a_time_pass_and_are_counted_apart() -> None:
    """NULL is not late in Spark."""
    late = advanced(250)
    assert kept(late, batch_of([None, 100, 300, None])) == [0, 2, 3]
    assert (late.late_rows, late.null_rows) == (1, 2)


def test_slack_keeps_rows_that_are_a_little_late() -> None:
    assert kept(advanced(250, slack_ms=100), batch_of([149, 150, 300])) == [1, 2]


@pytest.mark.parametrize("times", [[100, 300, 200, 400], [300, 100, 400], [100, 300, 400, 200], [100, 200, 300]])
def test_late_rows_anywhere_in_the_batch(times: list[int]) -> None:
    """Late rows at the start, at the end, at both and between."""
    expected = [row for row, time in enumerate(times) if time >= 250]
    assert kept(advanced(250), batch_of([*times])) == expected


def test_late_rows_at_the_ends_are_cut_off_without_copying() -> None:
    """What is left is a window on the same memory."""
    batch = batch_of([100, 200, 300, 400, 100])
    passed = advanced(250).apply(batch)
    assert passed is not None
    assert passed["ts"].buffers()[1].address == batch["ts"].buffers()[1].address


def test_a_slice_of_a_batch_is_judged_by_its_own_rows() -> None:
    batch = batch_of([100, 900, 100, 900, 100]).slice(1, 3)
    passed = advanced(250).apply(batch)
    assert passed is not None
    assert passed["row"].to_pylist() == [1, 3]


def test_random_batches_against_plain_python() -> None:
    draw = random.Random(6)
    for _ in range(300):
        kind = draw.choice([*TYPES, pa.int64()])
        scale = 1 if pa.types.is_int64(kind) else PER_SECOND[kind.unit] / 1000
        watermark = draw.randint(-5000, 5000)
        values = [draw.choice([None, *range(-6, 7)]) for _ in range(draw.randint(0, 12))]
        numbers = [None if value is None else round(value * 1000 * scale) for value in values]
        expected = [row for row, n in enumerate(numbers) if n is None or n >= watermark * scale]
        assert kept(advanced(watermark, kind), batch_of(numbers, kind)) == expected


def test_a_missing_column_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(InvalidFilter, match=r"no column 'ts'.*the batch has a, b"):
        advanced(1).apply(pa.record_batch({"a": [1], "b": [2]}))


def test_a_column_that_is_no_time_is_an_error() -> None:
    """Both where the filter is made and where a batch brings another type than was said."""
    with pytest.raises(InvalidFilter, match="'ts' of type string cannot be an event time"):
        WatermarkFilter("ts", pa.string())
    with pytest.raises(InvalidFilter, match=r"'ts' is string.*reads timestamp\[ms\].*ts string, n int64"):
        advanced(1).evaluate(pa.record_batch({"ts": ["a"], "n": [1]}))
    with pytest.raises(InvalidFilter, match="slack_ms=-1"):
        WatermarkFilter("ts", MILLIS, slack_ms=-1)


def test_consumers_see_the_watermark_as_a_domain() -> None:
    """Who prunes by the filter gets times from the watermark on, and NULL; the version rises with the generation."""
    late = WatermarkFilter("ts", pa.timestamp("us", "UTC"))
    view = late.consumer()
    assert view.current().is_all
    late.advance(1_000)
    second = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert view.current().domains == {"ts": Domain.range("timestamp", second, null_allowed=True)}
    assert (view.version, late.generation) == (1, 1)
    late.advance(500)
    assert (view.version, late.generation) == (1, 1)
