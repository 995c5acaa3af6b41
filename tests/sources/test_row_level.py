"""UPDATE, DELETE and MERGE of Iceberg tables, by both of its ways to change rows, with Headgate on and off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headgate
from headgate.query.pipeline import QueryPipeline
from tests.batch.differential import enabled
from tests.sources.merges import FILES, ICEBERG, Changed, Target, change, changes, files, same

pytestmark = pytest.mark.parametrize("mode", ICEBERG)
SOME = "SELECT id * 3 + 420 AS k, cast(id % 5 AS int) AS v FROM range(50)"
UPSERT = """MERGE INTO {target} t USING changes s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, s, p) VALUES (s.k, s.v, 'new', 9)"""


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {target} WHERE k IN (SELECT k FROM changes)",
        "DELETE FROM {target} t WHERE EXISTS (SELECT 1 FROM changes s WHERE s.k = t.k AND s.v = 1) AND t.v < 90",
        "UPDATE {target} SET v = -1 WHERE k IN (SELECT k FROM changes WHERE v > 1)",
    ],
)
@pytest.mark.sampled(3)
def test_subqueries_of_update_and_delete_say_which_files(spark: SparkSession, mode: str, statement: str) -> None:
    changes(spark, SOME)
    _, scans = same(spark, statement, Target(mode))
    assert files(scans) == [(1, FILES)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {target} WHERE k NOT IN (SELECT k FROM changes WHERE k IS NOT NULL)",
        "UPDATE {target} t SET v = -1 WHERE NOT EXISTS (SELECT 1 FROM changes s WHERE s.k = t.k) AND v = 5",
        "UPDATE {target} SET v = -1 WHERE k IN (SELECT k FROM changes) OR v = 5",
    ],
)
@pytest.mark.sampled(3)
def test_rows_outside_of_the_subquery_may_be_meant(spark: SparkSession, mode: str, statement: str) -> None:
    changes(spark, SOME)
    on, scans = same(spark, statement, Target(mode))
    assert not scans
    assert sum(count for row, count in on.rows.items() if row[1] == 5) == 0


def test_changes_need_no_predicate_to_be_worth_a_look(spark: SparkSession, mode: str) -> None:
    """By cost, a build side that keeps every key is left alone; changes are few beside what they change."""
    changes(spark, SOME)
    spark.table("changes").write.mode("overwrite").saveAsTable("written_changes")
    target = Target(mode).make(spark, "changed_on")
    with enabled(spark, strategy="cost") as gate:
        spark.sql(UPSERT.format(target=target).replace("changes", "written_changes"))
        reasons = [planned.reason for report in gate.reports for planned in report.filters]
    assert any("no predicate" not in reason for reason in reasons), reasons  # the table is too small, and that is all


def test_a_branch_is_changed_and_the_table_is_not(spark: SparkSession, mode: str) -> None:
    changes(spark, SOME)
    statements = "ALTER TABLE {target} CREATE BRANCH b; " + UPSERT.replace("{target}", "{target}.branch_b")
    _, scans = same(spark, statements, Target(mode), branch=".branch_b")
    assert files(scans) == [(1, FILES)]
    assert same(spark, statements, Target(mode))[0].rows[(420, 420 % 97, "s4", 0)] == 1


@pytest.mark.parametrize(
    ("partitions", "on"),
    [
        ("truncate(500, k)", "t.k = s.k"),
        ("bucket(4, k)", "t.k = s.k"),
        ("p", "t.k = s.k AND t.p = 1"),
        ("p", "t.k = s.k AND t.p = cast(s.k / 500 AS int)"),
    ],
)
@pytest.mark.sampled(3)
def test_partitions(spark: SparkSession, mode: str, partitions: str, on: str) -> None:
    changes(spark, SOME)
    same(spark, UPSERT.replace("t.k = s.k", on), Target(mode, partitions=partitions))


def test_keys_of_other_types_and_computed_keys(spark: SparkSession, mode: str) -> None:
    keys = [
        ("concat('s', id * 2)", "t.s = s.k AND t.k < 60"),
        ("cast(id * 5 AS string)", "t.k = s.k"),
        ("cast(id + 0.5 * (id % 2) AS decimal(9, 1))", "t.k = s.k"),
        ("cast(id * 11 AS smallint)", "t.k = s.k AND t.v = s.k"),
        ("IF(id = 0, NULL, id)", "t.k <=> s.k"),
        ("id", "t.k + 1 = s.k"),
    ]
    merges = [
        f"MERGE INTO {{target}} t USING (SELECT {key} AS k FROM range(9)) s ON {on} "
        f"WHEN MATCHED THEN UPDATE SET v = t.v + {1000 * 2**number}"
        for number, (key, on) in enumerate(keys)
    ]
    changed, _ = same(spark, ";".join(["INSERT INTO {target} VALUES (NULL, 1, 'null', 0)", *merges]), Target(mode))
    added = [row[1] // 1000 for row in changed.rows]
    assert all(any(amount & 2**number for amount in added) for number in range(len(keys)))
    assert changed.rows[(None, 16_001, "null", 0)] == 1


def test_rows_are_changed_twice(spark: SparkSession, mode: str) -> None:
    changes(spark, SOME)
    again = UPSERT.replace("t.k = s.k", "t.k = s.k + 3").replace("v = s.v ", "v = s.v + 50 ")
    _, scans = same(
        spark,
        f"{UPSERT};{again};DELETE FROM {{target}} WHERE k IN (SELECT k FROM changes WHERE v = 2)",
        Target(mode, vectors=True),
    )
    assert len(scans) >= 2


def test_two_rows_of_the_source_for_one_of_the_target_are_refused(spark: SparkSession, mode: str) -> None:
    changes(spark, "SELECT 500 + id % 3 AS k, cast(id AS int) AS v FROM range(6)")
    table = Target(mode).make(spark, "changed_on")
    with enabled(spark, strategy="always"), pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        spark.sql(UPSERT.format(target=table))


@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_what_others_write_meanwhile_is_a_conflict_as_before(
    spark: SparkSession, mode: str, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other row is far from the keys of the source, and is inserted when the MERGE is planned but has not run."""
    changes(spark, SOME)
    target = Target(mode, properties=f"'write.merge.isolation-level' = '{isolation}'")
    insert = "INSERT INTO ice.db.disturbed VALUES (1999999, 1, 'other', 0)"
    off, on = (
        _disturbed(spark, target, strategy, lambda: spark.sql(insert), monkeypatch) for strategy in ("never", "always")
    )
    assert on == off
    assert (off == "a conflict") == (isolation == "serializable"), str(off)


def test_a_source_of_files_may_have_changed_since_planning(
    spark: SparkSession, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows for another file of the target are written when the MERGE is planned but has not run."""
    path = str(tmp_path / "source")

    def source() -> None:
        spark.sql(SOME).write.mode("overwrite").parquet(path)
        spark.read.parquet(path).createOrReplaceTempView("changes")

    def grow() -> None:
        spark.range(1500, 1510).selectExpr("id AS k", "-7 AS v").write.mode("append").parquet(path)

    source()
    still, scans = same(spark, UPSERT, Target(mode))
    assert files(scans) == [(1, FILES)]
    off = _disturbed(spark, Target(mode), "never", grow, monkeypatch)
    source()
    on = _disturbed(spark, Target(mode), "always", grow, monkeypatch)
    assert on == off == still


def _disturbed(
    spark: SparkSession, target: Target, strategy: str, other: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> Changed | str:
    headgate.disable(spark)
    table = target.make(spark, "disturbed")
    others = [other]
    run = QueryPipeline.run

    def disturbed(self: QueryPipeline, *arguments: Any, **options: Any) -> Any:
        planned = run(self, *arguments, **options)
        if others:
            others.pop()()
        return planned

    with monkeypatch.context() as patched, enabled(spark, strategy=strategy):
        patched.setattr(QueryPipeline, "run", disturbed)
        try:
            return change(spark, table, UPSERT)
        except (Py4JJavaError, PySparkException) as error:
            return "a conflict" if "Found conflicting files" in str(error) else str(error)
        finally:
            assert not others


def test_a_column_with_a_default(spark: SparkSession, mode: str) -> None:
    """Iceberg gives the default where a file lacks the column, but its reader drops such row groups by a condition."""
    changes(spark, "SELECT cast(id AS int) + 4 AS q FROM range(3) WHERE id < 2")
    iceberg: Any = spark._jvm.org.apache.iceberg
    modes = ", ".join(f"'write.{operation}.mode' = '{mode}'" for operation in ("merge", "delete", "update"))

    def made(name: str) -> str:
        table = f"ice.db.{name}"
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(f"CREATE TABLE {table} (k bigint) USING iceberg TBLPROPERTIES ('format-version' = '3', {modes})")
        spark.range(0, 20, 1, 2).selectExpr("id AS k").writeTo(table).append()
        schema = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table).updateSchema()
        schema.addColumn("c", iceberg.types.Types.IntegerType.get(), iceberg.expressions.Expressions.lit(5)).commit()
        spark.sql(f"REFRESH TABLE {table}")
        spark.sql(f"INSERT INTO {table} VALUES (1000, 5), (1001, 7)")
        return table

    def left(table: str) -> tuple[Any, Any]:
        joined = spark.sql(f"SELECT k, c, q FROM {table} JOIN changes ON c <=> q")
        found = sorted(map(tuple, joined.collect()))
        spark.sql(f"MERGE INTO {table} t USING changes s ON t.c <=> s.q WHEN MATCHED THEN DELETE")
        return found, sorted(map(tuple, spark.table(table).collect()))

    expected = left(made("defaults_off"))
    with enabled(spark, strategy="always") as gate:
        found = left(made("defaults_on"))
        assert gate.failures == []
    assert found == expected
    assert found[1] == [(1001, 7)]
