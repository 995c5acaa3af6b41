"""Temporal filters: the rows of a stream that compare in a given way with the time, which come and go as it passes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame

from headgate.catalyst.changes import ConditionParts, now_condition_parts
from headgate.errors import BadInput
from headgate.stream.changelog import check_changelog, columns_of, key_columns, schema_of, use_rocksdb
from headgate.stream.clock import Clock, Duration, micros_of
from headgate.stream.dynamic_filter import FilterOptions, compared_rows, rows_that_meet


def temporal_filter(
    df: DataFrame,
    condition: str,
    key: str | Sequence[str],
    *,
    tick: Duration = "1 second",
    most_per_batch: Duration | None = None,
    clock: Clock | None = None,
) -> DataFrame:
    """Return the rows that meet a condition with ``now()``, as a changelog: rows come and go as time passes.

    ``"ts > now() - interval 1 day and kind = 'a'"``, ``"now() between valid_from and valid_to"``. Parts are joined by
    AND; one that looks at ``now()`` may be joined by OR to others that do not. ``now()`` may be compared with any
    expression of columns; what is made of ``now()`` has to rise with it: plus or minus constants, casts to date or
    timestamp, ``date_trunc``. Rows that can never count again are forgotten.

    The time moves by at least ``tick``, without new input too, and in one micro-batch by at most ``most_per_batch``:
    after a pause the query catches up in steps. It goes on where it was after a restart, and never back. ``clock`` is
    the machine's time, or a ``ManualClock`` that a test sets; filters of one query should share one.
    """
    check_changelog(df, "the stream")
    keys = key_columns(df, key, "the stream")
    if clock is not None and not isinstance(clock, Clock):
        raise BadInput(f"clock is {type(clock).__name__}; it has to be a Clock or a ManualClock")
    step = micros_of(tick, "tick")
    most = 0 if most_per_batch is None else micros_of(most_per_batch, "most_per_batch")
    if 0 < most < step:
        raise BadInput(f"most_per_batch is {most_per_batch!r}, which is less than tick, {tick!r}; it has to be as long")
    now = (clock or Clock()).stream(df.sparkSession, step, most)
    parts = _parts(df, now, condition)
    use_rocksdb(df)
    options = FilterOptions(tuple(keys), parts.left_only_text, moves="held")
    try:
        df = rows_that_meet(df, parts.left_only)
        for compared in parts.comparisons:
            df = compared_rows(df, now, compared, options)
    except AnalysisException as error:  # not all that Spark makes of a condition can be written as SQL again
        raise BadInput(f"condition {condition!r} has to be written in a simpler form: {_told(error)}") from None
    return df


def _parts(df: DataFrame, now: DataFrame, condition: str) -> ConditionParts:
    try:
        parts = now_condition_parts(schema_of(df), now.schema, condition, df)
    except (AnalysisException, ParseException) as error:
        raise BadInput(f"condition {condition!r}: {_told(error)}; columns: {', '.join(columns_of(df))}") from None
    except ValueError as error:
        raise BadInput(f"condition {condition!r}: {error}".replace("right._now", "now()")) from None
    if not parts.comparisons:
        raise BadInput(f"condition {condition!r} does not look at now(); a plain filter would do")
    return parts


def _told(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
