"""Temporal filters: after each tick the changelog adds up to what the batch query says at that time.

The scenarios are those of other systems' tests, by their numbers in our list: rows that come and go with the time (19
to 26), validity intervals (28 to 36), and entering and leaving exactly once (46 to 51).
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import random
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate.catalyst.changes import now_condition_parts
from headgate.errors import BadInput
from headgate.stream import Clock, ManualClock, temporal_filter
from tests.stream.ticking import Input, Told

pytestmark = [pytest.mark.usefixtures("operators"), pytest.mark.turns(2)]

START = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "_op string, id int, ts timestamp, till timestamp, ttl int, kind string"


def at(minutes: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minutes)


def change(
    op: str, id: int, ts: float | None, till: float | None = None, ttl: int | None = None, kind: str | None = None
) -> dict[str, Any]:
    """One change; times are in minutes after START."""
    moments = (None if each is None else at(each).isoformat() for each in (ts, till))
    return dict(zip(("_op", "id", "ts", "till", "ttl", "kind"), (op, id, *moments, ttl, kind), strict=True))


CONDITIONS = {
    # 20, 22: both bounds; what lies below and above is hidden
    "window": "ts between now() - interval 1 hour and now()",
    # 21: an expression of columns, flipped sides
    "ttl": "now() - interval 10 minutes < ts + ttl * interval 1 second",
    # 21: an upper bound only, which delays
    "delay": "ts <= now() - interval 5 minutes",
    # 21, 24: equality with a truncated time
    "hour": "date_trunc('hour', ts) = date_trunc('hour', now())",
    # 23: OR with a nullable column, three arms, two groups
    "or": "ts > now() - interval 30 minutes or kind = 'keep'",
    "three": "kind = 'keep' or (ts > now() - interval 30 minutes and ttl > 0) or ts is null",
    "groups": "(ts > now() - interval 1 hour or kind = 'keep') and (ts < now() or ttl is null)",
    # 33: AND with ordinary predicates, negation
    "day": "cast(ts as date) = current_date and not (ts > current_timestamp() or kind = 'hide')",
    # 28, 30, 46 to 48: validity intervals, also empty ones
    "valid": "ts <= now() and now() < till",
}
# minutes after START, and what is written just before
STEPS: list[tuple[float, list[dict[str, Any]]]] = [
    (
        0,
        [
            change("+I", 1, -61, 10, 60),
            change("+I", 2, -60, 0, 600, "keep"),
            change("+I", 3, -1, 45, 6000, "hide"),
            change("+I", 4, 0, 0, 0),
            change("+I", 5, 0.5, 20, None),
            change("+I", 6, 50, 40, 5, "keep"),
            change("+I", 7, None, 45, 5),
            change("+I", 8, None, None, None, "keep"),
            change("+I", 9, 5000, 6000, 1),
        ],
    ),
    (0.5, []),
    # 20, 25: updates and deletes of shown and of hidden rows, and two updates of one key
    (
        30,
        [
            change("-U", 3, -1, 45, 6000, "hide"),
            change("+U", 3, 29, 46, 6000, "keep"),
            change("-U", 6, 50, 40, 5, "keep"),
            change("+U", 6, 55, 70, 5),
            change("-D", 9, 5000, 6000, 1),
            change("-D", 5, 0.5, 20, None),
            change("-U", 2, -60, 0, 600, "keep"),
            change("+U", 2, -60, 0, 601),
            change("-U", 2, -60, 0, 601),
            change("+U", 2, 10, 31, 601),
            change("+I", 10, -500, -400, 1),
            change("+I", 11, 90, None, 1),
        ],
    ),
    (60, [change("-U", 6, 55, 70, 5), change("+U", 6, 55, 71, 5, "keep")]),
    (91, [change("-D", 8, None, None, None, "keep"), change("-D", 10, -500, -400, 1)]),
    (60 * 24, []),
]


class Changes:
    """The changes before each step: those above, and random ones, whose times often are exactly on a bound."""

    def __init__(self, seed: int) -> None:
        self.draw, self.rows, self.number = random.Random(seed), dict[int, dict[str, Any]](), 100

    def at_step(self, number: int) -> list[dict[str, Any]]:
        changes = list(STEPS[number][1])
        for chosen in self.draw.sample(sorted(self.rows), len(self.rows) // 3):
            before = self.rows.pop(chosen)
            if self.draw.random() < 0.4:
                changes.append({**before, "_op": "-D"})
            else:
                self.rows[chosen] = self._row(chosen)
                changes += [{**before, "_op": "-U"}, {**self.rows[chosen], "_op": "+U"}]
        for _ in range(12):
            self.number += 1
            self.rows[self.number] = self._row(self.number)
            changes.append(self.rows[self.number])
        return changes

    def _row(self, number: int) -> dict[str, Any]:
        draw, moments = self.draw, [minutes for minutes, _ in STEPS]
        ts, till = (
            draw.choice([None, draw.choice(moments) + draw.choice([-60, -30, -10, -5, 0, 0.1, 7])]) for _ in range(2)
        )
        return change("+I", number, ts, till, draw.choice([None, 0, 5, 600]), draw.choice([None, "keep", "hide", "a"]))


def tagged(frame: DataFrame, clock: Clock) -> DataFrame:
    """Return the answers to all conditions in one stream."""
    named = [
        temporal_filter(frame, condition, "id", clock=clock).select("_op", sf.lit(name).alias("name"), "id", "till")
        for name, condition in CONDITIONS.items()
    ]
    return reduce(DataFrame.union, named)


def batch_answer(spark: SparkSession, rows: list[tuple], now: dt.datetime) -> set[tuple[str, int]]:
    """Return (condition, id) as Spark's batch query says at a given time."""
    moment = f"timestamp'{now:%Y-%m-%d %H:%M:%S.%f}+00:00'"
    asked = spark.createDataFrame(rows, SCHEMA.partition(", ")[2])
    written = {
        name: condition.replace("now()", moment)
        .replace("current_timestamp()", moment)
        .replace("current_date", f"date'{now:%Y-%m-%d}'")
        for name, condition in CONDITIONS.items()
    }
    answers = asked.select("id", *(sf.expr(condition).alias(name) for name, condition in written.items())).collect()
    return {(name, row["id"]) for row in answers for name in CONDITIONS if row[name]}


def test_each_condition_equals_the_batch_answer_after_each_tick(spark: SparkSession, tmp_path: Path) -> None:
    """20 to 23, 25, 28, 30, 33, 34, 46 to 49: all conditions over one stream, and one clock for all of them."""
    clock, source, told = ManualClock(START), Input(spark, tmp_path / "in", SCHEMA), Told(tmp_path)
    seed = int(os.environ.get("HEADGATE_CLOCK_SEED", random.randrange(1_000_000)))
    logging.getLogger(__name__).warning("HEADGATE_CLOCK_SEED=%d", seed)  # shown where the test fails
    rows, made, written = list[tuple](), Changes(seed), list[dict[str, Any]]()
    frame = tagged(source.read(), clock)
    for number, (minutes, _) in enumerate(STEPS):
        changes = made.at_step(number) if number != 1 else []
        clock.set(at(minutes))
        if changes:
            source.write(changes)
        query = told.finish(frame, availableNow=True)  # one that runs meanwhile could see the time before the rows
        written += changes
        for each in changes:
            moments = [value and dt.datetime.fromisoformat(value) for value in (each["ts"], each["till"])]
            row = (each["id"], *moments, each["ttl"], each["kind"])
            if each["_op"].startswith("+"):
                rows.append(row)
            else:
                rows.remove(row)
        shown = told.rows()
        assert max(shown.values(), default=1) == 1
        assert {row[:2] for row in shown} == batch_answer(spark, rows, at(minutes)), minutes
        sources = [each["description"] for each in query.recentProgress[-1]["sources"]]
        assert len({each for each in sources if "is made of" not in each}) == 2  # the files, and one clock for all
        assert sum("clock" in each for each in sources) == 1
    # from a row that the time shows to one that it does not matter for, or back
    assert [row[0] for row in told.batches[3] if row[1:3] == ("or", 6)] == ["+U", "-U"]
    tills = {row[0]: row[2] for row in rows}
    assert all(row[2] == (tills[row[1]] and tills[row[1]].replace(tzinfo=None)) for row in told.rows())
    # 21: what only waits is never taken back, except where the stream takes it back itself
    deleted = {each["id"] for each in written if each["_op"].startswith("-")}
    delayed = [(row[0], row[2]) for batch in told.batches.values() for row in batch if row[1] == "delay"]
    assert {change[1] for change in delayed if change[0].startswith("-")} <= deleted
    assert len(delayed) > 3


def test_the_clock_goes_on_where_it_was_and_nothing_is_told_twice(spark: SparkSession, tmp_path: Path) -> None:
    """24, 26, 50: repeated ticks tell nothing, a restart keeps the time, and a batch run again sees the same time."""
    source, told = Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    condition = "date_trunc('hour', ts) = date_trunc('hour', now()) and ts <= now()"

    def stream(clock: ManualClock) -> DataFrame:
        return temporal_filter(source.read(), condition, "id", clock=clock).select("_op", "id")

    source.write({"id": i, "ts": at(minutes).isoformat()} for i, minutes in enumerate((0, 10, 20, 60, 61)))
    clock = ManualClock(at(10))
    with told.run(stream(clock)) as query:
        query.processAllAvailable()
        assert told.last == [("+I", 0), ("+I", 1)]
        for minutes in (11, 12):
            clock.set(at(minutes))
            query.processAllAvailable()
            assert told.last == []
        clock.advance("500 milliseconds")  # less than a tick
        query.processAllAvailable()
        assert max(told.batches) == 2
        clock.set(at(60))
        query.processAllAvailable()
    assert told.last == [("+I", 3), ("-D", 0), ("-D", 1)]
    assert told.forget_last_commit() == 3
    clock = ManualClock(at(5))  # a machine whose clock is behind
    with told.run(stream(clock)) as query:
        query.processAllAvailable()
        assert told.reruns == [(3, told.batches[3], told.batches[3])]
        assert max(told.batches) == 3
        clock.set(at(61))
        query.processAllAvailable()
    assert told.last == [("+I", 4)]
    assert told.values(1) == [str(round(at(minutes).timestamp() * 1e6)) for minutes in (10, 11, 12, 60, 61)]


def test_after_a_pause_time_comes_in_steps(spark: SparkSession, tmp_path: Path) -> None:
    """26: the cap, in a running query and in one that stops when all is read; a single batch takes it all."""
    source, told = Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    clock = ManualClock(START)
    frame = temporal_filter(
        source.read(),
        "ts > now() - interval 1 hour",
        "id",
        tick="1 minute",
        most_per_batch=dt.timedelta(hours=1),
        clock=clock,
    ).select("_op", "id")
    source.write({"id": i, "ts": at(60 * i).isoformat()} for i in range(5))
    told.finish(frame, availableNow=True)
    clock.set(at(150))
    told.finish(frame, availableNow=True)
    assert [told.batches[number] for number in (1, 2, 3)] == [[("-D", 0)], [("-D", 1)], []]
    clock.set(at(330))
    told.finish(frame, once=True)
    assert told.last == [("-D", 2), ("-D", 3), ("-D", 4)]
    moments = [dt.datetime.fromtimestamp(int(value) / 1e6, dt.UTC) for value in told.values(1)]
    assert moments == [at(minutes) for minutes in (0, 60, 120, 150, 330)]


def test_a_bound_does_not_go_back(spark: SparkSession, tmp_path: Path) -> None:
    """A month before the 30th, 23:00, is later than a month before the 31st, 1:00: the bound waits."""
    clock, source, told = ManualClock(START), Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    frame = temporal_filter(source.read(), "ts > now() - interval 1 month", "id", clock=clock).select("_op", "id")
    moments = [dt.datetime(2024, 3, day, hour, tzinfo=dt.UTC) for day, hour in ((30, 23), (31, 1), (31, 2))]
    for i, moment in enumerate(moments):  # a query that runs meanwhile could see the time before the rows
        clock.set(moment)
        source.write([{"id": i, "ts": "2024-02-29T12:00:00Z"}, {"id": 10 + i, "ts": "2024-02-29T23:00:01Z"}])
        told.finish(frame, availableNow=True)
    assert [told.batches[number] for number in range(3)] == [[("+I", 10 + i)] for i in range(3)]


def test_the_machines_clock(spark: SparkSession, tmp_path: Path) -> None:
    source, told = Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    now = dt.datetime.now(dt.UTC)
    source.write({"id": hours, "ts": (now - dt.timedelta(hours=hours)).isoformat()} for hours in (-20, 0, 20, 30))
    frame = temporal_filter(source.read(), "ts between now() - interval 1 day and now()", "id").select("_op", "id")
    told.finish(frame, availableNow=True)
    assert told.rows() == {(0,): 1, (20,): 1}


def test_state_is_bounded_by_the_window(spark: SparkSession, tmp_path: Path) -> None:
    """19, 47, 48: rows that have left are forgotten, and those that come too late are not kept at all."""
    clock, source, told = ManualClock(START), Input(spark, tmp_path / "in", "id int, ts timestamp"), Told(tmp_path)
    windows = (10, 20, 30)
    frames = [
        temporal_filter(source.read(), f"ts > now() - interval {seconds} seconds", "id", clock=clock).select(
            "_op", "id"
        )
        for seconds in windows
    ]
    rate, step = 20, 5  # rows a second, seconds a batch
    with told.run(reduce(DataFrame.union, frames)) as query:
        for number in range(9):
            seconds = [number * step + i / rate for i in range(rate * step)]
            late = [(-1 - number, number * step - 100)]
            source.write(
                {"id": i, "ts": at(each / 60).isoformat()}
                for i, each in [*((round(each * rate), each) for each in seconds), *late]
            )
            clock.set(at((number + 1) * step / 60))
            query.processAllAvailable()
        # the last of each operator, in the order in which they were made
        kept = list({move.operator: move.rows_kept for move in headgate.streaming_report(query).moves}.values())
    assert [rate * window * 0.9 <= rows <= rate * window * 1.5 for rows, window in zip(kept, windows, strict=True)] == [
        True
    ] * 3, kept
    assert not any(row[1] < 0 for batch in told.batches.values() for row in batch)
    assert sum(told.rows().values()) == sum(rate * window for window in windows) - len(windows)


def test_what_is_made_of_the_time_is_what_spark_makes_of_it(spark: SparkSession) -> None:
    """21, 35: the time's side of each form, at one moment, against the same expression in a batch query."""
    forms = {
        "d >= {}": [
            "current_date - interval 1 day",
            "date_sub(current_date(), 3)",
            "add_months(current_date, -2)",
            "trunc(current_date, 'month')",
            "cast(now() as date) + 1",
        ],
        "ts > {}": [
            "now() - interval 1 month",
            "dateadd(hour, -1, now())",
            "date_trunc('week', now())",
            "current_timestamp - make_dt_interval(1, 2)",
            "interval 90 minutes + now() - interval '1 02:03:04' day to second",
        ],
        "n > {}": ["localtimestamp() - interval 1 hour", "cast(now() as timestamp_ntz)"],
        "{} - 5 < v": ["unix_micros(now())", "unix_timestamp()", "cast(now() as bigint)", "cast(now() as double)"],
    }
    frame = spark.readStream.format("rate").load()
    frame = frame.selectExpr("timestamp ts", "value v", "date(timestamp) d", "cast(timestamp as timestamp_ntz) n")
    clock = ManualClock(START).stream(spark, 1, 0)
    moment = spark.sql("select timestamp'2024-03-31 01:02:03.456789+00:00' as _now").alias("right")
    for form, times in forms.items():
        for time in times:
            condition = form.format(time)
            temporal_filter(frame, condition, "v")  # it can be put into a query
            compared = now_condition_parts(frame.schema, clock.schema, condition, frame).comparisons[0]
            plain = time.replace("unix_timestamp()", "unix_timestamp(_now)").replace("now()", "_now")
            for name, kind in (
                ("current_timestamp", "timestamp"),
                ("current_date", "date"),
                ("localtimestamp", "timestamp_ntz"),
            ):
                plain = plain.replace(f"{name}()", name).replace(name, f"cast(_now as {kind})")
            told, wanted = moment.select(compared.right.column, sf.expr(plain + " - 5" * ("- 5" in form))).first()
            assert told == wanted, condition
            assert told is not None


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("ts >", "Syntax error"),
        ("nosuch > now()", "columns: id, ts"),
        ("kind = 'a'", "does not look at now\\(\\); a plain filter would do"),
        ("extract(hour from now()) < ttl", "does not always rise with the time; what does is now\\(\\)"),
        ("ts > timestamp'2024-01-01' - (now() - timestamp'2024-01-01')", "does not always rise"),
        ("date_sub(current_date, dayofmonth(now())) < ts", "does not always rise"),
        ("kind > cast(now() as string)", "does not always rise"),
        ("now() - ts > interval 1 hour", "now\\(\\) and a column in one operand; put the column on the other side"),
        ("ts > now() or till > now()", "now\\(\\) on both sides of OR"),
        ("ts not between now() and now() + interval 1 day", "now\\(\\) on both sides of OR"),
        ("ts + (now() - now()) > now()", "now\\(\\) on both sides"),
        ("ts <=> now()", "none of <, <=, >, >=, =, <> or BETWEEN"),
        ("not ts <=> now()", "none of <, <=, >, >=, =, <> or BETWEEN"),
        ("ts in (now())", "none of <"),
        ("date'2024-01-01' < now()", "does not look at a column"),
        ("ts > now() and rand() > 0.5", "gives another answer each time"),
        ("ts > now() + make_interval(0, 0, 0, ttl)", "now\\(\\) and a column in one operand"),
        ("ts > now() and id > (select max(id) from range(3))", "subquery"),
    ],
)
def test_what_cannot_be_kept_up_to_date_is_refused(spark: SparkSession, condition: str, sentence: str) -> None:
    """22, 23, 31, 32, 36, 51: never silently wrong."""
    frame = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("'+I' _op", "int(value) id", "timestamp ts", "timestamp till", "int(value) ttl", "'' kind")
    )
    with pytest.raises(BadInput, match=sentence) as refused:
        temporal_filter(frame, condition, "id")
    assert "_now" not in str(refused.value)


def test_what_is_given_is_checked(spark: SparkSession) -> None:
    frame = spark.readStream.format("rate").load()
    condition, key = "timestamp > now()", "value"
    with pytest.raises(BadInput, match="the stream is a batch DataFrame"):
        temporal_filter(spark.range(1), condition, key)
    with pytest.raises(BadInput, match="no column 'nosuch' in the stream"):
        temporal_filter(frame, condition, "nosuch")
    with pytest.raises(BadInput, match="clock is str; it has to be a Clock or a ManualClock"):
        temporal_filter(frame, condition, key, clock="now")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="tick is 'often'; it has to be a timedelta, or a text such as"):
        temporal_filter(frame, condition, key, tick="often")
    with pytest.raises(BadInput, match="tick is '0 seconds'; it has to be longer than nothing"):
        temporal_filter(frame, condition, key, tick="0 seconds")
    with pytest.raises(BadInput, match="most_per_batch is '1 second', which is less than tick, '1 minute'"):
        temporal_filter(frame, condition, key, tick="1 minute", most_per_batch="1 second")
