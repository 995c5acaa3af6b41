"""Python functions between a watermark and an operator: one that sees rows, and those that see batches of them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import LongType

one_more = sf.udf(lambda value: None if value is None else value + 1, LongType())  # depends on the row alone


@pandas_udf(LongType())  # type: ignore[call-overload]
def rows_in_batch(values: pd.Series) -> pd.Series:
    """Return how many rows came together."""
    return pd.Series([len(values)] * len(values))


@pandas_udf(LongType())  # type: ignore[call-overload]
def rows_so_far(frames: Iterator[pd.Series]) -> Iterator[pd.Series]:
    """Return how many rows the task has seen before."""
    seen = 0
    for values in frames:
        yield pd.Series(range(seen, seen + len(values)))
        seen += len(values)


def rows_in_arrow(values: pa.Array) -> pa.Array:
    """Return how many rows came together; to be made a function by ``arrow_udf``, which Spark 4.0 has not."""
    return pa.array([len(values)] * len(values))
