"""Tables that most tests of batch queries share, as temporary views that no test redefines.

fact                                    800 rows, 8 files, 4 row groups each, clustered
dim                                     115 rows: every seventh key of fact
region -> nation -> supplier -> lineitem      a snowflake; each key is clustered in the next table
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate import QueryReport
from tests.batch.differential import Check, same_rows
from tests.batch.moments import filters_first
from tests.batch.stand_in_formats import stand_ins
from tests.batch.tables import write_fact, write_rows


@pytest.fixture(scope="session")
def star(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared tables, written once; the views are named as the folders are."""
    home = tmp_path_factory.mktemp("star")
    whole = pa.int32()
    write_fact(home / "fact")
    write_rows(
        home / "dim",
        {
            "id": (whole, lambda i: i * 7),
            "big": (pa.int64(), lambda i: i * 7),
            "name": (pa.string(), lambda i: f"k{i * 7:04d}"),
            "grp": (whole, lambda i: i % 23),
        },
        range(115),
    )
    write_rows(home / "region", {"r_id": (whole, lambda i: i), "r_name": (pa.string(), lambda i: f"r{i}")}, range(5))
    write_rows(
        home / "nation",
        {
            "n_id": (whole, lambda i: i),
            "n_region": (whole, lambda i: i // 5),
            "n_name": (pa.string(), lambda i: f"n{i}"),
        },
        range(25),
        files=5,
    )
    write_rows(
        home / "supplier",
        {
            "s_id": (whole, lambda i: i),
            "s_nation": (whole, lambda i: i // 4),
            "s_name": (pa.string(), lambda i: f"s{i}"),
        },
        range(100),
        files=5,
        groups=2,
    )
    write_rows(
        home / "lineitem",
        {
            "l_supplier": (whole, lambda i: i // 10),
            "l_line": (whole, lambda i: i),
            "l_qty": (pa.int64(), lambda i: i % 7),
        },
        range(1000),
        files=10,
        groups=2,
    )
    for name in ("fact", "dim", "region", "nation", "supplier", "lineitem"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)
    return home


@pytest.fixture
def check(spark: SparkSession, star: Path) -> Check:
    """Compare one SQL query over the shared tables with Headgate off and on; return the report."""

    def compared(query: str, **options: Any) -> QueryReport:
        return same_rows(spark, lambda: spark.sql(query), **options)

    return compared


@pytest.fixture
def come_first() -> Iterator[None]:
    """Late filters are published before the query's first task: the query is planned with gates, which are closed."""
    with filters_first():
        yield


@pytest.fixture(scope="session")
def compiled_stand_ins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The file format and the file index of tests.batch.stand_in_formats are known to Spark."""
    stand_ins(spark, tmp_path_factory.mktemp("stand-ins"))
