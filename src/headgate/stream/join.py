"""A changelog joined to a table that does not change: each change takes along what the table says of its row."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.stream.changelog import OP, check_changelog, columns_of, is_changelog

HOW = {
    "inner": "inner",
    "left": "left_outer",
    "left_outer": "left_outer",
    "left_semi": "left_semi",
    "semi": "left_semi",
    "left_anti": "left_anti",
    "anti": "left_anti",
}
WITH_COLUMNS = ("inner", "left_outer")  # the result has the columns of the table too


def join(changes: DataFrame, table: DataFrame, on: str | Sequence[str], how: str = "inner") -> DataFrame:
    """Return a changelog joined to a batch table, as a changelog.

    ``on`` names the columns that have to be equal, or is a condition such as ``"left.k = right.id and right.ok"``,
    where ``left`` is the changelog. ``how`` is inner, left, left_semi or left_anti: with these each change can be
    joined by itself. The table has to stay as it is while the query lives: a row that is taken back is joined again,
    and what is taken back is what the table says of it then.
    """
    check_changelog(changes, "changes")
    kind = _checked(table, how)
    left = changes if is_changelog(changes) else changes.withColumn(OP, sf.lit("+I"))
    named = _using(left, table, on, kind)
    try:
        if named:
            return _in_order(left.join(table, named, kind))
        condition = sf.expr(on) if isinstance(on, str) else sf.lit(True)
        joined = left.alias("left").join(table.alias("right"), condition, kind)
        joined.schema  # noqa: B018  the condition is looked at here, and not when the query starts
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise BadInput(f"on is {on!r}: {told}; {_columns(left, table)}") from None
    twice = [name for name in columns_of(left) if name in table.columns]
    if twice and kind in WITH_COLUMNS:
        raise BadInput(
            f"both sides have a column {', '.join(map(repr, twice))}, so the result would have it twice: rename it, or "
            "give on as a list of columns that have to be equal"
        )
    return _in_order(joined)


def _checked(table: DataFrame, how: str) -> str:
    if not isinstance(table, DataFrame):
        raise BadInput(f"the table is {type(table).__name__}; it has to be a batch DataFrame")
    if table.isStreaming:
        raise BadInput("the table is a stream; a changelog can be joined to a batch DataFrame only")
    if OP in table.columns:
        raise BadInput(f"the table has a column `{OP}`, which says of a changelog how its rows change: rename it")
    if how not in HOW:
        raise BadInput(f"how is {how!r}; it has to be inner, left, left_semi or left_anti, which join row by row")
    return HOW[how]


def _using(left: DataFrame, table: DataFrame, on: str | Sequence[str], kind: str) -> list[str]:
    """Return the columns that have to be equal; none where ``on`` is a condition."""
    if isinstance(on, str) and not (on in columns_of(left) and on in table.columns):
        return []
    named = [on] if isinstance(on, str) else list(on)
    missing = [name for name in named if name not in columns_of(left) or name not in table.columns]
    if missing or not named:
        told = f"no column {', '.join(map(repr, missing))} on both sides" if missing else "on is empty"
        raise BadInput(f"{told}; {_columns(left, table)}")
    rest = [name for name in columns_of(left) if name in table.columns and name not in named]
    if rest and kind in WITH_COLUMNS:
        raise BadInput(
            f"both sides have a column {', '.join(map(repr, rest))} that is not in on: rename it or add it to on"
        )
    return named


def _columns(left: DataFrame, table: DataFrame) -> str:
    return f"columns of the changelog: {', '.join(columns_of(left))}; of the table: {', '.join(table.columns)}"


def _in_order(joined: DataFrame) -> DataFrame:
    return joined.select(OP, *map(quoted, columns_of(joined)))
