"""What an operator can be compared with besides streams: a batch DataFrame, whose one row is read in each trigger."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from headgate.catalyst.changes import packed_row, unpacked
from headgate.catalyst.values import watched_stream
from headgate.errors import BadInput
from headgate.stream.changelog import OP, is_changelog

PRESENT = "_headgate_present"


def watched(frame: DataFrame, what: str) -> DataFrame:
    """Return a batch DataFrame of one row or none as a stream: its row whenever that has changed.

    It is read anew in each trigger, with the files that its tables have then. A column `_headgate_present` is false
    where the DataFrame has become empty.
    """
    if is_changelog(frame):
        raise BadInput(
            f"{what} is a batch DataFrame with a column {OP!r}, which is for streams; rename it or leave it out"
        )
    packed = watched_stream(frame.select(packed_row(frame).alias("_packed")))
    rows = packed.select(
        sf.col("_packed").isNotNull().alias(PRESENT),
        unpacked(packed, sf.col("_packed"), frame.schema).alias("_row"),
    )
    return rows.select(PRESENT, *(sf.col("_row").getField(name).alias(name) for name in frame.columns))


def where_present(frame: DataFrame, value: Column) -> Column:
    """Return a value of a right side, or NULL where its row is absent, whatever the value makes of NULLs."""
    return sf.when(sf.col(PRESENT), value) if PRESENT in frame.columns else value
