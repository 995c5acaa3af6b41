"""A materialised table equals the rows of its changelog after every batch, whatever is restarted, killed or refused."""

from __future__ import annotations

import datetime as dt
import random
import signal
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.catalyst.files import Folder
from headgate.errors import BadInput
from headgate.stream import materialize, read_materialized
from headgate.stream.manifest import Manifest, newest
from tests.stream.changelogs import Change, Changes, Row, by_batch, comparable
from tests.stream.killed_materialize import changes_in, totals

DDL = (
    "id int, name string, n bigint, f float, d double, m decimal(20,3), y binary, b boolean, a date, c timestamp, "
    "z timestamp_ntz, l array<int>, s struct<p: int, q: string>"
)
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("name", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("m", pa.decimal128(20, 3)),
        ("y", pa.binary()),
        ("b", pa.bool_()),
        ("a", pa.date32()),
        ("c", pa.timestamp("us", "UTC")),
        ("z", pa.timestamp("us")),
        ("l", pa.list_(pa.int32())),
        ("s", pa.struct([("p", pa.int32()), ("q", pa.string())])),
    ]
)
KEY = ["id", "name"]
MOMENT = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


class Frozen(dict[str, Any]):
    """A struct that a row can hold and be counted by."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def a_row(draw: random.Random, key: tuple[Any, Any]) -> Row:
    values = [
        draw.randint(-(2**60), 2**60),
        draw.choice([float("inf"), draw.randint(-99, 99) / 4]),
        draw.choice([float("-inf"), draw.random()]),
        Decimal(draw.randint(-(10**18), 10**18)).scaleb(-3),
        draw.randbytes(3),
        draw.random() < 0.5,
        dt.date(1890, 1, 1) + dt.timedelta(days=draw.randint(0, 60000)),
        MOMENT + dt.timedelta(microseconds=draw.randint(-(10**15), 10**15)),
        MOMENT.replace(tzinfo=None) + dt.timedelta(microseconds=draw.randint(-(10**15), 10**15)),
        tuple(draw.choice([1, 2, None]) for _ in range(draw.randint(0, 3))),
        Frozen(p=draw.randint(0, 9), q=draw.choice(["x", None])),
    ]
    return (*key, *(value if draw.random() < 0.85 else None for value in values))


def write_random(draw: random.Random, changes: Changes) -> None:
    """Write a batch of rows with keys of their own: some come, some go, some change, and some only pass."""
    there = {row[:2]: row for row in changes.rows}
    made: list[Change] = []
    for key in [(draw.choice([None, *range(1, 40)]), draw.choice(["a", None])) for _ in range(30)]:
        row = there.pop(key, None)
        if row is None and not any(change[1][:2] == key for change in made):
            made.append(("+I", a_row(draw, key)))
        elif row is not None:
            made += [("-U", row), ("+U", a_row(draw, key))] if draw.random() < 0.6 else [("-D", row)]
    passing = a_row(draw, (99, "passing"))
    made += [("-D", passing), ("+I", passing)]
    draw.shuffle(made)
    changes.write(made)


def run(frame: DataFrame, home: Path, key: str | list[str], **options: Any) -> None:
    """Keep the table over all files that are there."""
    query = materialize(frame, str(home / "table"), key, available_now=True, **options)
    query.awaitTermination()


def table(spark: SparkSession, home: Path) -> Counter[Row]:
    found = read_materialized(spark, str(home / "table"))
    return Counter(comparable(row) for row in found.collect())


def manifest(spark: SparkSession, home: Path) -> Manifest:
    found = newest(Folder(spark, str(home / "table")))
    assert found is not None
    return found


def test_the_table_equals_the_rows_after_each_batch_and_restart(stateful: SparkSession, tmp_path: Path) -> None:
    draw, changes = random.Random(2), Changes(tmp_path / "in", DDL, SCHEMA)
    found = []
    for _ in range(5):
        write_random(draw, changes)
        run(changes.stream(stateful), tmp_path, KEY, buckets=4)
        found.append(table(stateful, tmp_path))
    changes.write([("-D", row) for row in changes.rows])
    run(changes.stream(stateful), tmp_path, KEY, buckets=4)
    found.append(table(stateful, tmp_path))
    assert found == by_batch(changes.states(stateful), 6)
    assert found[4]
    assert not found[5]
    schema = read_materialized(stateful, str(tmp_path / "table")).schema
    assert schema.simpleString() == changes.stream(stateful).drop("_op").schema.simpleString()


# A smaller table for what happens to its files.

SMALL = "id int, v string"
SMALL_SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string())])


@pytest.fixture
def small(tmp_path: Path) -> Changes:
    return Changes(tmp_path / "in", SMALL, SMALL_SCHEMA)


def test_only_touched_buckets_are_written_and_old_files_go_after_a_grace(
    stateful: SparkSession, tmp_path: Path, small: Changes
) -> None:
    small.write([("+I", (i, "a")) for i in range(40)])
    run(small.stream(stateful), tmp_path, "id", buckets=8)
    first = manifest(stateful, tmp_path)
    assert sorted(file.bucket for file in first.files) == list(range(8))
    before = read_materialized(stateful, str(tmp_path / "table"))

    small.write([("-U", (3, "a")), ("+U", (3, "b"))])
    run(small.stream(stateful), tmp_path, "id", buckets=8)
    second = manifest(stateful, tmp_path)
    assert len(set(first.files) & set(second.files)) == 7
    assert Counter(map(tuple, before.collect())) == Counter((i, "a") for i in range(40)), "the reader was not cut off"

    small.write([("-U", (3, "b")), ("+U", (3, "c"))])
    run(small.stream(stateful), tmp_path, "id", buckets=8)
    third = manifest(stateful, tmp_path)
    assert third.batch == 2
    stored = {str(path.relative_to(tmp_path / "table")) for path in (tmp_path / "table" / "data").rglob("*.parquet")}
    assert stored == {file.path for file in second.files + third.files}
    assert sorted(path.name for path in (tmp_path / "table" / "_manifests").glob("[!.]*")) == [
        f"{batch:020}.json" for batch in (1, 2)
    ]


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ([("-D", (7, "a"))], 'took away a row that is not there, of key {"id":7}'),
        ([("-U", (1, "b")), ("+U", (1, "c"))], 'took away a row that is not there, of key {"id":1}'),
        ([("-D", (None, "n"))], 'took away a row that is not there, of key {"id":null}'),
        ([("+I", (1, "b"))], 'would hold more than one row of key {"id":1}: the key has to tell all rows apart'),
        ([("+I", (1, "a"))], 'would hold more than one row of key {"id":1}: the key has to tell all rows apart'),
        ([("+X", (1, "a"))], "`_op` is '+X'; it has to be one of +I, -U, +U, -D"),
    ],
)
def test_a_batch_that_cannot_be_fails_and_the_table_stays(
    stateful: SparkSession, tmp_path: Path, small: Changes, batch: list[Change], said: str
) -> None:
    small.write([("+I", (1, "a")), ("+I", (2, "a"))])
    small.write(batch)
    with pytest.raises(StreamingQueryException) as failure:
        run(small.stream(stateful), tmp_path, "id", buckets=2)
    assert said in str(failure.value)
    assert table(stateful, tmp_path) == Counter([(1, "a"), (2, "a")])


def test_a_table_belongs_to_one_query(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    small.write([("+I", (1, "a"))])
    run(small.stream(stateful), tmp_path, "id", buckets=2)
    stream = small.stream(stateful)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"checkpoint": str(tmp_path / "other")}, "belongs to query .* and the checkpoint .*other to none yet"),
        ({"key": "v"}, r"was written with key \['id'\], and now key is \['v'\]"),
        ({"buckets": 3}, "was written with buckets 2, and now buckets is 3"),
        ({"changes": stream.selectExpr("_op", "id", "1 v")}, "was written with columns struct<id:int,v:string>"),
    ]
    for options, said in cases:
        asked: dict[str, Any] = {"changes": stream, "key": "id", "buckets": 2, **options}
        with pytest.raises(BadInput, match=said):
            materialize(path=str(tmp_path / "table"), **asked)


def test_keys_of_any_name(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    small.write([("+I", (1, "a"))])
    small.write([("-U", (1, "a")), ("+U", (1, "b"))])
    run(small.stream(stateful).selectExpr("_op", "id row", "1 all", "2 least", "v"), tmp_path, ["row", "all", "least"])
    assert table(stateful, tmp_path) == Counter([(1, 1, 2, "b")])


def test_a_table_that_is_gone_is_not_begun_anew(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    small.write([("+I", (1, "a"))])
    run(small.stream(stateful), tmp_path / "one", "id", checkpoint=checkpoint)
    small.write([("+I", (2, "a"))])
    with pytest.raises(StreamingQueryException, match=r"no table at .*two/table, and the checkpoint .* is at batch 1"):
        run(small.stream(stateful), tmp_path / "two", "id", checkpoint=checkpoint)
    run(small.stream(stateful), tmp_path / "one", "id", checkpoint=checkpoint)
    assert table(stateful, tmp_path / "one") == Counter([(1, "a"), (2, "a")])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": "q"}, "no column 'q' in changes; its columns are id, v"),
        ({"key": []}, "the key of changes is empty"),
        ({"buckets": 0}, "buckets is 0; it has to be from 1 to 4,096"),
        ({"keep": 0}, "keep is 0"),
        ({"every": "1 second", "available_now": True}, "every and available_now are both given"),
    ],
)
def test_options_that_cannot_be_are_refused(
    stateful: SparkSession, tmp_path: Path, small: Changes, options: dict[str, Any], said: str
) -> None:
    small.write([])
    asked: dict[str, Any] = {"key": "id", **options}
    with pytest.raises(BadInput, match=said):
        materialize(small.stream(stateful), str(tmp_path / "table"), **asked)
    with pytest.raises(BadInput, match=r"no materialised table at .*table"):
        read_materialized(stateful, str(tmp_path / "table"))


def test_rows_that_cannot_be_kept_are_refused(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    small.write([])
    stream = small.stream(stateful)
    for changes, key, said in [
        (stream.withColumnRenamed("v", "_bucket"), "id", "changes has a column '_bucket'"),
        (stream.selectExpr("*", "map(id, v) k"), "k", "cannot be told apart"),
        (stateful.range(3), "id", "changes is a batch DataFrame"),
    ]:
        with pytest.raises(BadInput, match=said):
            materialize(changes, str(tmp_path / "table"), key)


def test_paths_that_spark_would_take_for_several_are_refused(
    stateful: SparkSession, tmp_path: Path, small: Changes
) -> None:
    small.write([])
    with pytest.raises(BadInput, match=r"has \[ \] in it, by which Spark would look for several paths"):
        materialize(small.stream(stateful), str(tmp_path / "table[1]"), "id")


def test_files_of_others_are_left_alone(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    """A folder that holds something is refused, and what is put beside the table later is never deleted."""
    strange = tmp_path / "table" / "data" / "part-0.parquet"
    strange.parent.mkdir(parents=True)
    strange.touch()
    small.write([("+I", (1, "a"))])
    with pytest.raises(BadInput, match=r"is no materialised table, and it holds data/part-0\.parquet"):
        materialize(small.stream(stateful), str(tmp_path / "table"), "id")
    strange.unlink()
    run(small.stream(stateful), tmp_path, "id", keep=1)
    strange.touch()
    small.write([("-D", (1, "a"))])
    run(small.stream(stateful), tmp_path, "id", keep=1)
    assert not table(stateful, tmp_path)
    assert [path.name for path in (tmp_path / "table").rglob("*.parquet")] == [strange.name]


def kill(home: Path, moment: str, batch: int) -> None:
    """Run the program until it is killed."""
    command = [sys.executable, "-m", "tests.stream.killed_materialize", str(home), moment, str(batch)]
    ended = subprocess.run(command, capture_output=True, text=True, start_new_session=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-4000:]


def test_each_batch_counts_once_when_the_program_is_killed(stateful: SparkSession, tmp_path: Path) -> None:
    """Killed between the files and the manifest of batch 1, then between the manifest and Spark's commit of batch 2."""
    draw, changes = random.Random(8), changes_in(tmp_path)
    for _ in range(4):
        gone = [row for row in changes.rows if draw.random() < 0.3]
        made = [("-D", row) for row in gone]
        made += [("+I", (draw.randint(0, 10**6), draw.randint(0, 9), draw.randint(-99, 99))) for _ in range(40)]
        changes.write(made)
    data, commits = tmp_path / "table" / "data", tmp_path / "table" / "_checkpoint" / "commits"
    states = changes.states(stateful).groupBy("_batch", "k")
    expected = by_batch(states.agg(sf.count("*"), sf.sum("v"), sf.min("v")), 4)

    kill(tmp_path, "before", 1)
    assert table(stateful, tmp_path) == expected[0]
    orphans = list(data.glob("1-*"))
    assert orphans
    kill(tmp_path, "after", 2)
    assert table(stateful, tmp_path) == expected[2]
    assert not (commits / "2").exists()
    run(totals(stateful, tmp_path), tmp_path, "k")
    assert table(stateful, tmp_path) == expected[3]
    assert (commits / "3").exists()
    assert not any(orphan.exists() for orphan in orphans)
