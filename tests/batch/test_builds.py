"""Build sides: how they are collected, which may not be, and what happens when one fails."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType

import headgate
from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_reason,
    assert_unfiltered,
    assert_whole,
    compare,
    enabled,
    files_opened,
    filter_on,
    outcome,
    reasons,
    same_rows,
    scan_of,
    settings,
)

FEW = "(select * from dim where grp = 3)"
ONCE = "it ran once"


# --- sizes ----------------------------------------------------------------------------------------------------------


def test_a_selective_build_side(check: Check) -> None:
    """Few keys: a set, and few files."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id")
    told = filter_on(report, "k")
    assert (told.kind, told.values) == ("set", 5)
    assert assert_narrowed(report, "fact").files_read == 5


def test_one_key(check: Check) -> None:
    """One key is a single value, and one row group."""
    report = check("select * from fact join (select * from dim where id = 21) d on fact.k = d.id")
    assert filter_on(report, "k").values == 1
    scan = assert_narrowed(report, "fact")
    assert (scan.files_read, scan.row_groups_read) == (1, 1)


def test_a_build_side_that_is_not_selective(check: Check) -> None:
    """Keys in every row group: the filter would remove nothing, is not applied, and says so."""
    report = check("select * from fact join dim d on fact.k = d.id")
    assert_unfiltered(report, "the filter would skip nothing: 8 of 8 files may match")


def test_a_large_build_side(spark: SparkSession, star: Path) -> None:
    """More keys than a set may hold: a bitmap of whole numbers, which still tells row groups apart."""
    query = (
        "select fact.k from fact join (select distinct cast(id % 250 as int) id from range(20000)) d on fact.k = d.id"
    )
    report = same_rows(spark, lambda: spark.sql(query), max_distinct_values=100)
    assert filter_on(report, "k").kind == "bitmap"
    assert assert_narrowed(report, "fact").files_read == 3


def test_a_large_build_side_of_other_numbers(spark: SparkSession, star: Path) -> None:
    """Keys that no 32-bit bitmap holds become a range from the smallest to the largest."""
    query = "select fact.k from fact join (select wide from fact where k between 210 and 290) d on fact.wide = d.wide"
    report = same_rows(spark, lambda: spark.sql(query), max_distinct_values=10, max_filter_bytes="64b")
    assert filter_on(report, "wide").kind == "ranges"
    assert [scan.files_read for scan in report.scans if scan.filters] == [1]


def test_too_many_bytes_of_strings(spark: SparkSession, star: Path) -> None:
    """Strings over maxFilterBytes become a range, which still cuts off files."""
    query = "select f.k from fact f join (select s from fact where k between 210 and 290) d on f.s = d.s"
    report = same_rows(spark, lambda: spark.sql(query), max_filter_bytes="256b")
    assert filter_on(report, "s").kind == "ranges"
    assert [scan.files_read for scan in report.scans if scan.filters] == [1]


def test_the_limit_of_distinct_values_is_inclusive(check: Check) -> None:
    """Exactly maxDistinctValues keys are still a set; repeats do not count."""
    query = (
        "select fact.k from fact join (select id from dim where grp = 3 union all select id from dim "
        "where grp = 3) d on fact.k = d.id"
    )
    assert filter_on(check(query, max_distinct_values=5), "k").kind == "set"
    assert filter_on(check(query, max_distinct_values=4), "k").kind == "bitmap"


def test_a_small_build_side_runs_once(spark: SparkSession, star: Path) -> None:
    """The collected rows take the place of the build side: its files are not opened again."""
    ran = compare(spark, lambda: spark.sql(f"select * from fact join {FEW} d on fact.k = d.id"))
    assert ONCE in scan_of(ran.report, "dim").reason
    assert files_opened(ran.frame) == [5]


@pytest.mark.parametrize("threshold", ["-1", "16"])
def test_a_build_side_over_the_broadcast_limit_gives_keys_only(spark: SparkSession, star: Path, threshold: str) -> None:
    """Rows that do not fit the broadcast limit stay in their files: the build side runs a second time in the query."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
        ran = compare(spark, lambda: spark.sql(f"select * from fact join {FEW} d on fact.k = d.id"))
    assert assert_narrowed(ran.report, "fact", "k").files_read == 5
    assert ONCE not in scan_of(ran.report, "dim").reason
    assert sorted(files_opened(ran.frame)) == [1, 5]


def test_a_shuffled_join_tests_each_row(spark: SparkSession, star: Path) -> None:
    """Keys only, so both sides are shuffled: rows of the probe side without a match do not leave the scan's filter."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        ran = compare(spark, lambda: spark.sql(f"select fact.k from fact join {FEW} d on fact.k = d.id"))
        plan = ran.frame._jdf.queryExecution().optimizedPlan().toString()
    assert "665" in plan


def test_bitmaps_test_each_row(spark: SparkSession, star: Path) -> None:
    """More values than an IN list should hold are a bit test in generated code, and in interpreted code."""
    query = "select fact.k, num from fact join (select cast(id * 2 as int) id from range(1, 260)) d on fact.k = d.id"
    for codegen in ("true", "false"):
        with settings(
            spark,
            spark_sql_autoBroadcastJoinThreshold="-1",
            spark_sql_codegen_wholeStage=codegen,
            spark_sql_codegen_factoryMode="FALLBACK" if codegen == "true" else "NO_CODEGEN",
        ):
            ran = compare(spark, lambda: spark.sql(query), max_distinct_values=100)
            assert "headgate_bits" in ran.frame._jdf.queryExecution().optimizedPlan().toString()
            assert filter_on(ran.report, "k").kind == "bitmap"


@pytest.mark.parametrize("kind", ["smallint", "int", "bigint"])
def test_bitmaps_of_negative_and_null_keys(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """A bit test lets no negative number in, and NULL only under `<=>`."""
    numbers = (
        spark.range(-200, 200).selectExpr(f"cast(if(id % 50 = 7, null, id) as {kind}) x").repartitionByRange(4, "x")
    )
    numbers.write.parquet(str(tmp_path / "p"))
    for op in ("=", "<=>"):
        query = (
            f"select x, y from (select x, count(*) c from {{p}} group by x) "
            f"join (select cast(if(id = 5, null, id) as {kind}) y from range(100)) on x {op} y"
        )
        report = same_rows(
            spark, lambda q=query: spark.sql(q, p=spark.read.parquet(str(tmp_path / "p"))), max_distinct_values=10
        )
        assert filter_on(report, "x").kind == "bitmap"


# --- kinds of build side --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        f"select id from {FEW} union all select s_id from supplier where s_id < 5",
        "select distinct id from dim where grp = 3",
        "select id, count(*) c from dim where grp = 3 group by id",
        "select max(id) id from dim group by grp having grp = 3",
        "select id from dim where grp = 3 and id in (select l_line from lineitem where l_qty != 1)",
        "select id from (select id, row_number() over (order by id) r from dim) where r < 4",
        "select cast(id as int) id from range(5, 20)",
        "select explode(array(21, 182)) id",
        "select id from dim where grp = 3 order by name",
        "select d.id from dim d left join region r on d.grp = r.r_id where r.r_id = 3",
    ],
    ids=["union", "distinct", "group", "having", "semi", "window", "range", "generate", "sort", "outer"],
)
def test_build_sides_of_every_shape(check: Check, build: str) -> None:
    """Whatever a build side is made of, its keys filter the probe side."""
    report = check(f"select fact.k, num from fact join ({build}) d on fact.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_a_build_side_bucketed_by_its_key(spark: SparkSession, star: Path) -> None:
    """A build side that needs no shuffle to be joined is collected like any other."""
    spark.table("dim").write.bucketBy(4, "id").sortBy("id").saveAsTable("dim_buckets")
    try:
        for threshold in ("10MB", "-1"):
            with settings(spark, spark_sql_autoBroadcastJoinThreshold=threshold):
                report = same_rows(
                    spark, lambda: spark.sql("select * from fact join dim_buckets d on k = id where grp = 3")
                )
            assert_narrowed(report, "fact", "k")
    finally:
        spark.sql("drop table dim_buckets")


@pytest.mark.parametrize("format", ["csv", "json", "orc", "text"])
def test_build_sides_in_other_file_formats(spark: SparkSession, star: Path, tmp_path: Path, format: str) -> None:
    """Files of any format are read the same twice, so they may be a build side."""
    few = spark.sql(f"select id from {FEW}")
    if format == "text":
        few = few.selectExpr("cast(id as string) value")
    few.write.format(format).save(str(tmp_path / "d"))
    source = spark.read.format(format).load(str(tmp_path / "d"))
    build = source.selectExpr(f"cast({source.columns[0]} as int) id")
    report = same_rows(spark, lambda: spark.sql("select fact.k from fact join {d} d on fact.k = d.id", d=build))
    assert_narrowed(report, "fact", "k")


@pytest.mark.parametrize("format", ["csv", "json"])
def test_probe_sides_in_other_file_formats(spark: SparkSession, star: Path, tmp_path: Path, format: str) -> None:
    """Where files have no statistics, nothing is skipped, and the reason names their format."""
    spark.table("fact").select("k", "s").write.format(format).save(str(tmp_path / "p"))
    probe = spark.read.schema("k int, s string").format(format).load(str(tmp_path / "p"))
    report = same_rows(spark, lambda: spark.sql(f"select p.* from {{p}} p join {FEW} d on p.k = d.id", p=probe))
    assert f"{format.upper()} files have no statistics to skip anything by" in " ".join(reasons(report))


def test_a_cached_build_side(spark: SparkSession, star: Path) -> None:
    """Cached rows are the same when read again."""
    few = spark.sql(f"select * from {FEW}").cache()
    try:
        report = same_rows(spark, lambda: spark.sql("select fact.k from fact join {d} d on fact.k = d.id", d=few))
        assert_narrowed(report, "fact", "k")
    finally:
        few.unpersist()


def test_a_checkpointed_build_side(spark: SparkSession, star: Path) -> None:
    """Rows of a checkpoint are the same when read again."""
    few = spark.sql(f"select * from {FEW}").localCheckpoint()
    report = same_rows(spark, lambda: spark.sql("select fact.k from fact join {d} d on fact.k = d.id", d=few))
    assert_narrowed(report, "fact", "k")


# --- build sides that may not be used -------------------------------------------------------------------------------


def test_an_rdd_build_side_has_no_filter(spark: SparkSession, star: Path) -> None:
    """An RDD may compute other rows each time: no filter, and the reason names it."""
    local = spark.createDataFrame([(21,), (182,)], "id int")
    rdd = spark.createDataFrame(spark.sparkContext.parallelize([(21,), (182,)]), "id int")
    for build in (local, rdd):
        report = same_rows(spark, lambda b=build: spark.sql("select fact.k from fact join {d} d on fact.k = d.id", d=b))
        assert_unfiltered(report, "the build side reads an RDD, whose rows may differ next time")
        assert_whole(report, "fact")


def test_an_rdd_probe_side_has_no_filter(spark: SparkSession, star: Path) -> None:
    """An RDD has no files to leave unread."""
    probe = spark.createDataFrame([(21,), (22,)], "k int")
    report = same_rows(spark, lambda: spark.sql(f"select p.k from {{p}} p join {FEW} d on p.k = d.id", p=probe))
    assert_reason(report, "whose rows may differ next time")


def test_a_jdbc_build_side_has_no_filter(spark: SparkSession, star: Path) -> None:
    """A database may answer otherwise the second time: no filter, and the reason names JDBC."""
    url = "jdbc:derby:memory:headgate;create=true"
    spark.sql(f"select id from {FEW}").write.jdbc(url, "few", mode="overwrite")
    report = same_rows(
        spark, lambda: spark.sql("select fact.k from fact join {d} d on fact.k = d.id", d=spark.read.jdbc(url, "few"))
    )
    assert any("the build side reads JDBC, whose rows may differ next time" in why for why in reasons(report))
    assert not next(scan for scan in report.scans if scan.table == "fact").filters


@pytest.mark.parametrize(
    ("broadcast", "options"),
    [("-1", {}), ("10MB", {}), ("10MB", {"max_wait": "0s", "non_blocking": True})],
    ids=["too large", "kept", "late"],
)
def test_an_unstable_subquery_in_a_build_side(
    spark: SparkSession, star: Path, tmp_path: Path, come_first: None, broadcast: str, options: dict[str, Any]
) -> None:
    """A scalar subquery over an RDD makes the build side that uses it as unstable as the RDD is."""
    counter = tmp_path / "runs"
    counter.write_text("")

    def number_of_this_run(_: int) -> tuple[int]:
        with counter.open("a") as file:
            file.write("x")
        return (len(counter.read_text()) % 20,)

    def query() -> DataFrame:
        moving = spark.createDataFrame(spark.sparkContext.parallelize([0], 1).map(number_of_this_run), "g int")
        return spark.sql(
            "select fact.k from fact join (select id from dim where grp = (select max(g) from {m})) d on k = id",
            m=moving,
        )

    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast), enabled(spark, **options):
        assert query().count() == 5
        report = headgate.report(spark)
    assert not [f for f in report.filters if f.state == "applied" and f.column == "k"], str(report)
    assert_reason(report, "the build side has a subquery, whose rows may differ next time")


def test_an_unstable_subquery_that_runs_once(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    """With room for its rows an unstable build side is either left alone or its one run is what the query sees."""
    counter = tmp_path / "runs"
    counter.write_text("")

    def number_of_this_run(_: int) -> tuple[int]:
        with counter.open("a") as file:
            file.write("x")
        return (len(counter.read_text()) % 20,)

    moving = spark.createDataFrame(spark.sparkContext.parallelize([0], 1).map(number_of_this_run), "g int")
    query = "select fact.k from fact join (select id from dim where grp = (select max(g) from {m})) d on k = id"
    with enabled(spark):
        assert spark.sql(query, m=moving).count() == 5


@pytest.mark.parametrize(
    "build",
    [
        "select id from dim where id < 50 limit 3",
        "select id from (select id, row_number() over (order by grp) r from dim) where r < 9",
        "select first(id) id from dim group by grp",
        "select cast(sum(num) as int) id from fact group by spread % 7",
    ],
    ids=["limit", "ties", "first", "floats"],
)
def test_a_build_side_that_may_differ_is_never_run_twice(spark: SparkSession, star: Path, build: str) -> None:
    """Where no order is given a second run may give other rows: without room for its rows there is no filter."""
    query = f"select count(*) >= 0 from fact join ({build}) d on fact.k = d.id"
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        report = same_rows(spark, lambda: spark.sql(query))
    assert not [f for f in report.filters if f.state == "applied"]
    report = same_rows(spark, lambda: spark.sql(query))
    assert ONCE in " ".join(reasons(report)) or "contains" in " ".join(reasons(report))


def test_a_python_function_in_a_build_side(spark: SparkSession, star: Path) -> None:
    """What a Python function computes is not known to be stable: no filter, and the reason names the node."""
    same = sf.udf(lambda x: x, IntegerType())
    few = spark.table("dim").where("grp = 3").select(same("id").alias("id"))
    report = same_rows(spark, lambda: spark.table("fact").join(few, sf.expr("k = id")).select("k"))
    assert_unfiltered(report, "build side contains")


# --- build sides that fail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build",
    [
        "select 10 / (grp - 3) as x, id from dim",
        "select id, raise_error('no') x from dim where grp = 3",
        "select cast(name as int) id from dim where grp = 3",
        "select id from dim where assert_true(id < 5) is null",
    ],
    ids=["division", "raise_error", "cast", "assert_true"],
)
def test_a_failing_build_side_fails_as_without_headgate(spark: SparkSession, star: Path, build: str) -> None:
    """An error in the build side is the query's own: it ends with the same error, and Headgate does not fail."""
    query = f"select fact.k, d.* from fact join ({build}) d on fact.k = d.id"
    plain = outcome(lambda: spark.sql(query))
    with enabled(spark):
        assert outcome(lambda: spark.sql(query)) == plain
        report = headgate.report(spark)
    assert isinstance(plain, tuple)
    assert report.failures == []
    assert_reason(report, "build side failed")


def test_a_build_side_with_a_python_function_that_raises(spark: SparkSession, star: Path) -> None:
    """A Python function that raises makes the query fail as it would have."""
    no = sf.udf(lambda x: 1 // (x - x), IntegerType())
    few = spark.table("dim").where("grp = 3").select(no("id").alias("id"))
    make = lambda: spark.table("fact").join(few, sf.expr("k = id")).select("k")  # noqa: E731
    plain = outcome(make)
    with enabled(spark):
        assert outcome(make) == plain


def test_a_word_in_an_error_is_no_cancellation(spark: SparkSession, star: Path) -> None:
    """An error that speaks of something cancelled is an error like any other: the query fails as it would have."""
    query = (
        "select fact.k, x from fact join (select id, raise_error('order 7 was cancelled') x from dim "
        "where grp = 3) d on k = id"
    )
    plain = outcome(lambda: spark.sql(query))
    with enabled(spark):
        assert outcome(lambda: spark.sql(query)) == plain


def test_one_failing_build_side_does_not_stop_the_others(spark: SparkSession, star: Path) -> None:
    """A filter whose build fails is given up alone; the query still fails with its own error, once."""
    query = (
        f"select fact.k from fact join {FEW} d on fact.k = d.id "
        "join (select id, raise_error('no') x from dim where grp = 3) e on fact.big = e.id where x is null"
    )
    plain = outcome(lambda: spark.sql(query))
    with enabled(spark):
        assert outcome(lambda: spark.sql(query)) == plain


# --- strategies -----------------------------------------------------------------------------------------------------


def test_strategy_cost_leaves_small_scans_alone(check: Check) -> None:
    """By default a filter must pay: narrowing a small table does not, and the report says so."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id", strategy="cost")
    assert_unfiltered(report, "the scan is too small to pay for a filter")


def test_strategy_never_only_reports(spark: SparkSession, star: Path) -> None:
    """strategy=never plans as `cost` or `always` would and changes nothing."""
    ran = compare(spark, lambda: spark.sql(f"select * from fact join {FEW} d on fact.k = d.id"), strategy="never")
    assert_unfiltered(ran.report, "")
    assert sorted(files_opened(ran.frame)) == [1, 8]


@pytest.mark.parametrize(
    ("level", "files", "groups"),
    [("prune_files", 8, 5 + 3 * 4), ("prune_row_groups", 5, 5 * 4)],
)
def test_levels_can_be_switched_off(check: Check, level: str, files: int, groups: int) -> None:
    """Without pruneFiles every file is opened, with pruneRowGroups off the files that remain are read whole."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id", **{level: False})
    scan = scan_of(report, "fact")
    assert (scan.files_read, scan.row_groups_read) == (files, groups)


def test_all_levels_off(check: Check) -> None:
    """With every level off nothing is narrowed."""
    report = check(
        f"select * from fact join {FEW} d on fact.k = d.id",
        prune_files=False,
        prune_row_groups=False,
        prune_partitions=False,
        filter_rows=False,
    )
    scan = scan_of(report, "fact")
    assert scan.files_read == scan.files_total


def test_row_filters_can_be_switched_off(spark: SparkSession, star: Path) -> None:
    """filterRows=false leaves rows to the join: no predicate is added to the scan."""
    with settings(spark, spark_sql_autoBroadcastJoinThreshold="-1"):
        ran = compare(spark, lambda: spark.sql(f"select * from fact join {FEW} d on fact.k = d.id"), filter_rows=False)
        plan = re.sub(
            r"#\d+", "", ran.frame._jdf.queryExecution().optimizedPlan().toString()
        )  # ids may hold any digits
        assert "665" not in plan
    assert_narrowed(ran.report, "fact", "k")


def test_enabled_can_be_set_for_one_query(spark: SparkSession, star: Path) -> None:
    """SET spark.headgate.enabled=false leaves the next queries alone until it is set back."""
    query = f"select * from fact join {FEW} d on fact.k = d.id"
    with enabled(spark):
        spark.sql("SET spark.headgate.enabled=false")
        frame = spark.sql(query)
        frame.collect()
        assert sorted(files_opened(frame)) == [1, 8]
        spark.sql("SET spark.headgate.enabled=true")
        frame = spark.sql(query)
        frame.collect()
        assert files_opened(frame) == [5]
    spark.conf.unset("spark.headgate.enabled")
