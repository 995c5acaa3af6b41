"""A person publishes values to a DataFrame's column: planned queries and running ones read only what may hold them."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate import Publisher
from headgate.catalyst import CatalystQuery
from headgate.domain import Domain
from headgate.query.late import LateFilters
from tests.batch.differential import assert_same, enabled, files_opened, rows_of, settings

LATE = {"max_wait": "0s", "non_blocking": True}


@pytest.fixture
def fact(spark: SparkSession, star: Path) -> DataFrame:
    """800 rows in 8 files, sorted by k."""
    return spark.table("fact")


@pytest.fixture(params=["enabled", "not enabled"])
def _session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Publishing works whether or not the session's own queries are filtered."""
    if request.param == "enabled":
        with enabled(spark, **LATE):
            yield
    else:
        with settings(spark, spark_headgate_maxWait="0s", spark_headgate_nonBlocking="true"):
            yield


def wanted(frame: DataFrame, *keys: int) -> DataFrame:
    """Return the rows that the publisher promised to want, whatever else is read."""
    return frame.where(sf.col("k").isin(*keys))


@pytest.mark.usefixtures("_session")
def test_what_is_published_before_a_query_narrows_its_plan(fact: DataFrame) -> None:
    """Files that cannot hold the values are not opened, and the rows that matter are all there."""
    users = headgate.publish(fact, "k")
    users.complete([5, 105, 106])
    expected = rows_of(wanted(fact, 5, 105, 106))
    frame = users.frame.select("k", "num")

    assert_same(rows_of(wanted(fact, 5, 105, 106).select("k", "num")), rows_of(frame))
    assert sum(files_opened(frame)) == 2
    assert_same(expected, rows_of(wanted(users.frame, 5, 105, 106)))


def test_the_report_names_the_publication(spark: SparkSession, fact: DataFrame) -> None:
    """The filter stands in the report like any other."""
    with enabled(spark, **LATE) as gate:
        users = headgate.publish(fact, "k")
        users.complete(low=700)
        users.frame.collect()
        (told,) = gate.report().filters
    assert (told.id, told.state, told.column, told.applied_to) == ("pub_0", "applied", "k", ["fact"])
    assert told.join.startswith("published: k-")


@pytest.mark.usefixtures("_session")
def test_nothing_published_is_nothing_filtered(fact: DataFrame) -> None:
    """A frame that nobody has published to has all rows; so has one whose publisher is gone."""
    users = headgate.publish(fact, "k")
    assert_same(rows_of(fact), rows_of(users.frame))
    users.complete()
    assert_same(rows_of(fact), rows_of(users.frame))
    frame = headgate.publish(fact, "k").frame
    gc.collect()
    assert_same(rows_of(fact), rows_of(frame))


@pytest.mark.usefixtures("_session")
def test_several_publishers_are_anded(fact: DataFrame) -> None:
    """Each leaves half of the files, and both together a quarter."""
    low, high = headgate.publish(fact, "k"), None
    high = headgate.publish(low.frame, "k")
    low.narrow(low=200, high=599)
    high.narrow(low=400)
    frame = high.frame.select("k")

    assert_same(rows_of(fact.where("k between 400 and 599").select("k")), rows_of(frame))
    assert sum(files_opened(frame)) == 2


@pytest.mark.usefixtures("_session")
def test_each_query_sees_what_is_published_by_then(fact: DataFrame) -> None:
    """Publishing again narrows further, and a published value that was left out before does not come back."""
    users, seen = headgate.publish(fact, "k"), []
    for values in ([5, 105, 205, 305], [105, 205, 999], [205]):
        users.narrow(values)
        seen.append(sorted(row.k for row in users.frame.select("k").collect()))
    assert seen == [[5, 105, 205, 305], [105, 205], [205]]


def test_values_arrive_while_the_query_runs(
    spark: SparkSession, fact: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan is gated: what is published after planning closes the files that have not been opened."""
    with enabled(spark, **LATE) as gate:
        users = headgate.publish(fact, "k")
        planned = LateFilters.start
        arrived = Event()

        def start(late: LateFilters, *arguments: object) -> None:
            planned(late, *arguments)  # type: ignore[arg-type]
            users.narrow([5, 105])
            arrived.set()

        monkeypatch.setattr(LateFilters, "start", start)
        found = users.frame.select("k").collect()
        assert arrived.is_set()
        assert sorted(row.k for row in found) == [5, 105]
        (told,) = gate.report().filters
        assert told.state == "applied late"
        assert told.late is not None
        assert told.late.files == 6


def test_values_narrow_again_while_the_query_runs(spark: SparkSession, fact: DataFrame, tmp_path: Path) -> None:
    """Each task looks for newer values before each file: two versions in one run, the second narrower."""
    with enabled(spark, **LATE):
        users = headgate.publish(fact, "k")
        frame = users.frame.select("k")
        rows = frame._jdf.queryExecution()
        rows.executedPlan()
        users.narrow(low=300)
        first = sorted(row.k for row in frame.collect())
        users.narrow(low=600)
        second = sorted(row.k for row in frame.collect())
    assert first == list(range(300, 800))
    assert second == list(range(600, 800))


@pytest.mark.usefixtures("_session")
def test_a_join_above_gives_the_same_rows(spark: SparkSession, fact: DataFrame) -> None:
    """The use of it: values that a later join keeps, known from elsewhere."""
    dim = spark.table("dim").where("grp = 3")
    keys = [row.id for row in dim.select("id").collect()]
    users = headgate.publish(fact, "k")
    users.narrow(keys)

    assert_same(rows_of(fact.join(dim, fact.k == dim.id)), rows_of(users.frame.join(dim, users.frame.k == dim.id)))


@pytest.mark.usefixtures("_session")
@pytest.mark.parametrize(
    "shape",
    [
        lambda df: df.groupBy("k").agg(sf.sum("num").alias("n")),
        lambda df: df.select(sf.col("k").alias("renamed"), "num").withColumnRenamed("renamed", "k"),
        lambda df: df.where("num > 0").orderBy("k"),
        lambda df: df.union(df),
        lambda df: df.limit(50),
        lambda df: df.withColumn("k", sf.col("k") + 0),
        lambda df: df.select(sf.col("k").cast("bigint").alias("k"), "num"),
    ],
)
def test_publishing_to_any_frame_keeps_the_rows_that_matter(fact: DataFrame, shape: object) -> None:
    """Whatever stands between the column and the scan: the published rows are those of the frame without a publisher."""
    frame = shape(fact)  # type: ignore[operator]
    users = headgate.publish(frame, "k")
    users.narrow([5, 105, 205])
    expected = rows_of(wanted(frame, 5, 105, 205)) if "limit" not in str(frame._jdf.queryExecution()) else None
    found = rows_of(wanted(users.frame, 5, 105, 205))
    if expected is not None:
        assert_same(expected, found)


@pytest.mark.usefixtures("_session")
def test_null_and_other_types(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    """NULL is a value that can be published; strings and dates are used at planning."""
    spark.sql(
        "select case when id < 50 then null else cast(id as string) end as name, id as k, "
        "date_add(date'2024-01-01', cast(id as int)) as day from range(0, 100, 1, 4)"
    ).write.parquet(str(tmp_path / "t"))
    table = spark.read.parquet(str(tmp_path / "t"))
    names = headgate.publish(table, "name")
    names.narrow([None, "70"])
    assert {row.k for row in names.frame.collect()} >= {*range(50), 70}
    days = headgate.publish(table, "day")
    days.narrow(low=None, high=dt.date(2024, 1, 21))
    assert {row.k for row in days.frame.collect()} >= set(range(21))


def test_one_sentence_for_what_cannot_be_published(spark: SparkSession, fact: DataFrame) -> None:
    """What happened, with which value, and what is allowed."""
    with pytest.raises(headgate.InvalidFilter, match=r"has no column 'nothing'; its columns are .*k"):
        headgate.publish(fact, "nothing")
    twice = fact.select("k", sf.col("num").alias("k"))
    with pytest.raises(headgate.InvalidFilter, match="has 2 columns 'k'"):
        headgate.publish(twice, "k")
    users = headgate.publish(fact, "k")
    for wrong in ({}, {"values": [1], "low": 1}):
        with pytest.raises(headgate.InvalidFilter, match="give either values, or a range"):
            users.narrow(**wrong)  # type: ignore[arg-type]
    with pytest.raises(headgate.InvalidFilter, match="column 'k' is int, but the domain is string"):
        users.narrow(Domain.of("string", ["a"]))
    with pytest.raises(headgate.InvalidFilter):
        headgate.publish(fact.select(sf.array("k").alias("k")), "k")


def test_queries_let_go_of_their_publisher(spark: SparkSession, fact: DataFrame) -> None:
    """A publisher that serves many queries does not collect what listens to it."""
    with enabled(spark, **LATE):
        users: Publisher = headgate.publish(fact, "k")
        users.narrow(low=100)
        for _ in range(3):
            users.frame.collect()
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        spark.sql("select 1 from dim join region on id = r_id").collect()  # which ends what has ended
        assert len(users._filter._shared.mailboxes) <= 1


def test_nothing_is_used_where_headgate_only_reports(spark: SparkSession, fact: DataFrame) -> None:
    """strategy=never leaves every row where it is."""
    everything = fact.count()
    with enabled(spark, strategy="never") as gate:
        users = headgate.publish(fact, "k")
        users.complete([5])
        assert users.frame.count() == everything
        assert [f.reason for f in gate.report().filters] == ["reported but not applied: spark.headgate.strategy=never"]


def test_a_plan_that_fails_lets_go_of_its_publisher(
    spark: SparkSession, fact: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query runs unfiltered, and neither the publisher nor the coordinator remembers it."""
    with enabled(spark, **LATE) as gate:
        users = headgate.publish(fact, "k")
        monkeypatch.setattr(CatalystQuery, "write", lambda *_: 1 / 0)
        assert users.frame.count() == fact.count()
        assert users._filter._shared.mailboxes == []
        assert gate._coordinator is not None
        assert [story.state for story in gate._coordinator.registry.stories()] == ["FINISHED"]


def test_explaining_lets_go_of_the_publisher(spark: SparkSession, fact: DataFrame) -> None:
    """A plan that is only shown follows nobody."""
    with enabled(spark, **LATE):
        users = headgate.publish(fact, "k")
        users.narrow(low=100)
        headgate.explain(users.frame)
        assert users._filter._shared.mailboxes == []


@pytest.mark.usefixtures("_session")
@pytest.mark.parametrize("kind", ["left_anti", "left", "right", "full", "left_semi", "inner"])
@pytest.mark.parametrize("late", [False, True])
def test_no_row_is_invented(spark: SparkSession, tmp_path: Path, kind: str, late: bool) -> None:
    """What is left out of the published side leaves the other side whole: each row of the answer is one of plain Spark."""
    spark.range(0, 40, 1, 1).selectExpr("concat('s', id) s", "id").write.parquet(str(tmp_path / "a"))
    spark.range(0, 40, 1, 8).selectExpr("concat('s', id) t", "id * 10 v").write.parquet(str(tmp_path / "b"))
    a, b = (spark.read.parquet(str(tmp_path / name)) for name in "ab")
    joined = a.join(b, sf.expr("s = t"), kind)
    expected = rows_of(joined)
    names = headgate.publish(joined, "s" if kind != "right" else "t")
    frame = names.frame
    if not late:
        names.narrow(["s3", "s17"])
    found = rows_of(frame)
    names.narrow(["s3", "s17"])

    assert not found - expected, "rows that plain Spark does not have"
    wanted_rows = {row: count for row, count in expected.items() if {"s3", "s17"} & set(map(str, row))}
    assert all(found[row] == count for row, count in wanted_rows.items())


@pytest.mark.usefixtures("_session")
def test_a_published_frame_in_a_query_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """A join above the frame: rows whose key was published are those of plain Spark, in an anti join as well."""
    spark.range(0, 40, 1, 8).selectExpr("cast(id as int) k").write.parquet(str(tmp_path / "a"))
    spark.range(0, 40, 2, 8).selectExpr("cast(id as int) k2").write.parquet(str(tmp_path / "b"))
    a, b = (spark.read.parquet(str(tmp_path / name)) for name in "ab")
    keys = headgate.publish(a, "k")
    keys.narrow([3, 4, 39])
    for kind in ("left_anti", "left", "inner"):
        plain = rows_of(a.join(b, sf.expr("k = k2"), kind).where("k in (3, 4, 39)"))
        assert_same(plain, rows_of(keys.frame.join(b, sf.expr("k = k2"), kind).where("k in (3, 4, 39)")))


def test_values_at_the_end_of_the_calendar(spark: SparkSession, tmp_path: Path) -> None:
    """A mark costs nothing and reads nothing: dates that Java has no class for do not matter, whatever the session does."""
    spark.sql("select date_from_unix_date(-2147483648) d, 1 i").write.parquet(str(tmp_path / "x"))
    table = spark.read.parquet(str(tmp_path / "x"))
    for frame in (table, table.limit(5)):
        assert headgate.publish(frame, "d").frame.select("i").collect() == [(1,)]
    headgate.disable(spark)
    assert headgate.publish(table, "d").frame.select("i").collect() == [(1,)]


def test_one_text_is_not_a_list_of_letters(spark: SparkSession, fact: DataFrame) -> None:
    names = headgate.publish(fact, "s")
    with pytest.raises(headgate.InvalidFilter, match=r"is one value; give a list of values, such as \['k0005'\]"):
        names.narrow("k0005")


def test_publishing_before_the_session_is_enabled(spark: SparkSession, fact: DataFrame) -> None:
    """Enabling afterwards filters the frame once, and the report says so."""
    users = headgate.publish(fact, "k")
    users.complete([5])
    assert users.frame.count() == 1
    with enabled(spark) as gate:
        assert users.frame.count() == 1
        assert [f.state for f in gate.report().filters] == ["applied"]


def test_a_publisher_that_starts_over(fact: DataFrame) -> None:
    """Queries planned afterwards know nothing of what was published before; those planned before keep it."""
    users = headgate.publish(fact, "k")
    users.complete([5])
    planned = users.frame.select("k")
    planned._jdf.queryExecution().executedPlan()
    users.start_over()
    assert users.frame.count() == fact.count()
    users.complete([105, 106])
    assert sorted(row.k for row in users.frame.select("k").collect()) == [105, 106]
    assert [row.k for row in planned.collect()] == [5]


def test_files_are_left_out_and_rows_are_not_tested(fact: DataFrame) -> None:
    """With rows=False the query tests the rows; the reader still gets what it can use, and the report says what is read."""
    users = headgate.publish(fact, "k", rows=False)
    users.complete([5, 105, 106])
    found = [row.k for row in users.frame.select("k").collect()]
    assert {5, 105, 106} <= set(found)
    assert 3 < len(found) <= 50
    assert "isin" not in users.frame._jdf.queryExecution().optimizedPlan().toString()
    report = users.report()
    assert report is not None
    assert [(scan.files_read, scan.row_groups_read) for scan in report.scans] == [(2, 2)]
    assert_same(rows_of(wanted(fact, 5, 105, 106)), rows_of(wanted(users.frame, 5, 105, 106)))


def test_a_publisher_without_queries_has_no_report(fact: DataFrame) -> None:
    users = headgate.publish(fact, "k")
    assert users.report() is None
    fact.count()
    assert users.report() is None
