"""The dynamic filter operator: the rows of a stream that compare in a given way with a value that moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import TimestampNTZType, TimestampType

from headgate.catalyst.changes import (
    ComparedSides,
    ConditionParts,
    FilterOperator,
    Written,
    condition_parts,
    filtered_changes,
    has_order,
    latest_records,
    left_record,
    right_record,
    unpacked,
)
from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.stream.changelog import (
    OP,
    check_changelog,
    columns_of,
    is_changelog,
    key_columns,
    kind_of,
    op_of,
    schema_of,
    use_rocksdb,
    whole_number,
)
from headgate.stream.sources import PRESENT, watched, where_present
from headgate.stream.vnodes import vnode_ids

Moves = Literal["both", "up", "down"]
TIME = "_time"
_RIGHT_IN, _RIGHT_OUT, _RIGHT_LATEST = 4, 5, 6
_VALUE, _PASSES = "_headgate_value", "_headgate_passes"  # beside the columns of the rows
_NONE = "none"
_SHOWN = 16  # added to the kind of a left row that passes whatever the right value is


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """What all comparisons of one condition share.

    ``moves`` may be "held" too: up, and where it would go down it stays. ``where`` is the condition on the left side
    alone, as SQL.
    """

    keys: tuple[str, ...]
    where: str = ""
    order: str | None = None
    moves: str = "both"
    piece_rows: int = 0
    vnodes: int = 64


def dynamic_filter(
    left: DataFrame,
    right: DataFrame,
    condition: str,
    key: str | Sequence[str],
    *,
    order: str | None = None,
    moves: Moves = "both",
    piece_rows: int = 0,
    vnodes: int = 64,
) -> DataFrame:
    """Return the rows of ``left`` that meet a condition with the one row of ``right``, as a changelog.

    ``condition`` compares: ``"price > threshold"``, ``"left.v + 1 <= 2 * right.v and left.kind = 'a'"``. When the right
    row changes, the rows that no longer pass are taken back, and those that were kept waiting for it are added.
    A ``right`` with a column ``_op`` is a changelog; of another stream the row that is latest by ``order`` counts. A
    batch DataFrame of one row or none is read anew in each trigger.
    ``moves`` promises that the right value only goes "up" or "down", so that rows are forgotten that can never count
    again. ``piece_rows`` bounds how many rows a move may add or take back in one batch; the rest follows in the next.
    """
    check_changelog(left, "the left side")
    if getattr(right, "isStreaming", True):
        check_changelog(right, "the right side")
    vnodes, piece_rows = whole_number("vnodes", vnodes), whole_number("piece_rows", piece_rows)
    _check_options(right, order, moves, piece_rows, vnodes)
    keys = key_columns(left, key, "the left side")
    parts = _parts(left, right, condition)
    use_rocksdb(left)
    if not right.isStreaming:
        right = watched(right, "the right side")
    options = FilterOptions(tuple(keys), parts.left_only_text, order, moves, piece_rows, vnodes)
    left = rows_that_meet(left, parts.left_only)
    for compared in parts.comparisons:
        left = compared_rows(left, right, compared, options)
    return left


def rows_that_meet(left: DataFrame, conditions: Sequence[Written]) -> DataFrame:
    """Return the rows of the left side that meet conditions which look at nothing else."""
    for condition in conditions:
        left = left.alias("left").where(condition.column).select(*map(quoted, left.columns))
    return left


def _parts(left: DataFrame, right: DataFrame, condition: str) -> ConditionParts:
    try:
        parts = condition_parts(schema_of(left), schema_of(right), condition, left)
    except (AnalysisException, ParseException) as error:
        raise BadInput(
            f"condition {condition!r}: {str(error).strip().splitlines()[0]}; columns of the left side: "
            f"{', '.join(columns_of(left))}; of the right side: {', '.join(columns_of(right))}. "
            'A name that both sides have is written "left.name" or "right.name"'
        ) from None
    except ValueError as error:
        raise BadInput(f"condition {condition!r}: {error}") from None
    if not parts.comparisons:
        raise BadInput(f"condition {condition!r} does not look at the right side; a plain filter would do")
    return parts


def _check_options(right: DataFrame, order: str | None, moves: str, piece_rows: int, vnodes: int) -> None:
    if moves not in ("both", "up", "down"):
        raise BadInput(f'moves is {moves!r}; it has to be "both", "up" or "down"')
    if vnodes < 1 or vnodes & (vnodes - 1) or vnodes > 4096:
        raise BadInput(f"vnodes is {vnodes}; it has to be a power of two up to 4,096")
    if piece_rows < 0:
        raise BadInput(f"piece_rows is {piece_rows}; it has to be 0, for no limit, or more")
    if order is None:
        return
    if not right.isStreaming:
        raise BadInput(
            f"order is {order!r}; it is for streams, and of a batch DataFrame the row that was read last counts"
        )
    if is_changelog(right):
        raise BadInput("order is for a right side whose latest row counts; one with `_op` says itself what it holds")
    if order not in right.columns:
        raise BadInput(f"no column {order!r} in the right side; its columns are {', '.join(right.columns)}")
    if not has_order(right.schema[order].dataType, right):
        raise BadInput(f"order is {order!r} of type {right.schema[order].dataType.simpleString()}, which has no order")


def compared_rows(left: DataFrame, right: DataFrame, compared: ComparedSides, options: FilterOptions) -> DataFrame:
    """Put one operator over the left side."""
    ids, row = vnode_ids(options.vnodes), schema_of(left)
    shown = sf.coalesce(compared.unless.column, sf.lit(False)) if compared.unless else sf.lit(False)
    named = left.alias("left").withColumns({_VALUE: compared.left.column, _PASSES: shown})
    named = named.where(f"{_VALUE} is not null or {_PASSES}")
    place = sf.pmod(sf.hash(*(sf.col(quoted(name)) for name in options.keys)), sf.lit(options.vnodes)) + 1
    # where late rows can be left unread: the time again, for Headgate to find in the plan
    rises = options.moves in ("up", "held") and not compared.unless
    timed = rises and isinstance(compared.type, TimestampType | TimestampNTZType)
    changes = named.select(
        sf.element_at(sf.lit(list(ids)), place).alias("vnode"),
        left_record(
            named,
            kind_of(left) + sf.when(sf.col(_PASSES), _SHOWN).otherwise(0),
            sf.col(_VALUE),
            options.keys,
            columns_of(left),
        ).alias("packed"),
        *([sf.col(_VALUE).alias(TIME)] if timed else []),
    )
    no_time = [sf.lit(None).cast(compared.type).alias(TIME)] if timed else []
    every = _right_records(right, compared, options.order).select(sf.explode(sf.lit(list(ids))), "packed")
    records = changes.union(every.select("*", *no_time))
    moved = filtered_changes(records, _operator(left, right, compared, options), ids if options.piece_rows else ())
    rows = moved.select(
        op_of(sf.col("op")).alias(OP), unpacked(moved, sf.col("item"), row, compared.type).alias("_row")
    )
    return rows.select(OP, *(sf.col("_row").getField(name).alias(name) for name in columns_of(left)))


def _operator(left: DataFrame, right: DataFrame, compared: ComparedSides, options: FilterOptions) -> FilterOperator:
    unless = f" or {compared.unless.text}" if compared.unless else ""
    name = f"{compared.left.text} {compared.operator} {compared.right.text}{unless}"
    row, zone = schema_of(left).simpleString(), _zone(left, compared)
    return FilterOperator(
        name=name,
        operator=compared.operator,
        kept=f"{row} by {compared.left.text}{unless} in {options.vnodes} vnodes{zone and f' and time zone {zone}'}, "
        f"compared with {'the changelog' if is_changelog(right) else 'the latest'} {compared.right.text}",
        parts={
            "comparison": f"{name}{zone and f' in time zone {zone}'}",
            "left condition": options.where or _NONE,
            "key": ", ".join(options.keys),
            "order": options.order or _NONE,
            "vnodes": str(options.vnodes),
            "left columns": row,
            "right side": _kind_of_right(right),
            "piece_rows": "above 0" if options.piece_rows else "0",
        },
        ordered=options.order is not None,
        moves=options.moves,
        piece_rows=-(-options.piece_rows // options.vnodes),
    )


def _kind_of_right(right: DataFrame) -> str:
    if PRESENT in right.columns:  # its row is kept in the offsets, with all columns
        return f"a batch DataFrame of {right.drop(PRESENT).schema.simpleString()}"
    return "a changelog" if is_changelog(right) else "the latest row of a stream"


def _zone(left: DataFrame, compared: ComparedSides) -> str:
    """Return the session's zone where what is made of a left row may depend on it: rows are stored by that."""
    written = [compared.left.text, *([compared.unless.text] if compared.unless else [])]
    plain = all("(" not in text for text in written)
    return "" if plain else str(left.sparkSession.conf.get("spark.sql.session.timeZone"))


def _right_records(right: DataFrame, compared: ComparedSides, order: str | None) -> DataFrame:
    named = right.alias("right").withColumn(_VALUE, where_present(right, compared.right.column))
    at = sf.lit(0) if order is None else sf.col(quoted(order))
    if is_changelog(right):
        kind = sf.when(kind_of(right).isin(0, 2), _RIGHT_IN).otherwise(_RIGHT_OUT)
    else:
        kind = sf.lit(_RIGHT_LATEST)
    records = named.select(right_record(named, kind, sf.col(_VALUE), at).alias("packed"))
    return records if is_changelog(right) else latest_records(records, ordered=order is not None)
