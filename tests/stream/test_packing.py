"""Late files stay in the listing: what is on time is cut, packed and ordered as Spark alone does it, to the last bit.

Several files a batch, of odd sizes, and few bytes a task: a file more or less changes where Spark cuts the others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.stream.streams import Pair, Program, aged, at

FILES = 4  # in each batch
ON_TIME = (200, 300)
LATE = (0, 60)
SCHEMA = pa.schema([("k", pa.int32()), ("x", pa.float64()), ("ts", pa.timestamp("us", "UTC"))])
# batch by batch, rows and seconds of each file; the watermark is 290 when the third and the fourth batch are read
BATCHES = [
    [(4, ON_TIME), (3, ON_TIME), (2, ON_TIME), (1, ON_TIME)],
    [(1, ON_TIME), (2, ON_TIME), (3, ON_TIME), (4, ON_TIME)],
    [(4000, (290, 300)), (9000, LATE), (2500, (290, 300)), (1100, (290, 300))],
    [(7000, LATE), (3000, (290, 300)), (700, (290, 300)), (2900, (280, 300))],
]


def _write(folder: Path, draw: random.Random) -> None:
    folder.mkdir(parents=True)
    for number, files in enumerate(BATCHES):
        for place, (rows, (first, last)) in enumerate(files):
            columns = {
                "k": [draw.randint(1, 400) for _ in range(rows)],
                "x": [draw.uniform(-1e6, 1e6) for _ in range(rows)],
                "ts": [at(draw.randint(first, last)) for _ in range(rows)],
            }
            path = folder / f"{number}-{place}.parquet"
            pq.write_table(pa.table(columns, schema=SCHEMA), path, row_group_size=150)
            aged(path, number * FILES + place)


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema("k int, x double, ts timestamp").option("maxFilesPerTrigger", FILES)
    return reader.parquet(str(folder)).withWatermark("ts", "10 seconds")


def first_of_duplicates(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """Which `x` survives depends on which row comes first."""
    return _stream(spark, folders[0]).dropDuplicates(["k", "ts"])


def summed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """The last digits of a sum depend on where the rows are cut into tasks, and on their order."""
    window = sf.window("ts", "5 seconds")
    return _stream(spark, folders[0]).groupBy(window, "k").agg(sf.sum("x").alias("x"), sf.first("x").alias("first"))


def placed(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
    """What Spark says of the place of a row: its file, where its split begins and its number in the file."""
    place = ("file_name", "file_block_start", "file_block_length", "row_index")
    stream = _stream(spark, folders[0]).select("*", *(f"_metadata.{name}" for name in place))
    return stream.dropDuplicates(["k", "ts"])


@pytest.mark.parametrize(
    ("program", "bytes_a_task"), [(first_of_duplicates, "128m"), (summed, "128m"), (placed, "60k")]
)
def test_what_is_on_time_does_not_move(
    gated: SparkSession, tmp_path: Path, program: Program, bytes_a_task: str
) -> None:
    """With files of 128 MB a task Spark divides all bytes by the cores, so what is late counts there too."""
    _write(tmp_path / "source", random.Random(9))
    settings = {"files.maxPartitionBytes": bytes_a_task, "files.openCostInBytes": "1", "shuffle.partitions": "2"}
    pair = Pair(gated, tmp_path, program, mode="update", **settings)
    pair.folders.append(tmp_path / "source")
    pair.run()
    pair.assert_same()
    told = [batch.sources[0] for batch in pair.report().batches]
    assert [source.files_skipped for source in told[:4]] == [0, 0, 1, 1]
    assert [source.late_rows for source in told[2:4]] == [9000, pytest.approx(7000 + 2900 / 2, abs=2900 / 2)]
    assert sum(len(rows) for rows in pair.runs["on"].batches.values()) > 300


def test_late_folders_stay_in_the_listing(gated: SparkSession, tmp_path: Path) -> None:
    """The event time in the names of folders: Spark would list fewer if it had the test as a filter."""
    draw = random.Random(3)
    small = [(300, 10), (299, 10), (298, 3), (297, 3)]
    for number, files in enumerate([small, small, [(300, 4000), (10, 9000), (299, 2500), (301, 1100)]]):
        for second, rows in files:
            folder = tmp_path / "source" / f"ts={at(second):%Y-%m-%d %H%%3A%M%%3A%S}"
            folder.mkdir(parents=True, exist_ok=True)
            columns = {"k": [draw.randint(1, 6000) for _ in range(rows)], "x": [draw.random() for _ in range(rows)]}
            path = folder / f"{number}.parquet"
            pq.write_table(pa.table(columns, schema=pa.schema(list(SCHEMA)[:2])), path, row_group_size=150)
            aged(path, number)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema("k int, x double, ts timestamp").option("maxFilesPerTrigger", FILES)
        return reader.parquet(str(folders[0])).withWatermark("ts", "10 seconds").dropDuplicatesWithinWatermark(["k"])

    settings = {"files.maxPartitionBytes": "128m", "files.openCostInBytes": "1"}
    pair = Pair(gated, tmp_path, program, **settings)
    pair.folders.append(tmp_path / "source")
    pair.run()
    pair.assert_same()
    assert pair.runs["off"].dropped > 0
    assert pair.runs["on"].dropped == 0
    assert pair.report().files_skipped == 1
