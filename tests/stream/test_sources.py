"""Sources other than plain Parquet: formats without footers, other time types, sources that are no files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.stream.streams import START, Pair, aged, at, micros, read_stream, write_batch

SECONDS = [[0, 100], [200], [1, 2, 300], [3, 4]]  # the last two of batch 2 and all of batch 3 but 300 are late
LATE = [0, 0, 2, 2]


def _named(folder: Path, number: int, ending: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / f"batch-{number:04}.{ending}")


def _deduplicated(streams: list[DataFrame], column: str = "ts") -> DataFrame:
    parts = []
    for number, stream in enumerate(streams):
        unique = stream.withWatermark(column, "10 seconds").dropDuplicates([column])
        parts.append(unique.select(sf.lit(number).alias("source"), sf.col(column).cast("string").alias("ts")))
    united = parts[0]
    for part in parts[1:]:
        united = united.union(part)
    return united


def test_formats_without_footers_are_filtered_by_row(gated: SparkSession, tmp_path: Path) -> None:
    """ORC, JSON and CSV: the same rows, and late ones stop above the scan."""
    endings = ("orc", "json", "csv")
    for number, seconds in enumerate(SECONDS):
        text = [f"{at(s):%Y-%m-%d %H:%M:%S}" for s in seconds]
        paths = {ending: _named(tmp_path / ending, number, ending) for ending in endings}
        # by Spark itself: 4.0 and 4.1 cannot read the type that Arrow gives to a time with a zone
        frame = gated.createDataFrame([(at(s),) for s in seconds], "ts timestamp").coalesce(1)
        frame.write.orc(str(tmp_path / f"orc-{number}"))
        next((tmp_path / f"orc-{number}").glob("part-*.orc")).rename(paths["orc"])
        Path(paths["json"]).write_text("".join(f'{{"ts": "{one}"}}\n' for one in text))
        Path(paths["csv"]).write_text("".join(f"{one}\n" for one in text))
        for path in paths.values():
            aged(path, number)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema("ts timestamp").option("maxFilesPerTrigger", 1)
        return _deduplicated([reader.format(ending).load(str(tmp_path / ending)) for ending in endings])

    pair = Pair(gated, tmp_path / "run", program)
    pair.run()
    pair.assert_same()
    told = pair.report().batches
    assert [[source.late_rows for source in batch.sources] for batch in told[:4]] == [[late] * 3 for late in LATE]
    assert [source.files for source in told[3].sources] == [0, 0, 0]


def test_other_time_types_are_judged_by_what_their_footers_say(gated: SparkSession, tmp_path: Path) -> None:
    """Milliseconds prune files; times without a zone may mean others, INT96 has no statistics: rows are filtered."""
    types = {"millis": pa.timestamp("ms", "UTC"), "zoneless": pa.timestamp("us"), "int96": pa.timestamp("us", "UTC")}
    for number, seconds in enumerate(SECONDS):
        for name, kind in types.items():
            moments = [at(s).replace(tzinfo=None) if kind.tz is None else at(s) for s in seconds]
            path = _named(tmp_path / name, number, "parquet")
            table = pa.table({"TS": pa.array(moments, kind)})  # Spark finds `ts`, whatever the case
            pq.write_table(table, path, use_deprecated_int96_timestamps=name == "int96")
            aged(path, number)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema("ts timestamp").option("maxFilesPerTrigger", 1)
        return _deduplicated([reader.parquet(str(tmp_path / name)) for name in types])

    pair = Pair(gated, tmp_path / "run", program)
    pair.run()
    pair.assert_same()
    told = pair.report().batches
    assert [[source.late_rows for source in batch.sources] for batch in told[:4]] == [[late] * 3 for late in LATE]
    assert [source.files_skipped for source in told[3].sources] == [1, 0, 0]
    assert told[2].sources[0].cut_off == micros(90)


def test_event_times_in_the_folder_names(gated: SparkSession, tmp_path: Path) -> None:
    """A partition column can be the event time; Spark leaves late folders out by itself when it has the test."""
    for number, seconds in enumerate(SECONDS):
        for second in seconds:
            folder = tmp_path / "source" / f"ts={at(second):%Y-%m-%d %H%%3A%M%%3A%S}"
            folder.mkdir(parents=True, exist_ok=True)
            path = str(folder / f"batch-{number}.parquet")
            pq.write_table(pa.table({"v": [number]}), path)
            aged(path, number)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema("v long, ts timestamp").option("maxFilesPerTrigger", 1)
        return _deduplicated([reader.parquet(str(tmp_path / "source"))])

    pair = Pair(gated, tmp_path / "run", program)
    pair.run()
    pair.assert_same()
    assert pair.runs["off"].dropped > 0
    assert pair.runs["on"].dropped == 0


def test_a_source_that_is_no_file_is_filtered_by_row(gated: SparkSession, tmp_path: Path) -> None:
    """Rows of a generator are late against the highest of two watermarks, and stop right above it."""

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        made = spark.readStream.format("rate-micro-batch").options(
            rowsPerBatch=5, numPartitions=1, startTimestamp=int(START.timestamp() * 1000), advanceMillisPerBatch=30_000
        )
        slow = made.load().withWatermark("timestamp", "10 seconds").dropDuplicates(["timestamp", "value"])
        fast = read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")
        return slow.select("timestamp").union(fast.dropDuplicates(["ts"]).select("ts"))

    policy = {"streaming.multipleWatermarkPolicy": "max"}
    pair = Pair(gated, tmp_path, program, **policy)
    pair.folders.append(tmp_path / "source")
    for number in range(4):  # the generator gives one batch each time that the query is started
        write_batch(pair.folders[0], number, [(1, 1, 1000.0 * (number + 1))])
        pair.run()
    pair.assert_same()
    late = [source for batch in pair.report().batches for source in batch.sources if source.column == "timestamp"]
    assert late
    assert all(source.late_rows == 5 for source in late)
    assert pair.runs["off"].dropped >= 5
    assert pair.runs["on"].dropped == 0
