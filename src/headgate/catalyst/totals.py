"""Put the operator that keeps totals of groups into a streaming DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import StructType, _parse_datatype_json_string

from headgate.catalyst.changes import cause_of, packed, transformed
from headgate.catalyst.compiler import classes_of
from headgate.catalyst.values import signed


@dataclass(frozen=True, slots=True)
class TotalsOperator:
    """What an aggregate was read into: the key of each row, what the totals are made of, and the operator in Java."""

    keys: list[Column]
    inputs: list[Column]
    row: StructType
    text: str
    processor: Any


def totals_of(aggregate: DataFrame, count: int) -> TotalsOperator:
    """Read an aggregate whose last columns, so many, are totals; raise ValueError where they cannot be kept."""
    ansi = str(aggregate.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() == "true"
    analyzed = aggregate._jdf.queryExecution().analyzed()
    classes = classes_of(aggregate)
    try:
        read = classes.new("changes.TotalsReader", analyzed, count, ansi)
    except Py4JJavaError as error:
        raise ValueError(cause_of(error)) from None
    row = _parse_datatype_json_string(read.row().json())
    assert isinstance(row, StructType)
    return TotalsOperator(
        [ClassicColumn(column) for column in read.keys()],  # noqa: SIM118
        [ClassicColumn(column) for column in read.inputs()],
        row,
        str(read.text()),
        read.operator(),
    )


def packed_row(frame: DataFrame, columns: list[Column]) -> Column:
    """Return some columns as bytes, which are the same for the same values; no columns are no bytes."""
    if not columns:
        return sf.lit(bytearray())
    fields = sf.struct(*(column.alias(f"_{i}") for i, column in enumerate(columns)))
    return packed("row", frame, fields)


def totalled(records: DataFrame, operator: TotalsOperator) -> DataFrame:
    """Run the operator over records (key, packed); return its changes (op, key, item)."""
    records = signed(records, f"the totals {operator.text}", {"totals": operator.text})
    return transformed(records, "key", "BINARY", operator.processor, "op int, key binary, item binary")
