"""A changelog joined to a table equals the join of the rows that are there, after every batch."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.errors import BadInput
from headgate.stream import join
from tests.stream.changelogs import Changes, Row, Told, by_batch, random_changes

DDL = "id int, k int, v string"
SCHEMA = pa.schema([("id", pa.int32()), ("k", pa.int32()), ("v", pa.string())])
BATCHES = 4


def a_row(draw: random.Random) -> Row:
    return (draw.randint(1, 30), draw.choice([None, *range(6)]), draw.choice("abc"))


@pytest.fixture
def table(spark: SparkSession) -> DataFrame:
    """Keys that match twice, once and never; NULL matches nothing."""
    rows = [(0, "zero"), (1, "one"), (1, "uno"), (2, "two"), (9, "nine"), (None, "null")]
    return spark.createDataFrame(rows, "k int, name string")


def test_each_kind_of_join_equals_the_batch_join_after_each_batch(
    stateful: SparkSession, tmp_path: Path, table: DataFrame
) -> None:
    """All kinds in one stream, told apart by a first column."""
    changes = Changes(tmp_path / "in", DDL, SCHEMA)
    random_changes(random.Random(4), changes, BATCHES, a_row, size=20)
    stream, states = changes.stream(stateful), changes.states(stateful)
    renamed = table.withColumnRenamed("k", "key")
    kinds = {"inner": True, "left": True, "left_semi": False, "left_anti": False}
    found, expected = [], []
    for how, named in kinds.items():
        name = "name" if named else "null"
        found.append(join(stream, table, "k", how).selectExpr("_op", f"'{how}' how", "id", "k", "v", f"{name} name"))
        condition = join(stream, renamed, "left.k = right.key and right.name <> 'uno'", how)
        found.append(condition.selectExpr("_op", f"'{how} if' how", "id", "k", "v", f"{name} name"))
        plain = states.join(table, ["k"], how)
        expected.append(plain.selectExpr("_batch", f"'{how}'", "id", "k", "v", name))
        plain = states.join(renamed.where("name <> 'uno'"), states["k"] == renamed["key"], how)
        expected.append(plain.selectExpr("_batch", f"'{how} if'", "id", "k", "v", name))
    told = Told()
    told.run(_union(found), tmp_path / "c")
    assert told.after(BATCHES) == by_batch(_union(expected), BATCHES)
    assert Counter(row[0] for batch in told.batches.values() for row in batch).keys() == {"+I", "-U", "+U", "-D"}


def _union(frames: list[DataFrame]) -> DataFrame:
    first, *rest = frames
    for each in rest:
        first = first.union(each)
    return first


def test_the_kind_of_the_change_comes_first(stateful: SparkSession, tmp_path: Path, table: DataFrame) -> None:
    changes = Changes(tmp_path / "in", DDL, SCHEMA)
    changes.write([])
    assert join(changes.stream(stateful), table, ["k"]).columns == ["_op", "k", "id", "v", "name"]
    appended = join(changes.stream(stateful).drop("_op"), table, "k", "left_semi")
    assert appended.columns == ["_op", "k", "id", "v"]
    assert appended.isStreaming


@pytest.mark.parametrize(
    ("on", "how", "said"),
    [
        ("k", "right", "how is 'right'; it has to be inner, left, left_semi or left_anti"),
        ("k", "full", "how is 'full'"),
        ("k", "cross", "how is 'cross'"),
        ("q", "inner", "on is 'q': .*UNRESOLVED_COLUMN.*columns of the changelog: id, k, v; of the table: k, name"),
        (["id"], "inner", "no column 'id' on both sides"),
        ([], "inner", "on is empty"),
        ("left.k = right.k", "inner", "both sides have a column 'k'"),
        ("left.k =", "inner", "on is 'left.k ='.*PARSE_SYNTAX_ERROR"),
        ("left.v", "inner", "on is 'left.v'.*"),
    ],
)
def test_what_cannot_be_joined_is_refused(
    stateful: SparkSession, tmp_path: Path, table: DataFrame, on: str, how: str, said: str
) -> None:
    changes = Changes(tmp_path / "in", DDL, SCHEMA)
    changes.write([])
    with pytest.raises(BadInput, match=said):
        join(changes.stream(stateful), table, on, how)


def test_tables_that_cannot_be_joined_to_are_refused(stateful: SparkSession, tmp_path: Path, table: DataFrame) -> None:
    changes = Changes(tmp_path / "in", DDL, SCHEMA)
    changes.write([])
    stream = changes.stream(stateful)
    with pytest.raises(BadInput, match="the table is a stream"):
        join(stream, stream, "k")
    with pytest.raises(BadInput, match="the table has a column `_op`"):
        join(stream, table.withColumnRenamed("name", "_op"), "k")
    with pytest.raises(BadInput, match="changes is a batch DataFrame"):
        join(table, table, "k")
    with pytest.raises(BadInput, match="both sides have a column 'v' that is not in on"):
        join(stream, table.withColumnRenamed("name", "v"), "k")
