"""Mistakes with materialised tables: each is answered with one sentence, before a query starts where that can be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.errors import BadInput
from headgate.stream import materialize, read_materialized
from tests.stream.changelogs import Changes
from tests.stream.test_materialize import run, table


@pytest.fixture
def small(tmp_path: Path) -> Changes:
    made = Changes(tmp_path / "in", "id int, v string", pa.schema([("id", pa.int32()), ("v", pa.string())]))
    made.write([("+I", (1, "a"))])
    return made


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"path": "{home}/a-file"},
            r"the path is file:.*/a-file, and .*/a-file is a file; give a folder",
        ),
        ({"path": "{home}/a-file/table"}, r"the path is file:.*/a-file/table, and .*/a-file is a file; give"),
        ({"path": ""}, r"the path is ''; it has to be the path of a folder"),
        ({"path": None}, r"the path is None; it has to be the path of a folder"),
        (
            {"path": "nowhere://x/table"},
            r"the path is .nowhere://x/table., which Spark cannot reach: No FileSystem for",
        ),
        ({"checkpoint": "{home}/a-file"}, r"the checkpoint is file:.*/a-file, and .*/a-file is a file"),
        ({"checkpoint": ""}, r"the checkpoint is ''; it has to be the path of a folder"),
        (
            {"checkpoint": "{home}/table"},
            r"the checkpoint is .*/table, where the files of the table lie; give a folder",
        ),
        ({"checkpoint": "{home}/table/data/x"}, r"where the files of the table lie"),
        ({"key": 3}, r"no column 3 in changes; its columns are id, v"),
        ({"key": ["id", "id"]}, r"the key of changes has a column twice: id, id; name each once"),
        ({"buckets": "16"}, r"buckets is '16'; it has to be a whole number"),
        ({"keep": 1.5}, r"keep is 1.5; it has to be a whole number"),
        ({"every": "soon"}, r'every is .soon.; it has to be an interval, such as "10 seconds"'),
        ({"every": ""}, r"every is ''; it has to be an interval"),
    ],
)
def test_one_sentence_before_anything_is_written(
    stateful: SparkSession, tmp_path: Path, small: Changes, options: dict[str, Any], said: str
) -> None:
    (tmp_path / "a-file").write_text("mine")
    asked: dict[str, Any] = {"path": "{home}/table", "key": "id", **options}
    for name in ("path", "checkpoint"):
        if isinstance(asked.get(name), str):
            asked[name] = asked[name].format(home=tmp_path)
    with pytest.raises(BadInput, match=said):
        materialize(small.stream(stateful), **asked)
    assert not (tmp_path / "table").exists()
    assert (tmp_path / "a-file").read_text() == "mine"


def test_rows_that_no_file_holds_and_streams_that_spark_refuses(
    stateful: SparkSession, tmp_path: Path, small: Changes
) -> None:
    stream = small.stream(stateful)
    with pytest.raises(BadInput, match=r"column 'n' of changes is void, which a Parquet file cannot hold"):
        materialize(stream.selectExpr("*", "null n"), str(tmp_path / "table"), "id")
    with pytest.raises(
        BadInput, match=r"column 's' of changes is struct<x:interval>, which a Parquet file cannot hold"
    ):
        materialize(stream.selectExpr("*", "named_struct('x', make_interval(1)) s"), str(tmp_path / "table"), "id")
    with pytest.raises(BadInput, match=r"changes has a column '_Bucket'"):
        materialize(stream.withColumnRenamed("v", "_Bucket"), str(tmp_path / "table"), "id")
    with pytest.raises(BadInput, match=r"the query cannot be started: .*aggregat.*; `headgate.stream.aggregate`"):
        materialize(stream.groupBy("id").count(), str(tmp_path / "table"), "id")


def test_one_path_in_several_forms(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    """A trailing slash, a scheme and a Path are the same table, also for the query that goes on with it."""
    home = tmp_path / "table"
    forms: list[Any] = [f"{home}/", f"file:{home}", f"file://{home}/", home, str(home)]
    two: Any = np.int64(2)
    for number, path in enumerate(forms, start=2):
        materialize(small.stream(stateful), path, "id", available_now=True, buckets=two).awaitTermination()
        assert len(table(stateful, tmp_path)) == number - 1
        assert read_materialized(stateful, path).count() == number - 1
        small.write([("+I", (number, "a"))])


def test_two_queries_on_one_path(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    """The second one is refused while the first one runs, whatever its checkpoint; the first one goes on."""
    first = materialize(small.stream(stateful), tmp_path / "table", "id", name="keeper")
    try:
        for checkpoint in (None, tmp_path / "other"):
            with pytest.raises(BadInput, match=r"query keeper writes the table at .*/table already; stop it first"):
                materialize(small.stream(stateful), f"{tmp_path}/table/", "id", checkpoint=checkpoint)
        first.processAllAvailable()
        assert first.isActive
        with pytest.raises(BadInput, match=r"the query cannot be started: .*keeper"):
            materialize(small.stream(stateful), tmp_path / "another", "id", name="keeper")
    finally:
        first.stop()
    small.write([("+I", (2, "b"))])
    run(small.stream(stateful), tmp_path, "id")
    assert table(stateful, tmp_path) == Counter([(1, "a"), (2, "b")])


def test_a_checkpoint_that_is_gone(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    run(small.stream(stateful), tmp_path, "id")
    (tmp_path / "table" / "_checkpoint").rename(tmp_path / "moved")
    with pytest.raises(BadInput, match=r"belongs to query .*, and the checkpoint .*_checkpoint to none yet: give the"):
        run(small.stream(stateful), tmp_path, "id")
    small.write([("+I", (2, "b"))])
    run(small.stream(stateful), tmp_path, "id", checkpoint=tmp_path / "moved")
    assert table(stateful, tmp_path) == Counter([(1, "a"), (2, "b")])


def test_what_is_no_table_is_not_read(stateful: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("mine")
    with pytest.raises(BadInput, match=r"a-file is a file; give a folder"):
        read_materialized(stateful, tmp_path / "a-file")
    with pytest.raises(BadInput, match=r"no materialised table at .*/nothing; `headgate.stream.materialize` makes one"):
        read_materialized(stateful, str(tmp_path / "nothing") + "/")


def test_files_that_are_gone(stateful: SparkSession, tmp_path: Path, small: Changes) -> None:
    run(small.stream(stateful), tmp_path, "id")
    (file,) = (tmp_path / "table" / "data").rglob("*.parquet")
    file.unlink()
    with pytest.raises(BadInput, match=rf"the table at file:.*/table has lost its file data/.*{file.name}"):
        read_materialized(stateful, tmp_path / "table")
