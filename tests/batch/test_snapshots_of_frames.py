"""Frames that outlive a change: filtered ones, cached ones, subqueries, tables made anew, files rewritten in place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headgate
from tests.batch.changing_tables import ChangingTables, explained, planned, queries
from tests.batch.differential import INTERPRETED, Answer, enabled, outcome, rows_of, settings
from tests.batch.test_snapshots import LATE, NO_BROADCAST, WAITING, made

Steps = Callable[[ChangingTables], list[Answer]]
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "rows kept": (WAITING, {}),
    "rows not kept": (WAITING, NO_BROADCAST),
    "late": (LATE, {}),
}


@dataclass
class Plain:
    """What plain Spark answers in the steps of each test; the modes of Headgate that share settings share it."""

    spark: SparkSession
    new_folder: Callable[[], Path]
    told: dict[tuple[object, ...], list[Answer]] = field(default_factory=dict)

    def answers(self, layout: str, configured: dict[str, str], steps: Steps) -> list[Answer]:
        key = (steps.__qualname__, layout, *configured)
        if key not in self.told:
            with made(self.spark, self.new_folder(), layout) as tables:
                self.told[key] = steps(tables)
        return self.told[key]


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Plain:
    return Plain(spark, lambda: tmp_path_factory.mktemp("off"))


def same_steps(plain: Plain, home: Path, layout: str, mode: str, steps: Steps) -> None:
    """Take the same steps on tables of their own with Headgate off and on: each has the same answer."""
    options, configured = OPTIONS[mode]
    with settings(plain.spark, **INTERPRETED, **configured):
        expected = plain.answers(layout, configured, steps)
        with made(plain.spark, home, layout) as tables, enabled(plain.spark, **options) as gate:
            found = steps(tables)
            narrowed = any(f.late or f.state == "applied" for report in gate.reports for f in report.filters)
            assert gate.failures == []
    assert_same_answers(expected, found)
    assert narrowed, "no filter was applied, so nothing could go wrong"


def assert_same_answers(expected: list[Answer], found: list[Answer]) -> None:
    assert found == expected, "\n".join(f"{a} off, {b} on" for a, b in zip(expected, found, strict=True) if a != b)


@pytest.mark.parametrize("mode", OPTIONS)
@pytest.mark.parametrize("on", [True, False], ids=["enabled", "not enabled"])
@pytest.mark.sampled(3)
def test_filtered_frames_are_fresh(
    spark: SparkSession, plain: Plain, tmp_path: Path, come_first: None, on: bool, mode: str
) -> None:
    """A frame from `headgate.filtered` lives on while its tables change, and reads them anew each time."""
    options, configured = OPTIONS[mode]
    headgate_settings = {
        "spark_headgate_strategy": "always",
        "spark_headgate_maxWait": str(options["max_wait"]),
        "spark_headgate_nonBlocking": str(options["non_blocking"]).lower(),
    }

    def steps(tables: ChangingTables, make: Callable[[Any], Any] = lambda frame: frame) -> list[Answer]:
        frames = [make(spark.sql(query)) for query in queries("catalog").values()]
        told = [outcome(lambda f=f: f.where("true")) for f in frames]
        tables.insert("dim", [(55, 1, 5)])
        told += [outcome(lambda f=f: f.select("*")) for f in frames]
        tables.insert("fact", [(5, 1, 0), (300, 3, 30)])
        tables.insert("dim", [(300, 1, 30)])
        told += [outcome(lambda f=f: f) for f in frames]
        return told + [outcome(lambda f=f: f.groupBy().count()) for f in frames]

    with settings(spark, **INTERPRETED, **configured, **headgate_settings):
        expected = plain.answers("catalog", configured, steps)
        with made(spark, tmp_path, "catalog") as tables:
            if on:
                headgate.enable(spark)
            found = steps(tables, headgate.filtered)
    assert_same_answers(expected, found)


@pytest.mark.parametrize("mode", OPTIONS)
@pytest.mark.sampled(3)
def test_a_cached_frame_planned_before_a_change(
    spark: SparkSession, plain: Plain, tmp_path: Path, come_first: None, mode: str
) -> None:
    """A cache that is filled after a change holds what plain Spark's holds."""

    def steps(tables: ChangingTables) -> list[Answer]:
        made_cached = [spark.sql(query).cache() for query in queries("catalog").values()]
        for frame in made_cached:
            explained(frame)
        tables.insert("dim", [(55, 1, 5)])
        tables.insert("fact", [(5, 1, 0)])
        try:
            told = [outcome(lambda f=f: f) for f in made_cached]
            tables.insert("fact", [(6, 1, 0)])
            return told + [outcome(lambda f=f: f.groupBy().count()) for f in made_cached]
        finally:
            for frame in made_cached:
                frame.unpersist(blocking=True)

    same_steps(plain, tmp_path, "catalog", mode, steps)


JOINED = "select d.id, f.v from ({}) d left join live_fact f on f.k = d.id"
SUBQUERIES = (
    "select * from live_dim where id >= (select min(k) from live_fact where v > 60)",
    "select * from live_dim where id in (select k from live_fact where v between 50 and 70)",
    "select max(id) id from live_dim",
)


@pytest.mark.parametrize("mode", OPTIONS)
@pytest.mark.sampled(3)
def test_a_subquery_whose_table_changes(
    spark: SparkSession, plain: Plain, tmp_path: Path, come_first: None, mode: str
) -> None:
    """The table that only a subquery of the build side reads is learned from as well."""

    def steps(tables: ChangingTables) -> list[Answer]:
        tables.overwrite("dim", [(i * 5, 1, 0) for i in range(20)])
        frames = [spark.sql(JOINED.format(build)) for build in SUBQUERIES]
        for frame in frames:
            planned(frame)
        tables.overwrite("fact", [(k, 99 if k == 45 else 55 if k == 70 else k // 4, 0) for k in range(100)])
        return [outcome(lambda f=f: f) for f in frames]

    same_steps(plain, tmp_path, "catalog", mode, steps)


@pytest.mark.parametrize("mode", OPTIONS)
@pytest.mark.parametrize("layout", ["catalog", "path"])
@pytest.mark.sampled(3)
def test_a_table_dropped_and_made_again(
    spark: SparkSession, plain: Plain, tmp_path: Path, come_first: None, layout: str, mode: str
) -> None:
    """A new frame reads the new table; an old one ends as it does in plain Spark."""

    def steps(tables: ChangingTables) -> list[Answer]:
        query = queries(layout)["left"]
        told = [outcome(lambda: spark.sql(query))]
        tables.create("dim", [[(15, 1, 1), (55, 1, 5)]])
        told.append(outcome(lambda: spark.sql(query)))
        frame = spark.sql(query)
        explained(frame)
        tables.create("fact", [[(15, 1, 1), (16, 2, 1)], [(55, 3, 5)]])
        told.append(outcome(lambda: spark.sql(query)))
        return told

    same_steps(plain, tmp_path, layout, mode, steps)


# --- files rewritten in place -----------------------------------------------------------------------------------------


def write_in_place(path: Path, first: int, *, renamed: bool) -> None:
    """Write ten numbers from a first one, the file keeping its size and its time of modification."""
    before = path.stat() if path.exists() else None
    target = path.with_suffix(".tmp") if renamed else path
    numbers = list(range(first, first + 10))
    table = pa.table({"k": pa.array(numbers, pa.int32()), "v": pa.array(numbers, pa.int32())})
    pq.write_table(table, target, compression="none", use_dictionary=False)
    if renamed:
        target.replace(path)
    if before is not None:
        assert path.stat().st_size == before.st_size
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("mode", OPTIONS)
@pytest.mark.parametrize("renamed", [True, False], ids=["renamed", "written over"])
@pytest.mark.parametrize("planned_before", [True, False], ids=["planned before", "planned after"])
@pytest.mark.sampled(3)
def test_a_file_rewritten_with_the_same_size_and_time(
    spark: SparkSession, tmp_path: Path, come_first: None, mode: str, renamed: bool, planned_before: bool
) -> None:
    """rsync -t and restores do that: what was remembered of the old file says nothing about the new one."""
    options, configured = OPTIONS[mode]
    folder = tmp_path / "fact"
    folder.mkdir()
    for i in range(4):
        write_in_place(folder / f"{i}.parquet", i * 10, renamed=False)
    write_in_place(tmp_path / "dim.parquet", 4, renamed=False)
    spark.read.parquet(str(folder)).createOrReplaceTempView("rewritten")
    spark.read.parquet(str(tmp_path / "dim.parquet")).createOrReplaceTempView("rewritten_few")
    query = "select d.k, f.v from (select k from rewritten_few where k = 5) d left join rewritten f on f.k = d.k"
    with settings(spark, **INTERPRETED, **configured), enabled(spark, **options) as gate:
        frame = spark.sql(query)
        if planned_before:
            planned(frame)
        else:
            assert rows_of(spark.sql(query)) == {(5, 5): 1}
        assert any(f.late or f.state == "applied" for f in gate.report().filters)
        write_in_place(folder / "0.parquet", 30, renamed=renamed)
        write_in_place(folder / "3.parquet", 0, renamed=renamed)
        assert rows_of(frame) == {(5, 5): 1}
        assert rows_of(spark.sql(query)) == {(5, 5): 1}
        assert gate.failures == []
