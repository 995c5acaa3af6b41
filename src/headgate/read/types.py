"""Give Arrow's types the types of Spark that hold every value of them, and cast batches to those."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.types as kinds
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headgate.errors import BadInput

# Spark has no unsigned numbers: each gets the next larger type, as in Spark's own reader of Parquet.
_PLAIN = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_SAME = {
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.date32(), pa.string(), pa.binary()),
}


def readable_schema(schema: pa.Schema, what: str) -> pa.Schema:
    """Return a schema that Spark can take; all columns may be NULL, as in Spark's own readers."""
    fields, unknown = [], []
    for field in schema:
        found = readable_type(field.type)
        if found is None:
            unknown.append(f"{field.name} ({field.type})")
        else:
            fields.append(pa.field(field.name, found))
    if unknown:
        raise BadInput(
            f"Spark has no type for {', '.join(unknown)} of {what}; name the columns to read, such as "
            f"columns={[field.name for field in fields][:3]}"
        )
    return pa.schema(fields)


def readable_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of Arrow that Spark reads and that holds all values of another, or None if there is none."""
    if kind in _SAME:
        return kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kinds.is_dictionary(kind):
        return readable_type(kind.value_type)
    if kinds.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if kinds.is_duration(kind):
        return pa.duration("us")
    if kinds.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return kind
    if kinds.is_fixed_size_binary(kind):
        return pa.binary()
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        item = readable_type(kind.value_type)
        return None if item is None else pa.list_(item)
    return _nested(kind)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the columns of a readable schema as Spark has them."""
    found: StructType = from_arrow_schema(schema, prefer_timestamp_ntz=True)  # Spark 4.0 asks otherwise
    return found


def cast_batches(table: pa.Table, schema: pa.Schema) -> Sequence[pa.RecordBatch]:
    """Return the rows of a table with the types of a readable schema; a value that would change is an error."""
    try:
        batches: Sequence[pa.RecordBatch] = table.cast(schema).to_batches()
    except pa.ArrowInvalid as error:
        raise BadInput(
            f"a value of the Lance table has no place in Spark's types: {error}; leave its column out with columns=, "
            "or write it with a type that Spark has, such as timestamps in microseconds"
        ) from error
    return batches


def _nested(kind: pa.DataType) -> pa.DataType | None:
    if kinds.is_struct(kind):
        inner = [(kind.field(at).name, readable_type(kind.field(at).type)) for at in range(kind.num_fields)]
        return pa.struct(inner) if inner and all(found is not None for _, found in inner) else None
    if kinds.is_map(kind):
        key, item = readable_type(kind.key_type), readable_type(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return None
