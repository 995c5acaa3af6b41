"""Totals of a changelog by key: counts, sums, averages and extremes that follow rows as they come and go."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, AtomicType, DataType, StringType, StructType

from headgate.catalyst.changes import unpacked
from headgate.catalyst.names import quoted
from headgate.catalyst.totals import TotalsOperator, packed_row, totalled, totals_of
from headgate.errors import BadInput
from headgate.stream.changelog import OP, check_changelog, columns_of, kind_of, op_of, schema_of, use_rocksdb


def aggregate(changes: DataFrame, by: str | Sequence[str], **totals: str) -> DataFrame:
    """Return totals of a changelog by some of its columns, as a changelog.

    ``aggregate(changes, ["k"], total="sum(a * b)", n="count(*)")`` has the columns ``_op``, ``k``, ``total`` and
    ``n``. A total is ``count``, ``sum``, ``min``, ``max`` or ``avg`` of an SQL expression, with the type that Spark
    gives it. Each batch tells at most one change of each group: ``+I`` when it appears, ``-U`` and ``+U`` when its
    totals change, ``-D`` when its last row is gone. With no ``by`` there is one group: it appears with the first
    change, and when all rows are gone it stays, with a count of 0 and sums that are NULL, as in SQL.

    Sums of doubles are exact and rounded once, so that nothing is left of rows that were taken back. A sum that its
    type cannot hold fails the batch, or wraps or is NULL where ``spark.sql.ansi.enabled`` is false, as in Spark. A
    group from which more was taken than was there is not told until it has rows again. ``min`` and ``max`` keep the
    values of a group; when the least or greatest is taken away, the values of its group are looked through.
    """
    check_changelog(changes, "changes")
    groups = _checked(changes, [by] if isinstance(by, str) else list(by), totals)
    operator = _operator(changes, groups, totals)
    use_rocksdb(changes)
    inputs = [kind_of(changes).cast("int"), *operator.inputs]
    records = changes.select(
        packed_row(changes, operator.keys).alias("key"), packed_row(changes, inputs).alias("packed")
    )
    made = totalled(records, operator)
    key = StructType([changes.schema[name] for name in groups])
    rows = made.select(
        op_of(sf.col("op")).alias(OP),
        unpacked(made, sf.col("key"), key).alias("key"),
        unpacked(made, sf.col("item"), operator.row).alias("item"),
    )
    named = [("key", name) for name in groups] + [("item", name) for name in totals]
    return rows.select(OP, *(sf.col(struct).getField(name).alias(name) for struct, name in named))


def _checked(changes: DataFrame, groups: list[str], totals: dict[str, str]) -> list[str]:
    known = ", ".join(columns_of(changes))
    for name in groups:
        if name not in columns_of(changes):
            raise BadInput(f"no column {name!r} to aggregate by; the columns are {known}")
        kind = schema_of(changes)[name].dataType
        if not _has_one_form(kind):
            raise BadInput(f"column {name!r} is {kind.simpleString()}, which cannot be aggregated by")
    if not totals:
        raise BadInput('no totals to keep; give at least one, such as total="sum(x)"')
    taken = [OP, *(name.lower() for name in groups)]  # Spark finds columns in either case
    for name, total in totals.items():
        if not isinstance(total, str):
            raise BadInput(f"{name} is {type(total).__name__}; a total is SQL in a string, such as {name}='sum(x)'")
        if name.lower() in taken:
            raise BadInput(f"a total cannot be called {name!r}, which is a column of the result already")
        taken.append(name.lower())
    if len(set(groups)) < len(groups):
        raise BadInput(f"a column to aggregate by comes twice in {', '.join(groups)}")
    return groups


def _has_one_form(type: DataType) -> bool:
    """Whether equal values of a type are equal as bytes, once zeros and NaNs are made alike."""
    if isinstance(type, StructType):
        return all(_has_one_form(field.dataType) for field in type.fields)
    if isinstance(type, ArrayType):
        return _has_one_form(type.elementType)
    if isinstance(type, StringType):
        return bool(getattr(type, "collation", "UTF8_BINARY") == "UTF8_BINARY")
    return isinstance(type, AtomicType) and type.typeName() not in ("variant", "geometry", "geography")


def _operator(changes: DataFrame, groups: list[str], totals: dict[str, str]) -> TotalsOperator:
    said = ", ".join(f"{name}={total!r}" for name, total in totals.items())
    try:
        keys = [sf.col(quoted(name)) for name in groups]
        made = changes.drop(OP).groupBy(*keys).agg(*(sf.expr(total).alias(name) for name, total in totals.items()))
        return totals_of(made, len(totals))
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise BadInput(f"totals {said}: {told}; the columns are {', '.join(columns_of(changes))}") from None
    except ValueError as error:
        raise BadInput(f"totals {said}: {error}") from None
