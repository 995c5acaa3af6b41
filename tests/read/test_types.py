"""Every type of Arrow is read as a type of Spark that holds all of its values, or refused in a sentence."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headgate.errors import BadInput
from headgate.read.types import cast_batches, readable_schema, readable_type, spark_schema


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (pa.int8(), "tinyint"),
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float16(), "float"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.large_binary(), "binary"),
        (pa.binary(4), "binary"),
        (pa.dictionary(pa.int8(), pa.large_string()), "string"),
        (pa.date64(), "date"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("s", "Europe/Paris"), "timestamp"),
        (pa.duration("ms"), "interval day to second"),
        (pa.decimal128(10, 2), "decimal(10,2)"),
        (pa.list_(pa.float32(), 3), "array<float>"),
        (pa.large_list(pa.uint8()), "array<smallint>"),
        (pa.struct([("x", pa.uint16()), ("y", pa.list_(pa.int64()))]), "struct<x:int,y:array<bigint>>"),
        (pa.map_(pa.large_string(), pa.uint32()), "map<string,bigint>"),
    ],
    ids=str,
)
def test_types_that_spark_has(kind: pa.DataType, found: str) -> None:
    schema = readable_schema(pa.schema([pa.field("x", kind, nullable=False)]), "the table")
    (field,) = spark_schema(schema)
    assert field.dataType.simpleString() == found
    assert field.nullable


@pytest.mark.parametrize(
    "kind",
    [pa.time64("us"), pa.decimal128(10, -2), pa.decimal256(50, 2), pa.null(), pa.struct([]), pa.list_(pa.time32("s"))],
    ids=str,
)
def test_types_that_spark_has_not(kind: pa.DataType) -> None:
    assert readable_type(kind) is None
    with pytest.raises(BadInput, match=r"Spark has no type for x \(.*\) of the table; name the columns to read, such"):
        readable_schema(pa.schema([("ok", pa.int8()), ("x", kind)]), "the table")


def test_a_value_is_never_changed() -> None:
    target = pa.schema([("t", pa.timestamp("us"))])
    whole = pa.table({"t": pa.array([1_000, None], pa.timestamp("ns"))})
    assert pa.Table.from_batches(cast_batches(whole, target)).column("t").cast(pa.int64()).to_pylist() == [1, None]
    with pytest.raises(BadInput, match=r"has no place in Spark's types: .*would lose data.*leave its column out"):
        cast_batches(pa.table({"t": pa.array([1_001], pa.timestamp("ns"))}), target)
