"""The dynamic filter operator at its limits: promises, pieces, bad input, and what a scan below no longer reads."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import headgate
from headgate.catalyst import changes
from headgate.stream import MoveReport, dynamic_filter
from headgate.stream.vnodes import spark_hash, vnode_ids
from tests.stream.epochs import Driver, Epoch, left, right
from tests.stream.test_dynamic_filter import THREE, compared, filters, ids

pytestmark = [pytest.mark.usefixtures("operators"), pytest.mark.turns(2)]
FIVE = left(*(("+I", k) for k in range(1, 6)))


def moves_of(driver: Driver, name: str) -> list[MoveReport]:
    moves = headgate.streaming_report(driver.query_id).moves
    return [move for move in moves if move.operator == name]


# --- values that move one way -----------------------------------------------------------------------------------------


def test_rows_are_forgotten_when_the_value_only_rises(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scenario 6: what is settled leaves the state, and passes or not from then on without being stored."""
    monkeypatch.setattr(changes, "BLOCK_BYTES", 1)  # whole blocks are forgotten
    operators = {symbol: compared(symbol, moves="up") for symbol in ("<=", ">", "=")}
    driver = Driver(spark, tmp_path, operators)
    late = left(("+I", 11, 1), ("-D", 2), ("-D", 3))
    driver.feed([FIVE, right(2), late, right(5), left(("+I", 12, 5), ("+I", 13, 6))])
    driver.run()
    assert [ids(changes) for changes in driver.told["<="]] == [
        [],
        ["+I 1", "+I 2"],
        ["+I 11", "-D 2"],
        ["+I 4", "+I 5"],
        ["+I 12"],
    ]
    assert [ids(changes) for changes in driver.told[">"]] == [
        [],
        ["+I 3", "+I 4", "+I 5"],
        ["-D 3"],
        ["-D 4", "-D 5"],
        ["+I 13"],
    ]
    assert [ids(changes) for changes in driver.told["="]] == [[], ["+I 2"], ["-D 2"], ["+I 5"], ["+I 12"]]
    kept = {symbol: [m.rows_kept for m in moves_of(driver, f"left.v {symbol} right.m")] for symbol in operators}
    assert kept["<="] == [5, 3, 2, 0, 1]
    assert kept[">"] == [5, 3, 2, 0, 1]
    assert kept["="] == [5, 4, 2, 1, 3]


def test_a_broken_promise_fails_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that would count again are gone, so the query must not go on; nothing of the batch is told."""
    driver = Driver(spark, tmp_path, {">": compared(">", moves="up")})
    driver.feed([FIVE, right(3), right(2)])
    with pytest.raises(StreamingQueryException, match=r'went from 3 to 2, and moves="up" was promised'):
        driver.run()


def test_late_rows_are_not_read_again(gated: SparkSession, tmp_path: Path) -> None:
    """A time that only rises is handed to the scan: files that lie below it are not opened, and nothing differs."""

    def at(hour: int) -> dt.datetime:
        return dt.datetime(2024, 3, 1, tzinfo=dt.UTC) + dt.timedelta(hours=hour)

    def rows(first: int, *hours: int) -> Epoch:
        return Epoch(left=[("+I", first + k, at(hour), None) for k, hour in enumerate(hours)])

    epochs = [rows(0, 1, 5, 9), right(at(4)), rows(10, 1, 2, 3), rows(20, 2, 8, 4), right(at(8)), rows(30, 7, 9)]
    driver = Driver(gated, tmp_path, {">": compared(">", moves="up")}, type="timestamp")
    driver.feed(epochs)
    driver.run()
    assert [ids(changes) for changes in driver.told[">"]] == [
        [],
        ["+I 1", "+I 2"],
        [],
        ["+I 21"],
        ["-D 1", "-D 21"],
        ["+I 31"],
    ]
    late = [sum(s.late_rows for s in batch.sources) for batch in headgate.streaming_report(driver.query_id).batches]
    assert late[:6] == [0, 0, 3, 2, 0, 1]


# --- moves in pieces --------------------------------------------------------------------------------------------------


def test_a_move_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    """At most so many rows in a batch, of one value too; rows that come meanwhile and moves back are told once."""
    many = Epoch(left=[("+I", k, 5, None) for k in range(10)])
    driver = Driver(spark, tmp_path, {">": filters("v > m", piece_rows=4, vnodes=1)})
    still = left(("+I", 99, -9))
    driver.feed([many, right(0), still, left(("-D", 0, 5), ("-D", 9, 5)), still, right(7), right(0), still, still])
    driver.run()
    told = [ids(changes) for changes in driver.told[">"]]
    assert [len(changes) for changes in told[:3]] == [0, 4, 4]
    there = [len(state) for state in driver.after_each_epoch(">")]
    assert there[4] == 8
    assert max(map(len, told[:3] + told[4:])) <= 4
    assert there[-1] == 8
    assert any(move.vnodes_pending for move in moves_of(driver, "left.v > right.m"))


# --- what cannot work -------------------------------------------------------------------------------------------------


def test_two_right_rows_without_an_order(spark: SparkSession, tmp_path: Path) -> None:
    """Scenario 15; nothing is lost: with an order, the same checkpoint goes on."""
    driver = Driver(spark, tmp_path, {">": compared(">", order=None)})
    driver.feed([THREE, right(2), right(1, 0)])
    with pytest.raises(
        StreamingQueryException, match=r"has two rows, 1 and 0.*give `order`|has two rows, 0 and 1.*give `order`"
    ):
        driver.run()
    again = Driver(spark, tmp_path, {">": compared(">")})
    again.fed = driver.fed
    again.run()
    assert ids(again.told[">"][0]) == ["+I 1", "+I 2"]


@pytest.mark.parametrize(
    ("epochs", "told"),
    [
        ([Epoch(right=[("+I", 1), ("+I", 2)])], "has two rows"),
        ([Epoch(right=[("+I", 1)]), Epoch(right=[("-D", 2)])], "took away 2, which it did not hold"),
        ([Epoch(left=[("+X", 1, 1, None)])], r"`_op` is '\+X'; it has to be one of \+I, -U, \+U, -D"),
    ],
)
def test_changelogs_that_are_none(spark: SparkSession, tmp_path: Path, epochs: list[Epoch], told: str) -> None:
    driver = Driver(spark, tmp_path, {">": compared(">", order=None)}, changelog=True)
    driver.feed(epochs)
    with pytest.raises(StreamingQueryException, match=told):
        driver.run()


def test_a_tie_that_is_overtaken(spark: SparkSession, tmp_path: Path) -> None:
    """Two rows of one order do no harm if a later one counts; if none does, the batch fails."""
    driver = Driver(spark, tmp_path, {">": compared(">")})
    driver.feed([THREE, Epoch(right=[(1, 0), (1, 1), (2, 2)])])
    driver.run()
    assert ids(driver.told[">"][1]) == ["+I 3"]
    driver.feed([Epoch(right=[(3, 0), (3, 1)])])
    with pytest.raises(StreamingQueryException, match="both have the same `order`"):
        driver.run()


def test_a_promise_cannot_be_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    """What was forgotten under a promise is gone: the checkpoint is refused without it."""
    driver = Driver(spark, tmp_path, {">": compared(">", moves="up")})
    driver.feed([FIVE, right(3)])
    driver.run()
    for other in (compared(">"), compared(">", moves="down")):
        again = Driver(spark, tmp_path, {"other": other}, fed=driver.fed)
        again.feed([right(4)])
        with pytest.raises(StreamingQueryException, match=r'written with moves="up" and >, and rows were forgotten'):
            again.run()
        driver.fed = again.fed


def test_rows_that_are_stored_by_another_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    """A delete would not find its row where the zone decides what it is stored by: the checkpoint is refused."""
    driver = Driver(spark, tmp_path, {">": filters("to_date(v) > m")}, type="timestamp", right_type="date")
    driver.feed([Epoch(left=[("+I", 1, dt.datetime(2024, 1, 1, 23, tzinfo=dt.UTC), None)])])
    driver.run()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    driver.feed([right(dt.date(2024, 1, 1))])
    with pytest.raises(
        StreamingQueryException, match=r"in time zone UTC, which is now .* in time zone Asia/Tokyo: give"
    ):
        driver.run()


def test_many_right_rows_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Only the latest counts, and only it goes to the vnodes."""
    driver = Driver(spark, tmp_path, {">": compared(">")})
    driver.feed([THREE, Epoch(right=[(k, 2 if k == 999 else 0) for k in range(1_000)])])
    driver.run()
    assert ids(driver.told[">"][1]) == ["+I 3"]


def test_a_right_value_in_another_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    """What a changelog takes away is known by its value, not by how a session writes it."""

    def at(day: int) -> dt.datetime:
        return dt.datetime(2024, 3, day, tzinfo=dt.UTC)

    driver = Driver(spark, tmp_path, {">": compared(">", order=None)}, type="timestamp", changelog=True)
    driver.feed([Epoch(left=[("+I", day, at(day), None) for day in (1, 3)], right=[("+I", at(2))])])
    driver.run()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    driver.feed([Epoch(right=[("-D", at(2)), ("+I", at(4))])])
    driver.run()
    assert [ids(changes) for changes in driver.told[">"]] == [["+I 3"], ["-D 3"]]


def test_conditions_keep_what_they_mean(spark: SparkSession, tmp_path: Path) -> None:
    """Literals, functions and names that would not survive being written as SQL and read again."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    repeated = "v > m and timestamp'2024-10-27T01:30:00Z' > timestamp'2024-10-27T00:40:00Z'"
    conditions = [
        repeated,
        "v > m and exists(array(1, id), x -> x > 1)",
        "v > m and `note` is null",
        "v > m and v between 1 and 3",
    ]
    driver = Driver(spark, tmp_path, {text: filters(text) for text in conditions})
    driver.feed([THREE, right(1)])
    driver.run()
    assert {text: ids(driver.told[text][1]) for text in conditions} == {text: ["+I 2", "+I 3"] for text in conditions}


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "no such key": ({"key": "nope"}, "no column 'nope' in the left side; its columns are id, v, m_map"),
    "no key": ({"key": []}, "the key of the left side is empty"),
    "no such order": ({"order": "nope"}, "no column 'nope' in the right side"),
    "order without order": ({"order": "r_map"}, "which has no order"),
    "unknown column": (
        {"condition": "v > nope"},
        "columns of the left side: id, v, m_map; of the right side: m, at, r_map",
    ),
    "nonsense": ({"condition": "v >"}, "condition 'v >'"),
    "no right side": ({"condition": "v > 3"}, "does not look at the right side"),
    "no left side": ({"condition": "m > 3"}, "does not look at a column of the left side"),
    "OR": ({"condition": "v > m or id = 1"}, "is none of <, <=, >, >=, =, <>"),
    "null-safe": ({"condition": "v <=> m"}, "is none of <, <=, >, >=, =, <>"),
    "mixed": ({"condition": "v + m > m"}, "mixes columns of both sides"),
    "no order": ({"condition": "m_map = r_map"}, "m_map"),
    "another each time": ({"condition": "v > m + rand()"}, "gives another answer each time"),
    "the clock": ({"condition": "v > m and at < now()"}, "looks at the clock; `temporal_filter`"),
    "the clock on the right": ({"condition": "v > m + unix_date(current_date())"}, "looks at the clock"),
    "moves": ({"moves": "sideways"}, 'it has to be "both", "up" or "down"'),
    "vnodes": ({"vnodes": 3}, "it has to be a power of two"),
    "pieces": ({"piece_rows": -1}, "it has to be 0, for no limit, or more"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_one_sentence_before_the_query_starts(spark: SparkSession, case: str) -> None:
    changed, told = REFUSALS[case]
    rate = spark.readStream.format("rate").load()
    one = rate.selectExpr("value id", "value v", "map(1, 2) m_map")
    other = rate.selectExpr("value m", "timestamp at", "map(1, 2) r_map")
    given: dict[str, Any] = {"condition": "v > m", "key": "id", **changed}
    with pytest.raises(headgate.BadInput, match=told.replace("(", r"\(")):
        dynamic_filter(one, other, **given)


def test_selecting_the_right_column_is_not_possible(spark: SparkSession) -> None:
    """Scenario 16: the result has the columns of the left side."""
    rate = spark.readStream.format("rate").load()
    found = dynamic_filter(rate.selectExpr("value id"), rate.selectExpr("value m"), "id > m", "id")
    assert found.columns == ["_op", "id"]


# --- vnodes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 16, 64])
def test_vnodes_fall_evenly_into_partitions(spark: SparkSession, count: int) -> None:
    """By Spark's own hash; and they are what they were, since checkpoints depend on them."""
    chosen = vnode_ids(count)
    by_spark = [
        row[0] for row in spark.createDataFrame([(k,) for k in chosen], "k int").selectExpr("hash(k)").collect()
    ]
    assert by_spark == [spark_hash(k) for k in chosen]
    for partitions in (1, 2, 3, 4, 5, 6, 8, 12, 16):
        loads = [sum(spark_hash(k) % partitions == part for k in chosen) for part in range(partitions)]
        assert max(loads) - min(loads) <= 2, f"{count} vnodes in {partitions} partitions: {loads}"
    assert vnode_ids(64)[:4] == FIRST_OF_64


FIRST_OF_64 = (38, 357, 334, 80)
