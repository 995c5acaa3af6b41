"""Put Headgate's operators over changelogs into a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.types import DataType, StructType, _parse_datatype_json_string

from headgate.catalyst.compiler import classes_of
from headgate.catalyst.names import quoted
from headgate.catalyst.values import signed, ticks_while_moving

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# A move reads whole blocks; a task sorts so much in memory before it writes it down.
BLOCK_BYTES = 32 * 1024
FRESH_BYTES = 4 * 1024 * 1024
TICK = bytes([7])
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True, slots=True)
class Written:
    """An expression over columns of a side: as SQL, for people and as a name, and as what Spark is given."""

    text: str
    column: Column


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """One comparison of the two sides, with casts to the type that both have.

    A left row for which ``unless`` is true passes whatever the right value is.
    """

    operator: str
    type: DataType
    left: Written
    right: Written
    unless: Written | None = None


@dataclass(frozen=True, slots=True)
class ConditionParts:
    """A condition taken apart: its comparisons, and conditions on the left side alone."""

    comparisons: list[ComparedSides]
    left_only: list[Written]

    @property
    def left_only_text(self) -> str:
        """The conditions on the left side as SQL."""
        return " and ".join(condition.text for condition in self.left_only)


@dataclass(frozen=True, slots=True)
class FilterOperator:
    """What the dynamic filter operator has to know; ``kept`` and ``parts`` say what its state is for.

    A restart checks ``parts`` before its first batch, and ``kept`` wherever it finds state.
    """

    name: str
    operator: str
    kept: str
    parts: Mapping[str, str]
    ordered: bool
    moves: str
    piece_rows: int


def condition_parts(left: StructType, right: StructType, condition: str, frame: DataFrame) -> ConditionParts:
    """Take a condition apart as Spark understands it; raise ValueError where it compares what cannot be compared."""
    return _parts("changes.Conditions", left, right, condition, frame)


def now_condition_parts(left: StructType, clock: StructType, condition: str, frame: DataFrame) -> ConditionParts:
    """Take a condition with now() apart, which stands for the clock's only column."""
    return _parts("changes.NowConditions", left, clock, condition, frame)


def _parts(by: str, left: StructType, right: StructType, condition: str, frame: DataFrame) -> ConditionParts:
    spark = frame.sparkSession
    sides = [spark.createDataFrame([], side).alias(name) for side, name in ((left, "left"), (right, "right"))]
    analyzed = sides[0].crossJoin(sides[1]).where(condition)._jdf.queryExecution().analyzed()
    try:
        parts = [list(part) for part in classes_of(frame).call(by, "parts", analyzed)]
    except Py4JJavaError as error:
        raise ValueError(cause_of(error)) from None
    compared = [
        ComparedSides(part[1], _parse_datatype_json_string(part[2]), *_written(part[3:]))
        for part in parts
        if part[0] == "compare"
    ]
    return ConditionParts(compared, [each for part in parts if part[0] == "left" for each in _written(part[1:])])


def _written(items: Sequence[Any]) -> list[Written]:
    return [Written(str(text), ClassicColumn(column)) for text, column in zip(items[::2], items[1::2], strict=True)]


def has_order(type: DataType, frame: DataFrame) -> bool:
    """Whether values of this type can be kept in order."""
    return bool(classes_of(frame).call("changes.Packing", "width", _java_type(type, frame)) >= 0)


def left_record(frame: DataFrame, kind: Column, value: Column, key: Sequence[str], columns: Sequence[str]) -> Column:
    """Return each change of the left side as bytes: its kind, key, and the row in the order of the value."""
    fields = sf.struct(
        kind.cast("int").alias("kind"),
        value.alias("value"),
        sf.struct(*(sf.col(quoted(name)) for name in key)).alias("key"),
        sf.struct(*(sf.col(quoted(name)) for name in columns)).alias("row"),
    )
    return packed("left", frame, fields)


def right_record(frame: DataFrame, kind: Column, value: Column, order: Column) -> Column:
    """Return each change of the right side as bytes."""
    fields = sf.struct(
        kind.cast("int").alias("kind"),
        value.alias("value"),
        value.cast("string").alias("text"),
        order.alias("order"),
    )
    return packed("right", frame, fields)


def latest_records(records: DataFrame, *, ordered: bool) -> DataFrame:
    """Return the right records (packed) that may count, at most two of each task: the rest would go to every vnode."""
    jvm: Any = records.sparkSession._jvm
    binary = getattr(jvm, "org.apache.spark.sql.Encoders").BINARY()
    latest = classes_of(records).new("changes.LatestRecords", ordered)
    found = getattr(records._jdf, "as")(binary).mapPartitions(latest, binary)
    return ClassicFrame(found.toDF(), records.sparkSession).toDF("packed")


def packed_row(frame: DataFrame) -> Column:
    """Return each row of a DataFrame as bytes."""
    return packed("row", frame, sf.struct(*(sf.col(quoted(name)) for name in frame.columns)))


def unpacked(frame: DataFrame, bytes: Column, row: StructType, behind: DataType | None = None) -> Column:
    """Return the rows again that were packed, or that stand behind the code of a value of some type."""
    value = None if behind is None else _java_type(behind, frame)
    made = classes_of(frame).call("changes.Packing", "unpacked", _java(bytes), value, _java_type(row, frame))
    return ClassicColumn(made)


def filtered_changes(records: DataFrame, operator: FilterOperator, ticked: Sequence[int] = ()) -> DataFrame:
    """Run the dynamic filter operator over records (vnode, packed); return its changes (op, item).

    As long as a move is under way, the vnodes ``ticked`` get a tick in each trigger.
    """
    classes, context = classes_of(records), records.sparkSession.sparkContext
    counted = classes.new("changes.EpochRecords", operator.name).reported()
    context._jsc.sc().register(counted, operator.name)
    records = signed(records, f"the filter {operator.name}", operator.parts)
    if ticked:
        rest = [sf.lit(None).cast(field.dataType) for field in records.schema.fields[2:]]
        ticks = ticks_while_moving(records.sparkSession, counted)
        records = records.union(ticks.select(sf.explode(sf.lit(list(ticked))), sf.lit(TICK), *rest))
    made = classes.new(
        "changes.MovingFilter",
        operator.name,
        operator.operator,
        operator.kept,
        operator.ordered,
        operator.moves,
        operator.piece_rows,
        BLOCK_BYTES,
        FRESH_BYTES,
        counted,
    )
    return transformed(records, "vnode", "INT", made, "op int, item binary")


def transformed(records: DataFrame, by: str, key: str, processor: Any, output: str) -> DataFrame:
    """Attach a stateful processor to groups of records."""
    jvm: Any = records.sparkSession._jvm
    encoders, streaming = (
        getattr(jvm, "org.apache.spark.sql.Encoders"),
        "org.apache.spark.sql.streaming",
    )
    grouped = getattr(records.groupBy(by)._jgd, "as")(getattr(encoders, key)(), encoders.row(records._jdf.schema()))
    none = getattr(getattr(jvm, f"{streaming}.TimeMode"), "None")()
    append = getattr(jvm, f"{streaming}.OutputMode").Append()
    made = encoders.row(getattr(jvm, "org.apache.spark.sql.types.StructType").fromDDL(output))
    return ClassicFrame(grouped.transformWithState(processor, none, append, made), records.sparkSession)


def packed(side: str, frame: DataFrame, fields: Column) -> Column:
    """Return a struct as bytes: a record of a side, or a row."""
    struct = frame.select(fields.alias("fields")).schema["fields"].dataType
    return ClassicColumn(classes_of(frame).call("changes.Packing", side, _java(fields), _java_type(struct, frame)))


def _java(column: Column) -> Any:
    return column._jc


def _java_type(type: DataType, frame: DataFrame) -> Any:
    jvm: Any = frame.sparkSession._jvm
    return getattr(jvm, "org.apache.spark.sql.types.DataType").fromJson(type.json())


def cause_of(error: Py4JJavaError) -> str:
    """Return the message of the first cause: reflection wraps what Java threw."""
    failure = error.java_exception
    while failure.getCause() is not None:
        failure = failure.getCause()
    return str(failure.getMessage())
