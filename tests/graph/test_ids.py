"""The distinct ids of a frame come to the driver as bitmaps of one job, or not at all where they are too many."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.ids import collect_ids, frame_of_ids, in_ids
from headgate.domain.bitmap import IdBitmap
from headgate.graph import Frontier

WIDE = "xxhash64(id)"
EDGES = "if(id % 2 = 0, 9223372036854775807 - id, -9223372036854775808 + id)"


def collected(frame: DataFrame, max_ids: int = 10**6, max_bytes: int = 1 << 24) -> IdBitmap | None:
    found = collect_ids(frame, max_ids=max_ids, max_bytes=max_bytes, description="test")
    return found.sets[0] if found.is_complete and found.sets else None


@pytest.mark.parametrize(
    "sql", ["id", "id - 40000", "id * 1000003 * 4099", WIDE, EDGES, "id % 7", "if(id < 30000, id, xxhash64(id))"]
)
@pytest.mark.parametrize("partitions", [1, 5])
def test_ids_are_collected_exactly(spark: SparkSession, sql: str, partitions: int) -> None:
    """Dense, spread and repeated ids over several tasks, with NULLs among them; and each of them is found again."""
    frame = spark.range(0, 60_000, 1, partitions).selectExpr(f"if(id % 11 = 0, null, {sql}) as v")
    expected = {row.v for row in frame.collect()} - {None}
    ids = collected(frame)
    assert ids is not None
    assert ids.ids().tolist() == sorted(expected)
    asked = frame.union(spark.sql("select 17L union all select -1L union all select 8070450532247928832L"))
    kept = asked.where(in_ids(asked, "v", ids)).count()
    assert kept == asked.where("v is not null").count() - len({17, -1, 8070450532247928832} - expected)


@pytest.mark.parametrize("sql", ["tinyint", "smallint", "int", "bigint"])
def test_columns_of_whole_numbers_are_tested(spark: SparkSession, sql: str) -> None:
    frame = spark.range(-50, 50, 1, 2).selectExpr(f"cast(id as {sql}) as `a.b`")
    kept = frame.where(in_ids(frame, "a.b", IdBitmap.of(Frontier([-50, -3, 7, 10**12]).ids.ids())))
    assert sorted(row[0] for row in kept.collect()) == [-50, -3, 7]
    assert frame.where(in_ids(frame, "a.b", Frontier().ids)).count() == 0


def test_no_rows_and_no_tasks(spark: SparkSession) -> None:
    assert collected(spark.range(5).where("id > 9").select("id")) is not None
    empty = collect_ids(spark.sql("select 1L where false"), max_ids=9, max_bytes=99, description="test")
    assert (empty.is_complete, [len(ids) for ids in empty.sets.values()] in ([], [0])) == (True, True)


def test_too_many_ids_are_not_brought(spark: SparkSession) -> None:
    """By number, over all tasks: what was found when the limit was passed is told, and the job is over."""
    found = collect_ids(spark.range(0, 400_000, 1, 8), max_ids=90_000, max_bytes=1 << 24, description="test")
    assert (found.is_complete, found.sets) == (False, {})
    assert 90_000 < found.found < 400_000
    assert 1 <= found.tasks_done < found.tasks == 8
    assert collected(spark.range(0, 400_000, 1, 8), max_ids=400_000) is not None
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []


def test_a_task_without_room_is_never_taken_for_complete(spark: SparkSession) -> None:
    """Its ids shrink when they are packed: what was left out would not be missed."""
    frame = spark.range(0, 300_000, 1, 1)
    assert collected(frame, max_bytes=20_000) is None
    assert collected(spark.range(0, 300_000, 1, 1).selectExpr(WIDE), max_bytes=100_000) is None


def test_sets_by_tag(spark: SparkSession) -> None:
    frame = spark.range(0, 9_000, 1, 3).selectExpr("id % 5 - 2 as tag", "if(id % 2 = 0, id, -id) as v")
    found = collect_ids(frame, tagged=True, max_ids=9_000, max_bytes=1 << 24, description="test").sets
    assert sorted(found) == [-2, -1, 0, 1, 2]
    for tag, ids in found.items():
        assert ids.ids().tolist() == sorted(i if i % 2 == 0 else -i for i in range(9_000) if i % 5 - 2 == tag)


def test_a_failing_job_fails(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        collected(spark.range(5).selectExpr("cast(1 / (id - 3) as bigint)"))


@pytest.mark.parametrize("sql", ["id", WIDE, EDGES])
def test_many_tasks_are_united_in_the_cluster(spark: SparkSession, sql: str) -> None:
    """So many that their results together might be more than the driver takes."""
    frame = spark.range(0, 20_000, 1, 70).selectExpr(f"{sql} as v")
    ids = collected(frame)
    assert ids is not None
    assert ids.ids().tolist() == sorted({row.v for row in frame.collect()})
    found = collect_ids(frame, max_ids=5_000, max_bytes=1 << 24, description="test")
    assert (found.is_complete, found.sets) == (False, {})
    assert found.found > 5_000


def test_bitmaps_become_rows(spark: SparkSession) -> None:
    """Without listing them on the driver: small and large ones, of any width, and empty ones."""
    wide = [-(2**63), -5, 7, 2**40, 2**40 + 1, 2**63 - 1]
    sets = [IdBitmap.of(np.array(ids, dtype=np.int64)) for ids in ([3, 1], [], wide, range(5_000_000, 14_000_000, 60))]
    frame = frame_of_ids(spark, sets, "v", "n")
    assert frame.dtypes == [("v", "bigint"), ("n", "int")]
    found = sorted((row.n, row.v) for row in frame.collect())
    assert found == [(n, v) for n, ids in enumerate(sets) for v in ids.ids().tolist()]
    assert frame.where("n = 2").count() == 6
