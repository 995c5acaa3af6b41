"""Changelogs: streaming DataFrames whose rows come and go, with the kind of each change in a column `_op`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from headgate.catalyst.changes import PROVIDER, ROCKSDB
from headgate.catalyst.numbers import whole
from headgate.errors import BadInput

OP = "_op"
OPS = ("+I", "-U", "+U", "-D")  # in the order of their numbers in the JVM


def columns_of(frame: DataFrame) -> list[str]:
    """Return the columns of the rows, without the kind of the change."""
    return [name for name in frame.columns if name != OP]


def schema_of(frame: DataFrame) -> StructType:
    """Return the schema of the rows, without the kind of the change."""
    return StructType([field for field in frame.schema.fields if field.name != OP])


def is_changelog(frame: DataFrame) -> bool:
    """Whether the rows of a DataFrame say how they change."""
    return OP in frame.columns


def kind_of(frame: DataFrame) -> Column:
    """Return the number of each row's kind; a stream without `_op` only ever adds rows. Other kinds fail the batch."""
    if not is_changelog(frame):
        return sf.lit(0)
    known = sf.array_position(sf.array(*(sf.lit(op) for op in OPS)), sf.col(OP))
    told = sf.concat(
        sf.lit(f"`{OP}` is "),
        sf.coalesce(sf.concat(sf.lit("'"), sf.col(OP), sf.lit("'")), sf.lit("NULL")),
        sf.lit(f"; it has to be one of {', '.join(OPS)}"),
    )
    return sf.when(known > 0, known.cast("int") - 1).otherwise(sf.raise_error(told).cast("int"))


def op_of(number: Column) -> Column:
    """Return the kind of a change from its number."""
    return sf.element_at(sf.array(*(sf.lit(op) for op in OPS)), number + 1)


def check_changelog(frame: DataFrame, what: str) -> None:
    """Refuse what is no stream, and streams whose `_op` is no string."""
    if not isinstance(frame, DataFrame):
        raise BadInput(f"{what} is {type(frame).__name__}; it has to be a streaming DataFrame")
    if not frame.isStreaming:
        raise BadInput(f"{what} is a batch DataFrame; it has to be a streaming one, such as spark.readStream makes")
    if is_changelog(frame) and frame.schema[OP].dataType.typeName() != "string":
        raise BadInput(f"`{OP}` of {what} is {frame.schema[OP].dataType.simpleString()}; it has to be a string")


def key_columns(frame: DataFrame, key: str | Sequence[str], what: str) -> list[str]:
    """Return the columns of a key as a list, after looking whether they are there."""
    given: object = key
    named = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    missing = [name for name in named if name not in columns_of(frame)]
    if not named or missing:
        told = f"no column {', '.join(map(repr, missing))} in {what}" if missing else f"the key of {what} is empty"
        raise BadInput(f"{told}; its columns are {', '.join(columns_of(frame))}")
    if len(set(named)) < len(named):
        raise BadInput(f"the key of {what} has a column twice: {', '.join(map(str, named))}; name each once")
    return [str(name) for name in named]


def whole_number(what: str, value: int) -> int:
    """Return a whole number as it was given, also one of numpy."""
    found = whole(value)
    if found is None:
        raise BadInput(f"{what} is {value!r}; it has to be a whole number")
    return found


def use_rocksdb(frame: DataFrame) -> None:
    """Keep state in RocksDB in this session, which Spark asks of operators like these, unless it was told otherwise."""
    conf = frame.sparkSession.conf
    chosen = conf.get(PROVIDER, None)
    if chosen == ROCKSDB:
        return
    if PROVIDER in conf.getAll and not str(chosen).endswith("HDFSBackedStateStoreProvider"):
        raise BadInput(f"{PROVIDER} is {chosen}; operators over changelogs need {ROCKSDB}")
    conf.set(PROVIDER, ROCKSDB)
