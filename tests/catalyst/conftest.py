"""A bridge that changes nothing, and one small pair of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.catalyst import SparkBridge
from tests.batch.tables import write_rows


@pytest.fixture
def bridge(spark: SparkSession) -> Iterator[SparkBridge]:
    """The bridge into the shared session, with a rule that leaves every plan as it is."""
    made = SparkBridge(spark, lambda query: None)
    yield made
    made.remove()


@pytest.fixture(scope="session")
def pair(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Views `cat_fact` (400 rows, 4 files of 4 row groups, sorted by k) and `cat_dim` (every fifth key)."""
    home = tmp_path_factory.mktemp("catalyst")
    whole = pa.int32()
    write_rows(
        home / "cat_fact",
        {"k": (whole, lambda i: i), "v": (pa.int64(), lambda i: i % 7), "x": (pa.float64(), lambda i: i / 4)},
        range(400),
        files=4,
        groups=4,
    )
    write_rows(
        home / "cat_dim",
        {"id": (whole, lambda i: i * 5), "grp": (whole, lambda i: i % 8), "name": (pa.string(), lambda i: f"n{i}")},
        range(80),
    )
    for name in ("cat_fact", "cat_dim"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)
    return home
