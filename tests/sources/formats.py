"""Write and read one table in each format that is told conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

DERBY = "jdbc:derby:memory:headgate;create=true"
DRIVER = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
V2_FILES = {"spark.sql.sources.useV1SourceList": ""}


@dataclass(frozen=True)
class Format:
    """What a format can: ``counts_files`` that it tells how many files it read; ``skips`` that fewer rows are read.

    ``counts_rows`` says that it tells how many rows it read.
    """

    counts_files: bool = False
    counts_rows: bool = True
    skips: bool = True
    compares_text: bool = True


FORMATS = {
    "delta": Format(counts_files=True),
    "iceberg": Format(counts_files=True),
    "orc": Format(counts_files=True, counts_rows=False),
    "parquet_v2": Format(),
    "orc_v2": Format(compares_text=False),
    "csv": Format(skips=False),
    "json": Format(skips=False),
    "avro": Format(skips=False),
    "derby": Format(compares_text=False),
    "derby_v2": Format(compares_text=False),
}


class Tables:
    """Tables in one folder, catalog or database; ``put`` returns how to read what it wrote."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._spark, self._home, self._numbers = spark, home, count()
        self._last: dict[str, str] = {}

    def put(self, kind: str, frame: DataFrame) -> Callable[[], DataFrame]:
        """Write a table, one file for each partition of the frame, and return a function that reads it."""
        name, spark = f"t{next(self._numbers)}", self._spark
        self._last[kind] = name
        if kind == "delta":
            frame.write.format("delta").saveAsTable(name)
            return lambda: spark.table(name)
        if kind == "iceberg":
            frame.writeTo(f"ice.db.{name}").create()
            return lambda: spark.table(f"ice.db.{name}")
        if kind.startswith("derby"):
            frame.write.jdbc(DERBY, name, properties=DRIVER)
            if kind == "derby_v2":
                return lambda: spark.table(f"derby.APP.{name.upper()}")
            return lambda: spark.read.jdbc(DERBY, name, properties=DRIVER)
        path, form = str(self._home / name), kind.removesuffix("_v2")
        frame.write.format(form).save(path)
        if not kind.endswith("_v2"):
            return lambda: spark.read.schema(frame.schema).format(form).load(path)
        return lambda: self._read_v2(form, path)

    def add(self, kind: str, frame: DataFrame) -> None:
        """Write more rows into the table that was put last in this format."""
        name = self._last[kind]
        if kind == "delta":
            frame.write.format("delta").mode("append").saveAsTable(name)
        else:
            frame.writeTo(f"ice.db.{name}").append()

    def _read_v2(self, form: str, path: str) -> DataFrame:
        spark = self._spark
        before = spark.conf.get("spark.sql.sources.useV1SourceList")
        assert before is not None
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
        try:
            return spark.read.format(form).load(path)
        finally:
            spark.conf.set("spark.sql.sources.useV1SourceList", before)
