"""Random ORC tables, of files that differ from each other, joined at random: the same rows with Headgate on and off.

A usual run draws a few tables; HEADGATE_TABLES=1000 draws as many, and HEADGATE_FIRST=100 begins further on.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from headgate import QueryReport
from tests.batch.differential import INTERPRETED, assert_same, enabled, outcome, settings

FIRST = int(os.environ.get("HEADGATE_FIRST", "0"))
COUNT = int(os.environ.get("HEADGATE_TABLES", "16"))
ODD_TEXT = ("", "a", "a" * 1500, "z\U0001f600", "z\uffee", "Ω", "a\x00b")
ODD_FLOATS = (0.0, -0.0, float("nan"), float("inf"), float("-inf"))
Value = Callable[[Random, int], Any]
# of each type of Spark: the types that a file may have in its place, and the value of a number in it
TYPES: dict[str, tuple[Sequence[pa.DataType], Value]] = {
    "bigint": ((pa.int64(), pa.int32()), lambda _, i: i),
    "int": ((pa.int32(), pa.int64()), lambda _, i: i),
    "tinyint": ((pa.int8(), pa.int32()), lambda _, i: i % 100),
    "string": ((pa.string(), pa.string()), lambda draw, i: draw.choice(ODD_TEXT) if i % 9 == 0 else f"s{i:05d}"),
    "date": ((pa.date32(), pa.date32()), lambda _, i: dt.date(1890, 1, 1) + dt.timedelta(days=20 * i)),
    "decimal(12,2)": ((pa.decimal128(12, 2), pa.decimal128(14, 4)), lambda _, i: Decimal(i) / 4),
    "double": ((pa.float64(), pa.float64()), lambda draw, i: draw.choice(ODD_FLOATS) if i % 9 == 0 else i / 4),
    "boolean": ((pa.bool_(), pa.bool_()), lambda _, i: i % 2 == 0),
    "timestamp": (
        (pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="UTC")),
        lambda _, i: dt.datetime(1969, 12, 31, tzinfo=dt.UTC) + dt.timedelta(minutes=i),
    ),
}


@dataclass(frozen=True)
class Table:
    """A folder of ORC files with columns k, v and perhaps a partition column p; ``odd`` says what is odd about it."""

    path: Path
    schema: str
    type: str
    rows: int
    odd: str

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.read.schema(self.schema).orc(str(self.path))


def write_table(draw: Random, path: Path) -> Table:
    kind = draw.choice(list(TYPES))
    rows, files = draw.choice([20, 300, 3_000]), draw.choice([1, 3, 8])
    numbers = list(range(rows))
    if draw.random() < 0.2:
        draw.shuffle(numbers)
    odd = draw.choice(["", "", "", "other types", "missing", "case", "by place", "empty", "partitioned"])
    schema = f"v bigint, k {kind}" + (", p int" if odd == "partitioned" else "")
    for number in range(files):
        part = numbers[number * rows // files : (number + 1) * rows // files]
        folder = path / f"p={number % 3}" if odd == "partitioned" else path
        folder.mkdir(parents=True, exist_ok=True)
        table = _file(draw, part[:0] if odd == "empty" and number % 2 else part, kind, odd)
        stripe = draw.choice([1_000, 64 << 20])
        po.write_table(table, folder / f"{number}.orc", stripe_size=stripe, batch_size=64, row_index_stride=1000)
    return Table(path, schema, kind, rows, odd)


def _file(draw: Random, numbers: Sequence[int], kind: str, odd: str) -> pa.Table:
    types, value = TYPES[kind]
    stored = types[odd == "other types" and draw.random() < 0.5]
    nulls = draw.choice([0.0, 0.0, 0.2, 1.0])
    keys = pa.array([None if draw.random() < nulls else value(draw, i) for i in numbers], stored)
    columns = {"v": pa.array(numbers, pa.int64()), "k": keys}
    if odd == "missing" and draw.random() < 0.4:
        del columns["k"]
    if odd == "case" and draw.random() < 0.5:
        columns = {name.upper(): column for name, column in columns.items()}
    if odd == "by place":
        columns = {f"_col{i}": column for i, column in enumerate(columns.values())}
    return pa.table(columns)


def random_join(draw: Random, table: Table, spark: SparkSession) -> Callable[[], DataFrame]:
    first, count, step = draw.randrange(-5, table.rows), draw.choice([1, 6, 60]), draw.choice([1, 2, 31])
    values = [TYPES[table.type][1](draw, max(0, first + step * i)) for i in range(count)]
    values += [None] if draw.random() < 0.3 else []
    arrow = pa.table({"key": pa.array(values, TYPES[table.type][0][0]), "w": range(len(values))})
    dim = spark.createDataFrame(arrow)
    how = draw.choice(["inner", "left_semi", "right", "left", "full"])
    above = draw.choice(["", "v > 20", "v % 3 = 1", "k IS NOT NULL"])
    safe, by_value = draw.random() < 0.3, draw.random() < 0.2

    def join() -> DataFrame:
        fact = table.read(spark).where(above) if above else table.read(spark)
        same = fact["k"].eqNullSafe(dim["key"]) if safe else fact["k"] == dim["key"]
        if by_value:
            same = same & (fact["v"] == col("w"))
        return fact.join(dim, same, how)

    return join


@pytest.mark.slow
def test_random_orc_tables(spark: SparkSession, tmp_path: Path) -> None:
    narrowed = 0
    for number in range(FIRST, FIRST + COUNT):
        draw = Random(f"orc {number}")
        table = write_table(draw, tmp_path / str(number))
        query = random_join(draw, table, spark)
        broadcast = draw.choice(["10mb", "10mb", "-1"])
        with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast, **INTERPRETED):
            expected = outcome(query)
            with enabled(spark) as gate:
                found = outcome(query)
                report = gate.reports[-1] if gate.reports else QueryReport()
        told = f"HEADGATE_FIRST={number}: {table}\n{report}"
        assert report.failures == [], told
        if isinstance(expected, tuple) or isinstance(found, tuple):
            assert found == expected, told
        else:
            assert_same(expected, found, told)
        narrowed += any(scan.files_read < scan.files_total for scan in report.scans)
    assert COUNT < 16 or narrowed >= COUNT // 8, f"only {narrowed} of {COUNT} tables were narrowed"
