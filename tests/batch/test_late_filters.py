"""Filters that arrive while the query runs: same rows whenever they come, and what they close stays unread."""

from __future__ import annotations

import datetime as dt
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headgate.observe import FilterReport, QueryReport
from headgate.query.late import LateFilters
from tests.batch.differential import assert_same, compare, enabled, rows_of, same_rows, settings

QUERY = "select fact.k, num from fact join (select * from dim where grp = 3) d on fact.k = d.id"


def late_filter(report: QueryReport, column: str) -> FilterReport:
    """Return the one late filter on a column."""
    found = [f for f in report.filters if f.late is not None and f.column == column]
    assert len(found) == 1, f"{len(found)} late filters on {column}\n{report}"
    return found[0]


@contextmanager
def held_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Park whoever takes in late builds until the event is set."""
    release, take_in = Event(), LateFilters._take_in

    def parked(self: LateFilters, *arguments: Any) -> None:
        assert release.wait(120.0)
        take_in(self, *arguments)

    monkeypatch.setattr(LateFilters, "_take_in", parked)
    try:
        yield release
    finally:
        release.set()


def test_a_filter_that_comes_before_the_first_file_closes_the_others(
    spark: SparkSession, star: Path, come_first: None
) -> None:
    """The gate is asked before each file: files whose row groups cannot match are not opened."""
    report = same_rows(spark, lambda: spark.sql(QUERY), max_wait="0s", non_blocking=True)

    told = late_filter(report, "k")
    assert told.state == "applied late"
    assert told.late is not None
    assert told.late.opened_before == 0
    assert told.late.row_groups > 0
    assert told.late.asked is not None
    assert told.late.received is not None
    assert told.late.applied is not None
    assert told.late.asked <= told.late.received <= told.late.applied
    assert told.applied_to == ["fact"]


def test_a_filter_that_never_comes(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The query does not wait: it ends with the same rows while the build is parked, and nothing was removed."""
    expected = rows_of(spark.sql(QUERY))
    with held_back(monkeypatch) as release, enabled(spark, max_wait="0s", non_blocking=True) as gate:
        assert_same(expected, rows_of(spark.sql(QUERY)))
        assert not release.is_set()
        told = late_filter(gate.report(), "k")
        assert told.state == "late"
        assert told.late is not None
        assert told.late.opened_before == 8
        assert gate.report().build_ms < 60_000


def test_a_filter_that_comes_between_two_tasks(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks are run one by one; the filter comes after the first, and closes the files of all others."""
    one_file_a_task = {
        "spark_sql_files_maxPartitionBytes": "1000000",
        "spark_sql_files_openCostInBytes": "1000000",
        "spark_sql_adaptive_enabled": "false",
    }
    query, context = QUERY.replace("grp = 3", "id < 100"), spark.sparkContext
    with settings(spark, **one_file_a_task):
        expected = rows_of(spark.sql(query))
        with held_back(monkeypatch) as release, enabled(spark, max_wait="0s", non_blocking=True) as gate:
            rdd = spark.sql(query).rdd
            first = context.runJob(rdd, list, [0])
            release.set()
            gate.queries[-1].late.join(60.0)
            others = context.runJob(rdd, list, range(1, rdd.getNumPartitions()))
            report = gate.report()
    assert_same(expected, rows_of_all([*first, *others]))
    told = late_filter(report, "k").late
    assert told is not None
    assert told.opened_before == 1
    assert told.row_groups > 0


def rows_of_all(rows: list[Any]) -> Any:
    from collections import Counter

    from tests.batch.differential import canonical

    return Counter(tuple(canonical(value) for value in row) for row in rows)


def test_rows_are_tested_before_a_shuffle(spark: SparkSession, star: Path, come_first: None) -> None:
    """Where the join shuffles, rows of surviving row groups that cannot match are dropped at the scan."""
    query = QUERY.replace("select * from dim", "select distinct * from dim")  # which is not tapped
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)
    told = late_filter(report, "k").late
    assert told is not None
    assert told.rows > 0


def test_partitions_are_closed_by_their_value(spark: SparkSession, tmp_path: Path, come_first: None) -> None:
    spark.range(60).selectExpr("id", "cast(id % 6 as int) part").write.partitionBy("part").parquet(str(tmp_path / "p"))
    spark.read.parquet(str(tmp_path / "p")).createOrReplaceTempView("late_parted")
    spark.createDataFrame([(2, "a"), (3, "b")], "id int, name string").write.parquet(str(tmp_path / "d"))
    spark.read.parquet(str(tmp_path / "d")).createOrReplaceTempView("late_few")
    query = "select parted.id from late_parted parted join (select * from late_few where name = 'a') f on parted.part = f.id"

    with settings(spark, spark_sql_optimizer_dynamicPartitionPruning_enabled="false"):
        report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)

    told = late_filter(report, "part").late
    assert told is not None
    assert told.files >= 5


VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "tinyint": (pa.int8(), lambda i: i),
    "smallint": (pa.int16(), lambda i: i * 10 - 500),
    "int": (pa.int32(), lambda i: i * 1000 - 50_000),
    "bigint": (pa.int64(), lambda i: i * 10**12 - 5 * 10**13),
    "date": (pa.date32(), lambda i: dt.date(1999, 1, 1) + dt.timedelta(days=37 * i)),
    "old date": (pa.date32(), lambda i: dt.date(1500, 1, 1) + dt.timedelta(days=37 * i)),
    "timestamp": (pa.timestamp("us", "UTC"), lambda i: dt.datetime(2001, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i)),
    "string": (pa.string(), lambda i: f"{i:03}"),
    "double": (pa.float64(), lambda i: i / 3),
    "decimal": (pa.decimal128(9, 2), lambda i: i),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("op", ["=", "<=>"])
def test_types_and_nulls(spark: SparkSession, tmp_path: Path, come_first: None, name: str, op: str) -> None:
    """Whatever the type, with NULL on both sides; types that no gate knows are left alone."""
    kind, value = VALUES[name]
    (tmp_path / "fact").mkdir()
    for number in range(4):
        held = [None, *(value(i) for i in range(number * 25, number * 25 + 25))]
        pq.write_table(
            pa.table({"k": pa.array(held, kind)}), tmp_path / "fact" / f"{number}.parquet", row_group_size=13
        )
    build = pa.table({"id": pa.array([None, value(30), value(31), value(99)], kind), "flag": [1, 1, 1, 0]})
    (tmp_path / "dim").mkdir()
    pq.write_table(build, tmp_path / "dim" / "0.parquet")
    for table in ("fact", "dim"):
        spark.read.parquet(str(tmp_path / table)).createOrReplaceTempView(f"late_{table}")
    query = f"select f.k from late_fact f join (select * from late_dim where flag = 1) d on f.k {op} d.id"

    report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)

    gated = [f for f in report.filters if f.late is not None]
    assert bool(gated) == (name not in ("string", "double", "decimal"))
    if name == "string":
        assert any(f.reason.startswith("the query did not wait") for f in report.filters)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_comparisons(spark: SparkSession, star: Path, come_first: None, op: str) -> None:
    query = f"select k from fact join (select max(id) m from dim where grp = 3) d on fact.k {op} d.m"
    same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)


def test_an_empty_build_closes_everything(spark: SparkSession, star: Path, come_first: None) -> None:
    query = QUERY.replace("grp = 3", "grp = 3000")
    report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True, may_be_empty=True)
    assert late_filter(report, "k").kind == "none"


def test_a_build_that_fails_is_given_up(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever: the filter lets everything through, and the rows are the same."""

    def broken(*_: Any) -> None:
        raise RuntimeError("a stone in the gate")

    expected = rows_of(spark.sql(QUERY))
    monkeypatch.setattr(LateFilters, "_take_in", broken)
    with enabled(spark, max_wait="0s", non_blocking=True) as gate:
        assert_same(expected, rows_of(spark.sql(QUERY)))
        gate.queries[-1].late.join(60.0)
        assert_same(expected, rows_of(spark.sql(QUERY)))


def test_cascades_go_on_beside_the_query(spark: SparkSession, star: Path, come_first: None) -> None:
    """region -> nation -> supplier -> lineitem: each wave is published when it is done, and narrows the next."""
    query = """select l_line from lineitem join supplier on l_supplier = s_id join nation on s_nation = n_id
               join region on n_region = r_id where r_name = 'r3'"""
    report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)
    assert late_filter(report, "l_supplier").values == 20


def test_no_wait_beyond_the_limit(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With builds parked for ever a query with many joins still starts: its report says that it waited for none."""
    query = """select l_line from lineitem join supplier on l_supplier = s_id join nation on s_nation = n_id
               join region on n_region = r_id where r_name = 'r3'"""
    expected = rows_of(spark.sql(query))
    with held_back(monkeypatch), enabled(spark, max_wait="0s", non_blocking=True) as gate:
        assert_same(expected, rows_of(spark.sql(query)))
        assert {f.state for f in gate.report().filters} <= {"late", "dropped"}


def test_non_blocking_off_waits(spark: SparkSession, star: Path) -> None:
    """spark.headgate.nonBlocking=false: the query waits for its filters whatever maxWait says."""
    report = same_rows(spark, lambda: spark.sql(QUERY), max_wait="0s", non_blocking=False)
    assert [f.state for f in report.filters if f.column == "k"] == ["applied"]


def test_what_is_held_for_a_query_is_freed_when_it_ends(spark: SparkSession, star: Path, come_first: None) -> None:
    with enabled(spark, max_wait="0s", non_blocking=True) as gate:
        spark.sql(QUERY).collect()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        spark.sql(QUERY)._jdf.queryExecution().optimizedPlan()
        assert gate._coordinator is not None
        running = [story for story in gate._coordinator.registry.stories() if story.state == "RUNNING"]
        assert len(running) == 1, "the query that is planned now, and not the one that has ended"


def test_queries_run_again_with_what_has_arrived(spark: SparkSession, star: Path, come_first: None) -> None:
    """A DataFrame that is collected twice keeps its plan, and the gates in it."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark, max_wait="0s", non_blocking=True):
        frame = spark.sql(QUERY)
        assert_same(expected, rows_of(frame))
        assert_same(expected, rows_of(frame))


def test_the_coordinator_may_go_away(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows_of(spark.sql(QUERY))
    with held_back(monkeypatch) as release, enabled(spark, max_wait="0s", non_blocking=True) as gate:
        frame = spark.sql(QUERY)
        frame._jdf.queryExecution().optimizedPlan()
        assert gate._coordinator is not None
        gate._coordinator.close()
        release.set()
        assert_same(expected, rows_of(frame))


def test_a_large_file_is_read_in_ranges(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A split of more than one range: each row group is read once, whether the filter comes or not."""
    rows = 7_000_000
    (tmp_path / "wide").mkdir()
    noise = np.random.default_rng(7).random(rows)
    table = pa.table({"k": np.arange(rows), "v": noise, "w": noise[::-1]})
    pq.write_table(table, tmp_path / "wide" / "0.parquet", row_group_size=200_000, compression="none")
    spark.read.parquet(str(tmp_path / "wide")).createOrReplaceTempView("late_wide")
    pq.write_table(pa.table({"id": [5, rows // 2, rows - 1], "flag": [1, 1, 1]}), tmp_path / "three.parquet")
    spark.read.parquet(str(tmp_path / "three.parquet")).createOrReplaceTempView("late_three")
    query = (
        "select wide.k, wide.v from late_wide wide join (select * from late_three where flag = 1) t on wide.k = t.id"
    )
    whole_file = {"spark_sql_files_maxPartitionBytes": str(1 << 30)}
    with settings(spark, **whole_file):
        with held_back(monkeypatch) as release:
            compared = compare(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)
            assert not release.is_set()
        assert len(compared.rows) == 3


def test_a_large_file_is_closed_in_parts(spark: SparkSession, tmp_path: Path, come_first: None) -> None:
    """Runs of row groups that survive are read, and only those."""
    rows = 400_000
    (tmp_path / "parts").mkdir()
    table = pa.table({"k": np.arange(rows), "v": np.arange(rows) % 7})
    pq.write_table(table, tmp_path / "parts" / "0.parquet", row_group_size=10_000)
    spark.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("late_parts")
    pq.write_table(pa.table({"id": [5, 150_000, 159_999, 399_999], "flag": [1] * 4}), tmp_path / "four.parquet")
    spark.read.parquet(str(tmp_path / "four.parquet")).createOrReplaceTempView("late_four")
    query = "select parts.k, v from late_parts parts join (select * from late_four where flag = 1) f on parts.k = f.id"

    report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)

    told = late_filter(report, "k").late
    assert told is not None
    assert told.row_groups == 37


def test_disable_stops_the_coordinator(spark: SparkSession, star: Path, come_first: None) -> None:
    with enabled(spark, max_wait="0s", non_blocking=True) as gate:
        spark.sql(QUERY).collect()
        coordinator = gate._coordinator
        assert coordinator is not None
        assert coordinator.is_running
    assert not coordinator.is_running


@pytest.mark.parametrize("key", ["id", "big"])
def test_keys_of_another_width(spark: SparkSession, star: Path, come_first: None, key: str) -> None:
    """A filter is brought to the type of the column that it goes to, int or bigint (C42)."""
    query = QUERY.replace("d.id", f"d.{key}")
    report = same_rows(spark, lambda: spark.sql(query), max_wait="0s", non_blocking=True)
    told = late_filter(report, "k").late
    assert told is not None
    assert told.row_groups > 0


@pytest.mark.parametrize("wait", ["0s", "1h"])
def test_the_order_of_joins_is_not_changed(spark: SparkSession, star: Path, come_first: None, wait: str) -> None:
    """Whether filters wait or come late, Spark joins the same tables in the same order (G111).

    Joins whose rows are known when the query is planned are no longer in the plan; they are the innermost.
    """
    query = """select l_line from region join nation on n_region = r_id join supplier on s_nation = n_id
               join lineitem on l_supplier = s_id where r_name = 'r2'"""

    def tables_in_order() -> list[tuple[str, str]]:
        plan = spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()
        return re.findall(r"\b([lnrs]_(?:supplier|region|id|nation))#\d+ = ([lnrs]_\w+)#", plan)

    with settings(spark, spark_sql_cbo_enabled="true", spark_sql_cbo_joinReorder_enabled="true"):
        plain = tables_in_order()
        with enabled(spark, max_wait=wait, non_blocking=True) as gate:
            found = tables_in_order()
            assert gate.report().filters
    assert len(plain) == 3
    assert found == (plain if wait == "0s" else plain[:1])


def test_builds_are_submitted_before_the_query(spark: SparkSession, star: Path) -> None:
    """Spark serves jobs in their order: a build behind the scan that it should narrow would come too late."""
    store = spark.sparkContext._jsc.sc().statusStore()
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"), enabled(spark, max_wait="0s", non_blocking=True):
        query = spark.sql(QUERY.replace("select * from dim", "select distinct * from dim"))  # which is not tapped
        before = {job.jobId() for job in listed(store.jobsList(None))}
        query.collect()
        jobs = [job for job in listed(store.jobsList(None)) if job.jobId() not in before]
    first = min(jobs, key=lambda job: job.jobId())
    assert len(jobs) > 1
    assert first.description().get().startswith("headgate: build side of df_0 (")


def listed(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [sequence.apply(i) for i in range(sequence.size())]


def test_a_plan_that_never_runs_is_forgotten(spark: SparkSession, star: Path, come_first: None) -> None:
    """The filters of a plan that was made and thrown away are held no longer than the plan is."""
    with enabled(spark, max_wait="0s", non_blocking=True) as gate:
        frame = spark.sql(QUERY)
        frame._jdf.queryExecution().executedPlan()
        registry = gate._started_coordinator().registry
        (query,) = [story.query for story in registry.stories() if story.state == "RUNNING"]
        gate._end_queries()
        assert registry.find(query) is not None
        del frame
        for _ in range(50):
            spark.range(1).collect()  # Spark holds what it planned last until it plans something else
            gc.collect()
            spark._jvm.System.gc()
            gate._end_queries()
            if registry.find(query) is None:
                break
        assert registry.find(query) is None
