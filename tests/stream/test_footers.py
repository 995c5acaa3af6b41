"""Which footers of a batch are read: a few first, and all where late files may be; only in formats that are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType, TimestampType

from tests.stream.streams import ARROW, SCHEMA, Pair, Row, aged, at, read_stream
from tests.stream.test_pushdown import RISING, same, windowed

FILES = 40
LATE, ON_TIME = 3.0, 300.0
# the first, the third and the sixth of 40 are among those looked at first, the second is not
MANY: list[set[int]] = [set(), set(), {1}, {1}, set(), set(), {0}]


def test_the_other_footers_are_read_where_late_files_may_be(gated: SparkSession, tmp_path: Path) -> None:
    """A late file nobody looked at is tested by row, and makes the next batch look at all; so does a late one seen."""
    folder = tmp_path / "source"
    folder.mkdir()
    for number, late in enumerate(MANY):
        for place in range(FILES):
            seconds = LATE if place in late else ON_TIME
            columns = {"k": [place], "v": [number], "ts": [at(seconds)]}
            path = folder / f"{number}-{place:02}.parquet"
            pq.write_table(pa.table(columns, schema=ARROW), path)
            aged(path, number * FILES + place)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
        stream = reader.parquet(str(folder)).withWatermark("ts", "10 seconds")
        return stream.groupBy(sf.window("ts", "20 seconds"), "k").agg(sf.sum("v").alias("v"))

    pair = Pair(gated, tmp_path / "run", program)
    pair.run()
    pair.assert_same()
    told = [batch.sources[0] for batch in pair.report().batches[: len(MANY)]]
    assert [source.files for source in told] == [0, 0, *[FILES] * 5]
    assert [source.row_groups for source in told] == [0, 0, 16, FILES, FILES, 16, FILES]
    assert [source.files_skipped for source in told] == [0, 0, 0, 1, 0, 0, 1]
    assert [source.late_rows for source in told] == [0, 0, 1, 1, 0, 0, 1]
    assert told[2].reason == "no late file among 16 of 40, so rows are tested instead"


def test_field_ids_count_only_where_the_schema_has_them(gated: SparkSession, tmp_path: Path) -> None:
    """With the ids of two times swapped the footers would be read by the wrong name; without ids the names hold."""
    rows: list[list[Row]] = [*RISING, [(1, 9, LATE)]]
    told = same(gated, tmp_path / "names", windowed, rows, **{"parquet.fieldId.read.enabled": "true"}).report()
    assert told.files_skipped == 1
    kind, ids = pa.timestamp("us", "UTC"), {"ts": b"1", "other": b"2"}
    fields = [pa.field(name, kind, metadata={"PARQUET:field_id": ids[name]}) for name in ids]
    for number, seconds in enumerate([0.0, 100.0, 200.0, 300.0, 400.0]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"ts": [at(seconds)], "other": [at(LATE)]}, schema=pa.schema(fields)), path)
        aged(path, number)

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        swapped = StructType(
            [
                StructField("other", TimestampType(), True, {"parquet.field.id": 1}),
                StructField("ts", TimestampType(), True, {"parquet.field.id": 2}),
            ]
        )
        reader = spark.readStream.schema(swapped).option("maxFilesPerTrigger", 1)
        return (
            reader.parquet(str(tmp_path / "*.parquet")).withWatermark("other", "10 seconds").dropDuplicates(["other"])
        )

    pair = Pair(gated, tmp_path / "ids", program, **{"parquet.fieldId.read.enabled": "true"})
    pair.run()
    pair.assert_same()
    assert sum(len(rows) for rows in pair.runs["on"].batches.values()) == 5
    assert pair.report().batches[3].sources[0].files == 0


STAND_IN = """
package standin;
public class OtherParquet extends org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat {
  public String toString() { return "OtherParquet"; }
}
"""


def _with_stand_in(context: Any, home: Path) -> None:
    """Compile a subclass of Spark's Parquet format, as Delta has one, and put it where Spark looks for formats."""
    jvm = context._jvm
    home.mkdir()
    (home / "OtherParquet.java").write_text(STAND_IN)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(jvm.java.io.File(str(home)), False)
    resource = jvm.org.codehaus.commons.compiler.util.resource
    inputs = context._gateway.new_array(resource.Resource, 1)
    inputs[0] = resource.FileResource(jvm.java.io.File(str(home / "OtherParquet.java")))
    compiler.compile(inputs)
    loader.addURL(jvm.java.io.File(f"{home}/").toURI().toURL())


def test_a_subclass_of_the_format_is_left_as_it_is(gated: SparkSession, tmp_path: Path) -> None:
    """What it reads in a file may be something else than the file's rows, so only rows are tested."""
    _with_stand_in(gated.sparkContext, tmp_path / "classes")

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        reader = spark.readStream.schema(SCHEMA).format("standin.OtherParquet").option("maxFilesPerTrigger", 1)
        return reader.load(str(folders[0])).withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"])

    rows: list[list[Row]] = [*RISING, [(1, 9, LATE)]]
    told = same(gated, tmp_path, program, rows).report().batches[2].sources[0]
    assert (told.files, told.files_skipped, told.late_rows) == (0, 0, 1)


def test_one_source_read_twice_is_narrowed_where_it_may_be(gated: SparkSession, tmp_path: Path) -> None:
    """Both readings have one listing; the one that needs its late rows must not be given the other's shuffle."""

    def program(spark: SparkSession, folders: Sequence[Path]) -> DataFrame:
        stream = read_stream(spark, folders[0]).withWatermark("ts", "10 seconds")
        late = stream.groupBy("k", "ts").agg(sf.sum("v").alias("v")).select("k", "ts", "v")
        whole = stream.groupBy("k", sf.col("ts").cast("string").alias("ts")).agg(sf.sum("v").alias("v"))
        return late.select("k", sf.col("ts").cast("string").alias("ts"), "v").union(whole.select("k", "ts", "v"))

    rows: list[list[Row]] = [*RISING, [(1, 9, LATE)] * 9, [(1, 9, ON_TIME)]]
    pair = same(gated, tmp_path, program, rows, mode="update")
    assert [source.files_skipped for source in pair.report().batches[2].sources] == [1, 0]
    assert len(pair.runs["on"].batches[2]) == 1
