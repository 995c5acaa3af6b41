"""Make random tables, each from a seed, and write to them later.

A table has one column of each type. Rows lie around a number, from which most of their columns follow, so that a table
sorted by it is clustered by all of those. A table has a shape, which says how its columns are found in its files:

plain       by their names
swapped     the files call column i l and column l i; the ids of their fields are right
subclass    the same, read through a format that extends Parquet and knows of it
cased       some files write names in capitals, so that they lack the columns where case counts
dotted      column i is called `i.x` in the files and stands beside a struct i with a field x that holds something else
nested      column i is field x of a struct
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from tests.batch.stand_in_formats import SWAPPED

TYPES: dict[str, tuple[str, pa.DataType]] = {
    "i": ("int", pa.int32()),
    "l": ("bigint", pa.int64()),
    "h": ("smallint", pa.int16()),
    "m": ("decimal(9,2)", pa.decimal128(9, 2)),
    "w": ("decimal(25,3)", pa.decimal128(25, 3)),
    "s": ("string", pa.string()),
    "b": ("boolean", pa.bool_()),
    "d": ("date", pa.date32()),
    "z": ("timestamp", pa.timestamp("us", "UTC")),
    "f": ("double", pa.float64()),
    "r": ("float", pa.float32()),
}
PARTITION_KINDS = "ilsdb"
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def value(random: Random, kind: str, number: int) -> Any:
    """Return the value of a type that stands for a number."""
    match kind:
        case "i" | "l" | "h":
            return number
        case "m":
            return Decimal(number) + Decimal(number % 4) / 4
        case "w":
            return Decimal(number) + Decimal(number % 8) / 8
        case "s":
            return f"s{number:03d}"
        case "b":
            return number % 2 == 0
        case "d":
            return dt.date(2024, 1, 1) + dt.timedelta(days=number)
        case "z":
            return dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=6 * number)
    if number == 0:
        return random.choice((0.0, -0.0))
    return math.nan if number == 3 and random.random() < 0.5 else number / 4


def literal(random: Random, kind: str, number: int) -> str:
    """Return the same value as SQL."""
    found = value(random, kind, number)
    match kind:
        case "s":
            return f"'{found}'"
        case "d":
            return f"date'{found}'"
        case "z":
            return f"timestamp'{found:%Y-%m-%d %H:%M:%S}'"
        case "b":
            return str(found).lower()
        case "f" | "r":
            return f"cast('{found}' as {TYPES[kind][0]})"
        case "m" | "w":
            return f"cast({found} as {TYPES[kind][0]})"
    return str(found)


# --- tables ---------------------------------------------------------------------------------------------------------

SHAPES = ("plain", "swapped", "subclass", "cased", "dotted", "nested")
OTHER_NAME = {"i": "l", "l": "i"}


@dataclass(frozen=True)
class RandomTable:
    """A table on disk: its folder, how many different numbers it holds, and how its files are laid out."""

    name: str
    folder: Path
    span: int
    group: int = 10
    partition: str | None = None
    shape: str = "plain"
    in_catalog: bool = False

    @property
    def schema(self) -> str:
        """Its columns as SQL, the partition column last."""
        order = [kind for kind in TYPES if kind != self.partition] + ([self.partition] if self.partition else [])
        return ", ".join(f"{kind} {TYPES[kind][0]}" for kind in order)

    def files(self) -> list[Path]:
        """Return the data files, in order."""
        return sorted(self.folder.rglob("*.parquet"))

    def add(self, rows: pa.Table, name: str, *, capitals: bool = False) -> None:
        """Write rows to a file of that name, or to one in each partition."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.partition is not None:
            _write_partitions(rows, self.partition, self.folder, name, self.group)
        else:
            pq.write_table(
                _shaped(rows, self.shape, capitals), self.folder / f"{name}.parquet", row_group_size=self.group
            )

    def register(self, spark: SparkSession) -> None:
        """Make the table known to Spark, as a view or a table of the catalog."""
        if self.in_catalog:
            by = f"partitioned by ({self.partition})" if self.partition else ""
            spark.sql(f"create table {self.name} ({self.schema}) using parquet {by} location '{self.folder}'")
            if by:
                spark.sql(f"alter table {self.name} recover partitions")
        else:
            self.frame(spark).createOrReplaceTempView(self.name)

    def unregister(self, spark: SparkSession) -> None:
        """Make Spark forget the table."""
        if self.in_catalog:
            spark.sql(f"drop table if exists {self.name}")
        else:
            spark.catalog.dropTempView(self.name)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Read the files so that each column has its name and its type again."""
        reader, path, rest = spark.read, str(self.folder), self.schema.removeprefix("i int, ")
        if self.shape == "swapped":
            columns = spark.createDataFrame([], self.schema).schema.fields
            ids = [StructField(c.name, c.dataType, metadata={"parquet.field.id": _id(c.name)}) for c in columns]
            return reader.schema(StructType(ids)).parquet(path)
        if self.shape == "subclass":
            return reader.format(SWAPPED).schema(self.schema).load(path)
        if self.shape == "dotted":
            raw = reader.schema(f"i struct<x: int>, `i.x` int, {rest}").parquet(path)
            return raw.selectExpr("`i.x` as i", *(kind for kind in TYPES if kind != "i"))
        if self.shape == "nested":
            raw = reader.schema(f"i struct<x: int>, {rest}").parquet(path)
            return raw.selectExpr("i.x as i", *(kind for kind in TYPES if kind != "i"))
        return reader.schema(self.schema).parquet(path)


def _id(column: str) -> int:
    return list(TYPES).index(column) + 1


def _shaped(rows: pa.Table, shape: str, capitals: bool) -> pa.Table:
    if shape == "cased" and capitals:
        return rows.rename_columns([name.upper() for name in rows.column_names])
    if shape in ("swapped", "subclass"):
        fields = [
            pa.field(OTHER_NAME.get(f.name, f.name), f.type, metadata={b"PARQUET:field_id": str(_id(f.name)).encode()})
            for f in rows.schema
            if f.name in TYPES
        ]
        return pa.table([rows[name] for name in rows.column_names if name in TYPES], schema=pa.schema(fields))
    if shape in ("dotted", "nested") and "i" in rows.column_names:
        held = rows["i"].to_pylist()
        shown = held if shape == "nested" else [None if number is None else number + 1000 for number in held]
        struct = pa.array([{"x": number} for number in shown], pa.struct([("x", pa.int32())]))
        rows = rows.append_column("i.x", rows["i"]) if shape == "dotted" else rows
        return rows.set_column(rows.column_names.index("i"), "i", struct)
    return rows


def random_rows(random: Random, rows: int, span: int) -> pa.Table:
    """Return rows that lie around numbers below a span, mostly in order."""
    follows = {kind: random.random() < 0.92 for kind in TYPES}
    nulls = {kind: random.choice((0, 0, 0, 0.05, 0.15)) for kind in TYPES}
    skewed = random.random() < 0.3
    numbers = [int(span * random.random() ** (3 if skewed else 1)) for _ in range(rows)]
    if random.random() < 0.75:
        numbers.sort()
    columns: dict[str, list[Any]] = {kind: [] for kind in TYPES}
    for number in numbers:
        for kind, held in columns.items():
            own = number if follows[kind] else random.randrange(span)
            held.append(None if random.random() < nulls[kind] else value(random, kind, own))
    return pa.table({kind: pa.array(held, TYPES[kind][1]) for kind, held in columns.items()})


def write_random_table(random: Random, name: str, folder: Path, rows: int, span: int, **more: Any) -> RandomTable:
    """Write a table in a random layout: sorted or not, in one file or several, row groups of all sizes, or partitioned."""
    held = random_rows(random, rows, span)
    group = random.choice((3, 10, 10, 1000))
    plain = more.get("shape", "plain") == "plain"
    partition = random.choice(PARTITION_KINDS) if random.random() < 0.25 and plain else None
    table = RandomTable(name, folder, span, group, partition, **more)
    files = 1 if partition else random.choice((1, 2, 5))
    per_file = -(-rows // files)
    for i in range(files):
        table.add(held.slice(i * per_file, per_file), f"{i:03d}", capitals=random.random() < 0.4)
    return table


def _write_partitions(rows: pa.Table, column: str, folder: Path, name: str, group: int) -> None:
    rest = rows.drop_columns([column])
    places: dict[str, list[int]] = {}
    for row, held in enumerate(rows[column].to_pylist()):
        text = NULL_FOLDER if held is None else str(held).lower() if isinstance(held, bool) else str(held)
        places.setdefault(text, []).append(row)
    for text, numbers in places.items():
        place = folder / f"{column}={text}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(rest.take(numbers), place / f"{name}.parquet", row_group_size=group)
