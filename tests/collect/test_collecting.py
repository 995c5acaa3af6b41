"""Build sides run in Spark: their keys come back as the smallest form that the limits allow, and never lose a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst import SparkBridge
from headgate.collect import BuildKey, BuildRequest, BuildResult, RunningWave
from headgate.domain import Domain, Kind, Limits


@dataclass
class Collected:
    """How a build ended, and what was found of each of its columns."""

    result: BuildResult
    domains: dict[int, Domain]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)


Collect = Callable[..., Collected]


@pytest.fixture
def collect(spark: SparkSession) -> Iterator[Collect]:
    """Run the plan of a DataFrame as a build side; all its columns are keys."""
    bridge = SparkBridge(spark, lambda query: None)

    def run(frame: DataFrame, limits: Limits | None = None, row_bytes: int = 0) -> Collected:
        query = bridge.query_of(frame)
        root, _ = query.read()
        keys = tuple(BuildKey(i, i, column.type) for i, column in enumerate(root.output))
        request = BuildRequest(root.id, keys, row_bytes)
        (result,) = RunningWave(query, [request], limits or Limits()).wait() or []
        return Collected(result, {key.column: request.found(key.column) for key in keys})

    yield run
    bridge.remove()


def test_a_set_of_every_type(spark: SparkSession, collect: Collect) -> None:
    """Keys of each type that has domains come back exactly, NULLs as NULL."""
    frame = spark.sql(
        """select * from values
        (1y, 2s, 3, 4L, 1.5f, 2.5d, 1.25bd, cast('123456789012345678901.5' as decimal(30,1)), 'a', x'ff00', true,
         date'1969-12-31', timestamp'2024-01-01 00:00:00', timestamp_ntz'2024-01-01 00:00:00'),
        (null, null, null, null, null, null, null, null, null, null, null, null, null, null)"""
    )
    result = collect(frame.repartition(2))

    assert result.error == ""
    assert result.rows == 2
    for number, (name, kind) in enumerate(frame.dtypes):
        held = result.domains[number]
        values = [row[0] for row in frame.select(name).collect()]
        if kind == "timestamp":
            values = [value and value.astimezone() for value in values]
        assert all(value in held for value in values), f"{kind}: {held} lacks one of {values}"
        assert held.kind is Kind.SINGLE, f"{kind}: {held}"


def test_no_partitions_match_nothing(spark: SparkSession, collect: Collect, tmp_path: Path) -> None:
    """A folder without files has no task at all: no key matches, and that is no error."""
    frame = spark.read.schema("id int, name string").parquet(str(tmp_path))
    assert frame.rdd.getNumPartitions() == 0
    result = collect(frame, row_bytes=1000)

    assert (result.rows, result.error, result.has_rows) == (0, "", True)
    assert {held.kind for held in result.domains.values()} == {Kind.NONE}


def test_an_all_null_key_leaves_the_others_alone(spark: SparkSession, collect: Collect) -> None:
    """A column of NULLs gives a domain of NULL alone; the column beside it keeps its values."""
    result = collect(spark.range(0, 100, 1, 4).selectExpr("cast(if(id < 0, 1, null) as int) a", "id b"))

    assert result.domains[0].kind is Kind.ONLY_NULL
    assert result.domains[1].listed() == list(range(100))


@pytest.mark.parametrize("partitions", [1, 4])
def test_more_than_max_distinct_is_a_bitmap_and_exactly_that_many_a_set(
    spark: SparkSession, collect: Collect, partitions: int
) -> None:
    """The limit is inclusive, whether one task passes it or only all together do."""
    frame = spark.range(0, 1000, 1, partitions)

    assert collect(frame, Limits(max_distinct=1000)).domains[0].kind is Kind.SET
    found = collect(frame, Limits(max_distinct=999)).domains[0]
    assert found.kind is Kind.BITMAP
    assert found.listed() == list(range(1000))


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_bitmap_over_max_filter_bytes_is_a_range(spark: SparkSession, collect: Collect, partitions: int) -> None:
    """With hardly any bytes only the smallest and the largest key of each task are kept, as far as they fit."""
    frame = spark.range(0, 1000, 1, partitions).selectExpr("id * 100003 as id")

    found = collect(frame, Limits(max_distinct=10, max_bytes=32)).domains[0]
    assert found.kind is Kind.RANGES
    assert found.span() == Domain.range("bigint", 0, 999 * 100003)
    assert all(i * 100003 in found for i in range(1000))


@pytest.mark.parametrize(
    "sql",
    [
        "id - 10000",
        "id + 4294967290",
        "id * 4294967296 - 500",
        "if(id % 2 = 0, id, -9223372036854775808 + id * 1000)",
        "if(id % 3 = 0, 9223372036854775807 - id, id * 1000003 * 1000003)",
        "if(id < 9000, id, hash(id) * 4294967296L)",
    ],
    ids=["negative", "over 32 bits", "one in each upper half", "both ends", "spread", "many, then spread"],
)
@pytest.mark.parametrize("partitions", [1, 3])
def test_wide_numbers_are_a_bitmap_too(spark: SparkSession, collect: Collect, sql: str, partitions: int) -> None:
    """Whatever 64 bits hold comes back exactly: what Java writes, roaring reads in C."""
    frame = spark.range(0, 20_000, 1, partitions).selectExpr(f"{sql} as id")
    found = collect(frame, Limits(max_distinct=10)).domains[0]

    assert found.kind is Kind.BITMAP
    assert found.listed() == sorted({row.id for row in frame.collect()})


def test_wide_numbers_over_max_filter_bytes_are_a_bloom_or_a_range(spark: SparkSession, collect: Collect) -> None:
    """Spread over 64 bits, numbers take 22 bytes each in a bitmap: a bloom takes its place, and then a range."""
    frame = spark.range(0, 20_000, 1, 2).selectExpr("xxhash64(id) as id")
    values = {row.id for row in frame.collect()}
    for most, kind in ((1 << 20, Kind.BITMAP), (400_000, Kind.BLOOM), (1_000, Kind.RANGES)):
        found = collect(frame, Limits(max_distinct=10, max_bytes=most)).domains[0]
        assert found.kind is kind
        assert all(value in found for value in values)


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        ("cast(id as double) / 4 - 10", -10.0, 239.75),
        ("cast(id - 500 as decimal(18, 2))", Decimal(-500), Decimal(499)),
    ],
    ids=["floats", "decimals"],
)
def test_what_no_bitmap_holds_covers_all_keys(
    spark: SparkSession, collect: Collect, sql: str, low: object, high: object
) -> None:
    """Floats and negative decimals over the limit of a task keep smallest to largest at least."""
    frame = spark.range(0, 1000, 1, 2).selectExpr(f"{sql} as id")
    found = collect(frame, Limits(max_distinct=10)).domains[0]

    assert found.span() == Domain.range(found.type, low, high)
    assert all(row.id in found for row in frame.collect())


@pytest.mark.parametrize("limits", [Limits(max_distinct=10), Limits(max_bytes=256)], ids=["distinct", "bytes"])
def test_strings_beyond_a_limit_are_a_range(spark: SparkSession, collect: Collect, limits: Limits) -> None:
    """Too many strings, or too many bytes of them, in one task: smallest to largest."""
    frame = spark.range(0, 200, 1, 1).selectExpr("concat('k', lpad(id, 4, '0')) as s")

    assert collect(frame, limits).domains[0] == Domain.range("string", "k0000", "k0199")


def test_wide_decimals(spark: SparkSession, collect: Collect) -> None:
    """Decimals of more than 18 digits keep their values, negative ones too; beyond the limit anything may match."""
    frame = spark.range(0, 20, 1, 2).selectExpr("cast((id - 10) as decimal(38,2)) * 100000000000000000000 as d")
    values = [(Decimal(i) - 10) * 10**20 for i in range(20)]
    found = collect(frame).domains[0]

    assert found.listed() == sorted(values)
    assert collect(frame, Limits(max_distinct=5)).domains[0].is_all


def test_nan_and_both_zeros(spark: SparkSession, collect: Collect) -> None:
    """NaN is one value, 0.0 and -0.0 are one value, as Spark compares them; NaN ends a range at the top."""
    frame = spark.createDataFrame([(float("nan"),), (-0.0,), (1.5,), (None,)], "x double").repartition(1)
    found = collect(frame).domains[0]

    assert found.count() == 3
    assert all(value in found for value in (float("nan"), 0.0, -0.0, 1.5, None))
    assert collect(frame, Limits(max_distinct=1)).domains[0] == Domain.range(
        "double", 0.0, float("nan"), null_allowed=True
    )


def test_rows_come_back_while_they_are_few(spark: SparkSession, collect: Collect) -> None:
    """Rows within the limit are held beside the domains; above it the domains alone are, and nothing is lost."""
    frame = spark.range(0, 50, 1, 2)
    kept, dropped = collect(frame, row_bytes=100_000), collect(frame, row_bytes=64)

    assert (kept.has_rows, dropped.has_rows) == (True, False)
    assert kept.rows == dropped.rows == 50
    assert kept.domains == dropped.domains == {0: Domain.of("bigint", range(50))}


def test_a_failing_build_is_told(spark: SparkSession, collect: Collect) -> None:
    """An error in a task comes back as a text, and its keys may be anything."""
    result = collect(spark.range(0, 10, 1, 2).selectExpr("id + assert_true(id < 5, 'no luck') as id"))

    assert "no luck" in result.error
    assert result.domains[0].is_all
