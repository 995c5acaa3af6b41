"""Hashes are Spark's: a bloom filter built here and asked there must speak of the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from headgate.domain import value_type
from headgate.domain.arrays import axis_column
from headgate.domain.hashing import xxhash64
from headgate.domain.types import from_axis, to_axis
from tests.domain.strategies import TYPES, pool

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOMENTS = {
    "date": "date_from_unix_date(int(v))",
    "timestamp": "timestamp_micros(v)",
    "timestamp_ntz": "cast(timestamp_micros(v) as timestamp_ntz)",
}


def spark_column(spark: SparkSession, name: str, listed: list[object]) -> tuple[DataFrame, Column]:
    """A frame with the values and their row numbers, and the column of the type; Python has no calendar for some."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's documentation gives it

    column_type = value_type(name)
    if name in MOMENTS:
        frame = spark.createDataFrame([(i, to_axis(column_type, v)) for i, v in enumerate(listed)], "i int, v bigint")
        return frame, F.expr(MOMENTS[name])
    python = [from_axis(column_type, to_axis(column_type, v)) for v in listed]
    return spark.createDataFrame(list(enumerate(python)), f"i int, v {name}"), F.col("v")


@pytest.mark.parametrize("name", TYPES)
def test_xxhash64_is_sparks(name: str, spark: SparkSession) -> None:
    """For every type, xxhash64 of the most awkward values is what Spark's xxhash64 gives."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's documentation gives it

    column_type, listed = value_type(name), pool(name)
    if name in ("string", "binary"):
        listed += [listed[-1][:0].join([listed[3]] * length) for length in range(70)]
    frame, column = spark_column(spark, name, listed)
    rows = frame.select("i", F.xxhash64(column).alias("hash")).orderBy("i").collect()
    places, _ = axis_column(column_type, listed)
    assert xxhash64(column_type, places).tolist() == [row.hash for row in rows]


def test_negative_zero_and_nan_hash_as_spark_normalises_them(spark: SparkSession) -> None:
    """Spark hashes -0.0 as 0.0 and every NaN as one; so do both float types here."""
    rows = spark.sql(
        "select xxhash64(-0.0D), xxhash64(double('NaN')), xxhash64(float('-0.0')), xxhash64(float('NaN'))"
    ).collect()[0]
    hashes = []
    for name in ("double", "float"):
        column_type = value_type(name)
        places, _ = axis_column(column_type, np.array([-0.0, np.nan]))
        hashes += xxhash64(column_type, places).tolist()
    assert list(rows) == hashes


def test_no_values_have_no_hashes() -> None:
    """An empty column hashes to an empty column, for every type."""
    for name in TYPES:
        places, _ = axis_column(value_type(name), [])
        assert xxhash64(value_type(name), places).tolist() == []
