"""Settings by which Spark reads tables: changed between planning and execution, or those of a copied session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import headgate
from tests.batch.changing_tables import planned
from tests.batch.differential import INTERPRETED, enabled, rows_of, settings
from tests.batch.test_snapshots import LATE, NO_BROADCAST, WAITING

CASE = "spark.sql.caseSensitive"
MODES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "rows kept": (WAITING, {}),
    "rows not kept": (WAITING, NO_BROADCAST),
    "late": (LATE, NO_BROADCAST),
}


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fact table of four files, and keys in a file that calls its column K: whether it is k depends on a setting."""
    home = tmp_path_factory.mktemp("settings")
    spark.range(0, 400, 1, 4).selectExpr("id AS k", "id * 2 AS v").write.parquet(str(home / "fact"))
    spark.range(0, 20, 1, 1).selectExpr("id * 7 AS K", "string(id) AS name").write.parquet(str(home / "dim"))
    return home


def joined(spark: SparkSession, home: Path) -> DataFrame:
    dim = spark.read.schema("k bigint, name string").parquet(str(home / "dim")).where("name <> '3'")
    return spark.read.parquet(str(home / "fact")).join(dim, "k", "right")


@contextmanager
def without(spark: SparkSession, key: str) -> Iterator[None]:
    try:
        yield
    finally:
        spark.conf.unset(key)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", ["true first", "false first"])
def test_a_setting_that_changes_before_the_query_runs(
    spark: SparkSession, told: Path, come_first: None, mode: str, order: str
) -> None:
    """Spark asks for it when it reads, so what was learned before is of another table."""
    first, second = ("true", "false") if order == "true first" else ("false", "true")
    options, configured = MODES[mode]

    def found() -> Any:
        with without(spark, CASE):
            spark.conf.set(CASE, first)
            frame = joined(spark, told)
            planned(frame)
            spark.conf.set(CASE, second)
            return rows_of(frame)

    with settings(spark, **INTERPRETED, **configured):
        expected = found()
        with enabled(spark, strategy="always", **options) as gate:
            assert found() == expected
            (note,) = {report.note for report in gate.reports}
            assert gate.failures == []
    assert note == f"The query ran unfiltered: the setting {CASE} changed after the query was planned"


def test_a_setting_of_headgate_may_change(spark: SparkSession, told: Path) -> None:
    with enabled(spark, strategy="always", **WAITING) as gate:
        frame = joined(spark, told)
        planned(frame)
        gate.configure(max_distinct_values=17)
        assert len(frame.collect()) == 19
        assert [report.note for report in gate.reports] == [""]


def copied(spark: SparkSession, ask: Callable[[SparkSession], Any]) -> Any:
    """Ask in a copy of the session, such as Spark makes for streams and caches."""
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    copy = spark._jsparkSession.cloneSession()
    sessions.setActiveSession(copy)
    try:
        return ask(SparkSession(spark.sparkContext, copy))
    finally:
        sessions.setActiveSession(spark._jsparkSession)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("own", ["true", "false"])
def test_a_copied_session_reads_by_its_own_settings(
    spark: SparkSession, told: Path, come_first: None, mode: str, own: str
) -> None:
    options, configured = MODES[mode]

    def ask(copy: SparkSession) -> Any:
        copy.conf.set(CASE, "false" if own == "true" else "true")
        return rows_of(joined(copy, told))

    with settings(spark, spark_sql_caseSensitive=own, **INTERPRETED, **configured):
        expected = copied(spark, ask)
        with enabled(spark, strategy="always", **options) as gate:
            assert copied(spark, ask) == expected
            assert [f for report in gate.reports for f in report.filters]
            assert gate.failures == []


def test_a_copied_session_is_filtered_by_its_own_settings(spark: SparkSession, told: Path) -> None:
    def ask(copy: SparkSession) -> Any:
        copy.conf.set("spark.headgate.enabled", "false")
        return rows_of(joined(copy, told))

    with enabled(spark, strategy="always", **WAITING) as gate:
        copied(spark, ask)
        assert not gate.reports
        joined(spark, told).collect()
        assert len(gate.reports) == 1


def test_a_table_that_spark_lists_at_planning(spark: SparkSession) -> None:
    """With an old setting Spark lists bucketed tables early: whether others have changed cannot be asked by then."""

    def found() -> Any:
        spark.sql("DROP TABLE IF EXISTS in_buckets")
        spark.sql("DROP TABLE IF EXISTS keys_of_buckets")
        buckets = "CLUSTERED BY (k) SORTED BY (k) INTO 2 BUCKETS"
        spark.sql(f"CREATE TABLE in_buckets USING parquet {buckets} AS SELECT id AS k, id * 3 AS v FROM range(200)")
        spark.sql("CREATE TABLE keys_of_buckets USING parquet AS SELECT id * 5 AS key, id AS w FROM range(10)")
        frame = spark.sql("SELECT k, v, w FROM in_buckets JOIN keys_of_buckets ON k = key WHERE w <> 3")
        planned(frame)
        spark.sql("INSERT INTO keys_of_buckets VALUES (7, 70)")
        return rows_of(frame)

    with settings(spark, spark_sql_legacy_bucketedTableScan_outputOrdering="true"):
        expected = found()
        assert sum(expected.values()) == 10
        with enabled(spark, strategy="always", **WAITING):
            assert found() == expected
    headgate.disable(spark)
    spark.sql("DROP TABLE in_buckets")
    spark.sql("DROP TABLE keys_of_buckets")
