"""The public functions: enable, disable, filtered, explain, report, and what they leave behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate.config import SETTINGS
from headgate.observe import FilterReport, QueryReport, ScanReport
from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_same,
    enabled,
    files_opened,
    rows_of,
    same_rows,
    scan_of,
)

FEW = "(select * from dim where grp = 3)"
QUERY = f"select fact.k, num from fact join {FEW} d on fact.k = d.id"


def settings_of(spark: SparkSession) -> dict[str, str]:
    """What the session sets explicitly under spark.headgate."""
    every = spark._jsparkSession.sessionState().conf().getAllConfs().iterator()
    found = {}
    while every.hasNext():
        entry = every.next()
        if entry._1().startswith("spark.headgate."):
            found[entry._1()] = entry._2()
    return found


def rules_of(spark: SparkSession) -> list[Any]:
    """The session's extra optimizer rules."""
    rules = spark._jsparkSession.experimental().extraOptimizations()
    return [rules.apply(i) for i in range(rules.size())]


def set_rules(spark: SparkSession, rules: list[Any]) -> None:
    packed = spark._jvm.java.util.ArrayList()
    for rule in rules:
        packed.add(rule)
    setter = getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")
    setter(spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq(packed))


# --- enable and disable ---------------------------------------------------------------------------------------------


def test_enable_and_disable(spark: SparkSession, star: Path) -> None:
    """Queries are narrowed after enable and whole again after disable."""
    opened: list[Any] = []
    headgate.enable(spark, strategy="always")
    for turn in ("on", "off", "on"):
        if turn == "off":
            headgate.disable(spark)
        elif opened:
            headgate.enable(spark, strategy="always")
        frame = spark.sql(QUERY)
        frame.collect()
        opened.append(sum(files_opened(frame)))
    assert opened == [5, 9, 5]


def test_enabling_twice_changes_settings_only(spark: SparkSession, star: Path) -> None:
    """A second enable gives the same gate with other settings, and one rule stays one rule."""
    first = headgate.enable(spark, strategy="always")
    rules = len(rules_of(spark))
    second = headgate.enable(spark, strategy="never")
    assert second is first
    assert len(rules_of(spark)) == rules
    spark.sql(QUERY).collect()
    assert not any(scan.filters for scan in headgate.report(spark).scans)


def test_disable_puts_settings_back(spark: SparkSession, star: Path) -> None:
    """Settings that enable changed are what they were, and those it added are gone; disabling again harms nothing."""
    spark.conf.set("spark.headgate.maxDistinctValues", "77")
    before = settings_of(spark)
    headgate.enable(spark, strategy="always", max_distinct_values=5)
    headgate.enable(spark, max_distinct_values=6, range_filters=False)
    assert settings_of(spark) != before
    headgate.disable(spark)
    headgate.disable(spark)
    given = {"spark.headgate.nonBlocking": "false"}  # by tests/conftest.py
    assert settings_of(spark) == before == {**given, "spark.headgate.maxDistinctValues": "77"}
    spark.conf.unset("spark.headgate.maxDistinctValues")


def test_disable_leaves_the_rules_of_others(spark: SparkSession, star: Path) -> None:
    """Rules that were there before, and rules that came after, stay where they are."""
    jvm: Any = spark._jvm
    optimizer = jvm.org.apache.spark.sql.catalyst.optimizer
    before, after = (getattr(getattr(optimizer, name), "MODULE$") for name in ("CombineUnions$", "ConstantFolding$"))
    had = rules_of(spark)
    set_rules(spark, [*had, before])
    try:
        headgate.enable(spark, strategy="always")
        set_rules(spark, [*rules_of(spark), after])
        assert len(rules_of(spark)) == len(had) + 3
        spark.sql(QUERY).collect()
        assert_narrowed(headgate.report(spark), "fact", "k")
        headgate.disable(spark)
        assert [rule.ruleName() for rule in rules_of(spark)[len(had) :]] == [before.ruleName(), after.ruleName()]
    finally:
        set_rules(spark, had)


def test_gates_can_be_closed(spark: SparkSession, star: Path) -> None:
    """gate.close() is disable; the session can be enabled again."""
    gate = headgate.enable(spark, strategy="always")
    gate.close()
    frame = spark.sql(QUERY)
    frame.collect()
    assert sum(files_opened(frame)) == 9
    assert headgate.enable(spark, strategy="always") is not gate


def test_another_session_is_not_touched(spark: SparkSession, star: Path) -> None:
    """Enabling one session leaves another of the same application alone; each has its own report."""
    other = spark.newSession()
    with enabled(spark):
        frame = other.read.parquet(str(star / "fact")).join(
            other.sql("select * from values (21) d(id)"), on=sf.expr("k = id")
        )
        frame.collect()
        assert files_opened(frame) == [8]
        assert "not enabled" in headgate.report(other).note


def test_two_sessions_with_their_own_settings(spark: SparkSession, star: Path) -> None:
    """Two enabled sessions keep their settings apart."""
    other = spark.newSession()
    headgate.enable(other, strategy="never")
    try:
        with enabled(spark):
            spark.sql(QUERY).collect()
            assert_narrowed(headgate.report(spark), "fact", "k")
            other.read.parquet(str(star / "fact")).join(
                other.sql("select * from values (21) d(id)"), on=sf.expr("k = id")
            ).collect()
            assert not any(scan.filters for scan in headgate.report(other).scans)
            assert_narrowed(headgate.report(spark), "fact", "k")
    finally:
        headgate.disable(other)


# --- settings -------------------------------------------------------------------------------------------------------

GOOD = {
    "enabled": (True, "false"),
    "strategy": ("always", "never"),
    "maxWait": ("auto", "500ms"),
    "maxDistinctValues": (5, "0"),
    "maxFilterBytes": ("1MB", "64k"),
    "memoryLimit": ("10mb", "1g"),
    "rangeFilters": (False, "true"),
    "prunePartitions": (False, "true"),
    "pruneFiles": (False, "true"),
    "pruneRowGroups": (False, "true"),
    "filterRows": (False, "true"),
    "minSelectivity": (0.25, "1"),
    "refreshMaxWait": ("250ms", "2s"),
    "queueThreshold": (0.5, "0"),
    "nonBlocking": (False, "true"),
    "watermark.strict": (True, "false"),
    "watermark.slack": ("5min", "0s"),
    "coordinator.host": ("127.0.0.1", "auto"),
    "coordinator.port": (4041, "0"),
    "page": (False, "true"),
    "classCache": (False, "true"),
    "eventLog": ("", "kept.jsonl"),
}
BAD = {
    "enabled": ("perhaps", "true or false"),
    "strategy": ("sometimes", "cost, always or never"),
    "maxWait": ("soon", "auto or a duration"),
    "maxDistinctValues": ("-1", "a whole number from 0"),
    "maxFilterBytes": ("10 miles", "a size such as 10MB"),
    "memoryLimit": ("-5MB", "a size such as 10MB"),
    "rangeFilters": ("2", "true or false"),
    "prunePartitions": ("maybe", "true or false"),
    "pruneFiles": ("on", "true or false"),
    "pruneRowGroups": ("yes", "true or false"),
    "filterRows": ("none", "true or false"),
    "minSelectivity": ("1.5", "a number from 0 to 1"),
    "refreshMaxWait": ("auto", "a duration such as 1s"),
    "queueThreshold": ("-0.1", "a number from 0 to 1"),
    "nonBlocking": ("0", "true or false"),
    "watermark.strict": ("perhaps", "true or false"),
    "watermark.slack": ("later", "a duration such as"),
    "coordinator.host": ("this machine", "a name or address"),
    "coordinator.port": ("65536", "a port from 1 to 65535"),
    "page": ("hidden", "true or false"),
    "classCache": ("sometimes", "true or false"),
    "eventLog": ("s3://bucket/logs", "a local file that ends in .jsonl"),
}


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name.replace(".", "_"))


def test_every_setting_is_tested_here() -> None:
    """The two tables above name every setting that there is."""
    assert {setting.name for setting in SETTINGS} == set(GOOD) == set(BAD)


@pytest.mark.parametrize("name", GOOD)
def test_good_values_of_every_setting(spark: SparkSession, name: str) -> None:
    """Each setting is a keyword, a Spark setting and a thing for SET."""
    value, text = GOOD[name]
    with enabled(spark, **{snake(name): value}):
        assert settings_of(spark)[f"spark.headgate.{name}"].lower() == str(value).lower()
        spark.conf.set(f"spark.headgate.{name}", text)
        spark.sql(f"SET spark.headgate.{name}={text}")
        assert spark.conf.get(f"spark.headgate.{name}") == text


@pytest.mark.parametrize("name", BAD)
def test_bad_values_of_every_setting(spark: SparkSession, name: str) -> None:
    """A bad value is refused in each of the three ways, and the sentence says what is allowed."""
    text, allowed = BAD[name]
    with pytest.raises(headgate.InvalidSetting, match=allowed) as caught:
        headgate.enable(spark, **{snake(name): text})
    assert f"spark.headgate.{name}" in str(caught.value)
    with enabled(spark):
        with pytest.raises(PySparkException, match=allowed):
            spark.conf.set(f"spark.headgate.{name}", text)
        with pytest.raises(PySparkException, match=allowed):
            spark.sql(f"SET spark.headgate.{name}={text}")


def test_a_bad_value_that_the_session_was_started_with_is_refused(spark: SparkSession) -> None:
    """It would count as the default, and nobody would know; a keyword beside it says what is meant."""
    given = spark._jsparkSession.sessionState().conf().settings()  # `conf.set` refuses it once Headgate was enabled
    given.put("spark.headgate.strategy", "allways")
    try:
        with pytest.raises(headgate.InvalidSetting, match="'allways' is not allowed; it takes cost, always or never"):
            headgate.enable(spark)
        assert "not enabled" in headgate.report(spark).note
        with enabled(spark, strategy="never"):
            assert spark.conf.get("spark.headgate.strategy") == "never"
    finally:
        given.remove("spark.headgate.strategy")


def test_an_unknown_setting_is_refused(spark: SparkSession) -> None:
    """A keyword that is no setting is refused with the list of those that are, and nothing is enabled."""
    with pytest.raises(headgate.InvalidSetting, match="max_distinct_values"):
        headgate.enable(spark, speed="high")
    assert "not enabled" in headgate.report(spark).note


def test_a_bad_value_leaves_an_enabled_session_as_it_was(spark: SparkSession, star: Path) -> None:
    """A refused keyword changes none of the settings that came with it."""
    with enabled(spark):
        with pytest.raises(headgate.InvalidSetting):
            headgate.enable(spark, max_distinct_values=3, strategy="sometimes")
        assert "spark.headgate.maxDistinctValues" not in settings_of(spark)
        spark.sql(QUERY).collect()
        assert_narrowed(headgate.report(spark), "fact", "k")


def test_settings_for_the_next_query(spark: SparkSession, star: Path) -> None:
    """A setting changed between two queries holds for the second."""
    with enabled(spark):
        spark.sql("SET spark.headgate.maxDistinctValues=2")
        spark.sql(QUERY).collect()
        assert {f.kind for f in headgate.report(spark).filters if f.kind} == {"bitmap"}
        spark.sql("RESET spark.headgate.maxDistinctValues")
        spark.sql(QUERY).collect()
        assert {f.kind for f in headgate.report(spark).filters if f.kind} == {"set"}


# --- one DataFrame --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", [True, False], ids=["enabled", "not enabled"])
def test_filtered(spark: SparkSession, star: Path, on: bool) -> None:
    """headgate.filtered gives the same rows, names and types, and reads less, in an enabled session or not."""
    expected = rows_of(spark.sql(QUERY))
    if on:
        headgate.enable(spark, strategy="always")
    else:
        spark.conf.set("spark.headgate.strategy", "always")
    try:
        for make in (headgate.filtered, lambda df: df.transform(headgate.filtered)):
            narrowed = make(spark.sql(QUERY))
            assert isinstance(narrowed, DataFrame)
            assert narrowed.schema == spark.sql(QUERY).schema
            assert_same(expected, rows_of(narrowed))
            assert sum(files_opened(narrowed)) == 5
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_filtered_changes_one_frame_only(spark: SparkSession, star: Path) -> None:
    """Without enable no other query of the session is narrowed."""
    spark.conf.set("spark.headgate.strategy", "always")
    try:
        headgate.filtered(spark.sql(QUERY)).collect()
        frame = spark.sql(QUERY)
        frame.collect()
        assert sum(files_opened(frame)) == 9
        assert headgate.report(spark).applied == 1  # the report is of the filtered one
        headgate.disable(spark)
        assert rules_of(spark) == [] or all("headgate" not in rule.toString().lower() for rule in rules_of(spark))
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_comparing_leaves_filtered_frames_as_they_are(spark: SparkSession, star: Path) -> None:
    """Off is off for them, too; afterwards they are filtered again."""
    spark.conf.set("spark.headgate.strategy", "always")
    try:
        narrowed = headgate.filtered(spark.sql(QUERY))
        assert headgate.compare(spark, lambda: spark.sql(QUERY), rounds=1).is_same
        again = narrowed.select("*")
        again.collect()
        assert sum(files_opened(again)) == 5
        assert headgate.api.gate_of(spark) is None
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_a_gate_that_was_closed_is_not_used(spark: SparkSession, star: Path) -> None:
    headgate.enable(spark).close()
    spark.conf.set("spark.headgate.strategy", "always")
    try:
        narrowed = headgate.filtered(spark.sql(QUERY))
        narrowed.collect()
        assert sum(files_opened(narrowed)) == 5
        assert headgate.report(spark).applied == 1
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_sessions_are_enabled_once_by_many_threads(spark: SparkSession, star: Path) -> None:
    """Each session has one gate, and is as before when it is disabled."""
    others = [spark.newSession() for _ in range(3)]
    with ThreadPoolExecutor(8) as pool:
        gates = list(pool.map(headgate.enable, [*others, *others, *others]))
    assert len({id(gate) for gate in gates}) == len(others)
    for other in others:
        headgate.disable(other)
        assert all("headgate" not in rule.toString().lower() for rule in rules_of(other))


def test_filtered_frames_can_be_used_further(spark: SparkSession, star: Path) -> None:
    """A filtered frame is a frame: it can be grouped, joined, cached and filtered again."""
    spark.conf.set("spark.headgate.strategy", "always")
    try:
        narrowed = headgate.filtered(spark.sql(QUERY))
        plain = spark.sql(QUERY)
        assert_same(rows_of(plain.groupBy().count()), rows_of(narrowed.groupBy().count()))
        again = headgate.filtered(narrowed.join(spark.sql("select 21 as k"), "k"))
        assert_same(rows_of(plain.where("k = 21")), rows_of(again))
        cached = narrowed.cache()
        assert_same(rows_of(plain), rows_of(cached))
        cached.unpersist()
        assert sorted(narrowed.inputFiles()) == sorted(set(narrowed.inputFiles()))
    finally:
        spark.conf.unset("spark.headgate.strategy")


def test_filtered_returns_a_frame_without_joins_as_it_is(spark: SparkSession, star: Path) -> None:
    """Where there is nothing to filter the frame comes back itself."""
    frame = spark.sql("select k from fact where k = 7")
    assert headgate.filtered(frame) is frame


def test_explain(spark: SparkSession, star: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """explain prints each join and scan with its filter or its reason, and runs nothing of the query itself."""
    spark.conf.set("spark.headgate.strategy", "always")
    try:
        headgate.explain(spark.sql(f"{QUERY} left join region on fact.k = region.r_id"))
    finally:
        spark.conf.unset("spark.headgate.strategy")
    shown = capsys.readouterr().out
    assert "Join INNER" in shown
    assert "feeds df_" in shown
    assert "Scan fact" in shown
    assert "5 of 8 files" in shown
    assert "no filter: " in shown
    assert "Dynamic filters" in shown


def test_explain_without_filters(spark: SparkSession, star: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan without joins is shown too, and says that there is nothing to filter."""
    headgate.explain(spark.sql("select k from fact where k = 7"))
    shown = capsys.readouterr().out
    assert "Scan fact" in shown
    assert "No dynamic filters" in shown


# --- the report -----------------------------------------------------------------------------------------------------


def test_the_shape_of_the_report(check: Check) -> None:
    """The report has each field that the documentation names, as plain data too."""
    report = check(QUERY)
    assert isinstance(report, QueryReport)
    assert all(isinstance(scan, ScanReport) for scan in report.scans)
    assert all(isinstance(told, FilterReport) for told in report.filters)
    told = report.to_dict()
    for scan in told["scans"]:
        assert {"table", "files_total", "files_read", "row_groups_total", "row_groups_read"} <= set(scan)
        assert {"bytes_total", "bytes_read", "filters"} <= set(scan)
    for one in told["filters"]:
        assert {"id", "join", "column", "kind", "state", "values", "bytes"} <= set(one)
        assert {"collect_ms", "applied_to", "reason"} <= set(one)
    assert {one["state"] for one in told["filters"]} <= {"applied", "collected", "dropped"}


def test_every_part_has_a_filter_or_a_reason(check: Check) -> None:
    """Applied filters say where, all others say why not; the same for joins and scans."""
    report = check(
        f"select fact.k from fact join {FEW} d on fact.k = d.id join supplier s on fact.spread = s.s_id",
        may_be_empty=True,
    )
    assert all(bool(f.applied_to) != bool(f.reason) for f in report.filters)
    assert all(f.collect_ms >= 0 and f.bytes >= 0 for f in report.filters)
    assert all(bool(join.filters) or bool(join.reason) for join in report.joins)
    assert all(bool(scan.filters) != bool(scan.reason) for scan in report.scans)
    assert report.bytes_read < report.bytes_total


def test_the_report_can_be_shown(check: Check) -> None:
    """As text, as rich tables and as HTML, with names escaped."""
    report = check(QUERY)
    assert "fact" in str(report)
    assert "5 of 8" in str(report)
    assert "<table>" in report._repr_html_()
    report.scans[0].reason = "<script>"
    assert "<script>" not in report._repr_html_()


def test_the_report_before_anything_ran(spark: SparkSession) -> None:
    """No query, no story: a note says so, enabled or not."""
    assert "not enabled" in headgate.report(spark).note
    with enabled(spark):
        assert headgate.report(spark).note


def test_the_report_is_of_the_last_query(spark: SparkSession, star: Path) -> None:
    """Each query has its own report, also one without joins."""
    with enabled(spark):
        spark.sql(QUERY).collect()
        assert headgate.report(spark).filters
        spark.sql("select k from fact where k = 7").collect()
        assert not headgate.report(spark).filters
        assert scan_of(headgate.report(spark), "fact").reason
        spark.sql(QUERY).collect()
        assert headgate.report(spark).filters


@pytest.mark.parametrize(
    "query", ["select 1 as one", "select count(*) from fact where 1 = 0", "select * from fact where 1 = 0"]
)
def test_the_report_of_a_query_that_reads_nothing(spark: SparkSession, star: Path, query: str) -> None:
    """It is not that of the query before."""
    with enabled(spark):
        spark.sql(QUERY).collect()
        assert_narrowed(headgate.report(spark), "fact", "k")
        frame = spark.sql(query)
        frame.collect()
        assert headgate.report(spark).scans == []


def test_the_report_does_not_change_by_looking(spark: SparkSession, star: Path) -> None:
    """Asking twice gives the same."""
    with enabled(spark):
        spark.sql(QUERY).collect()
        assert headgate.report(spark).to_dict() == headgate.report(spark).to_dict()
        spark.sql("select k from fact where k = 7").collect()
        assert headgate.report(spark).to_dict() == headgate.report(spark).to_dict()


# --- uses of a session ----------------------------------------------------------------------------------------------


def test_a_frame_collected_twice(spark: SparkSession, star: Path) -> None:
    """A frame keeps its plan: the second run gives the same rows, and so do count, first and take."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark):
        frame = spark.sql(QUERY)
        assert_same(expected, rows_of(frame))
        assert_same(expected, rows_of(frame))
        assert frame.count() == expected.total()
        assert not frame.isEmpty()
        assert len(frame.take(2)) == 2
        assert {row.k for row in frame.toLocalIterator()} == {row[0] for row in expected}
        assert len(frame.toPandas()) == expected.total()
        assert frame.rdd.count() == expected.total()


def test_a_frame_collected_on_both_sides_of_disable(spark: SparkSession, star: Path) -> None:
    """A frame planned with Headgate on runs the same after it is off."""
    with enabled(spark):
        frame = spark.sql(QUERY)
        expected = rows_of(frame)
    assert_same(expected, rows_of(frame))
    assert_same(expected, rows_of(spark.sql(QUERY)))


def test_a_cache_made_before_and_after(spark: SparkSession, star: Path) -> None:
    """What is cached with Headgate on is the same as what is cached with it off; a cached probe side has no files."""
    expected = rows_of(spark.sql(QUERY))
    cached = spark.table("fact").select("k", "num").cache()
    try:
        report = same_rows(spark, lambda: cached.join(spark.sql(f"select id from {FEW}"), on=sf.expr("k = id")))
        assert not [f for f in report.filters if f.state == "applied"]
    finally:
        cached.unpersist()
    with enabled(spark):
        narrowed = spark.sql(QUERY).cache()
        assert_same(expected, rows_of(narrowed))
    try:
        assert_same(expected, rows_of(narrowed))
        assert_same(expected, rows_of(spark.sql(QUERY)))
    finally:
        narrowed.unpersist()


def test_a_cached_table_is_not_shrunk_by_a_query_over_it(spark: SparkSession, star: Path) -> None:
    """Caching a table by a query that narrows it caches all of it."""
    with enabled(spark):
        table = spark.read.parquet(str(star / "fact")).select("k").cache()
        try:
            assert table.join(spark.sql("select * from values (21) d(id)"), on=sf.expr("k = id")).count() == 1
            assert table.count() == 800
        finally:
            table.unpersist()


def test_temporary_views(spark: SparkSession, star: Path) -> None:
    """A view made with Headgate on holds the query, not its narrowed plan."""
    with enabled(spark):
        spark.sql(QUERY).createOrReplaceTempView("narrow_view")
        assert spark.table("narrow_view").count() == 5
        assert_narrowed(headgate.report(spark), "fact", "k")
    spark.catalog.dropTempView("narrow_view")


def test_insert_select(spark: SparkSession, star: Path) -> None:
    """INSERT ... SELECT, CREATE TABLE AS and writes put down the same rows."""
    expected = rows_of(spark.sql(QUERY))
    spark.sql("create table copied (k int, num double) using parquet")
    try:
        with enabled(spark) as gate:
            spark.sql(f"insert into copied {QUERY}")
            assert any(scan.filters for report in gate.reports for scan in report.scans)
            assert gate.failures == []
            assert_same(expected, rows_of(spark.table("copied")))
            spark.sql(f"insert overwrite copied {QUERY}")
            assert_same(expected, rows_of(spark.table("copied")))
            spark.sql(f"create table copied_too using parquet as {QUERY}")
            assert_same(expected, rows_of(spark.table("copied_too")))
            assert gate.failures == []
    finally:
        spark.sql("drop table if exists copied")
        spark.sql("drop table if exists copied_too")


@pytest.mark.parametrize("look", [headgate.explain, headgate.filtered])
def test_looking_at_a_command_does_not_run_it_again(spark: SparkSession, star: Path, look: Any) -> None:
    """It ran when its DataFrame was made; that is over, and there is nothing to filter in its outcome."""
    spark.sql("create table written_once (k int, num double) using parquet")
    try:
        with enabled(spark):
            done = spark.sql(f"insert into written_once {QUERY}")
            before = spark.table("written_once").count()
            look(done)
            assert spark.table("written_once").count() == before > 0
    finally:
        spark.sql("drop table if exists written_once")


def test_insert_into_a_table_that_the_query_reads(spark: SparkSession, star: Path) -> None:
    """Rows added to a table are there for the next query, which lists and prunes its files anew."""
    spark.sql("create table growing using parquet as select k, num from fact where k < 200")
    try:
        with enabled(spark):
            spark.sql("insert into growing select k + 1000, num from growing join (values (21), (22)) d(id) on k = id")
            found = spark.sql("select k from growing join (values (21), (1021), (1022)) d(id) on k = id").collect()
            assert sorted(row.k for row in found) == [21, 1021, 1022]
            assert headgate.report(spark).failures == []
    finally:
        spark.sql("drop table growing")


def test_two_threads_in_one_session(spark: SparkSession, star: Path) -> None:
    """Queries that run side by side in one session keep their filters apart."""
    queries = [
        f"select fact.k from fact join (select id from dim where grp = {grp}) d on fact.k = d.id" for grp in range(8)
    ]
    expected = [rows_of(spark.sql(query)) for query in queries]
    found: dict[int, Any] = {}

    def run(numbers: range) -> None:
        for number in numbers:
            found[number] = rows_of(spark.sql(queries[number]))

    with enabled(spark) as gate:
        threads = [threading.Thread(target=run, args=(range(start, 8, 2),)) for start in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert gate.failures == []
        assert sum(any(scan.filters for scan in report.scans) for report in gate.reports) == 8
    assert [found[number] for number in range(8)] == expected


def test_many_threads_with_one_query(spark: SparkSession, star: Path) -> None:
    """One frame collected by several threads at once is planned and read as by one."""
    with enabled(spark):
        frame = spark.sql(QUERY)
        counts: list[int] = []
        threads = [threading.Thread(target=lambda: counts.append(len(frame.collect()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [5] * 4
        assert headgate.report(spark).failures == []


def test_commands_are_left_alone(spark: SparkSession, star: Path) -> None:
    """SHOW, DESCRIBE, EXPLAIN, SET and ANALYZE work as ever."""
    with enabled(spark):
        for command in (
            "show tables",
            "describe fact",
            f"explain extended {QUERY}",
            "set spark.sql.ansi.enabled",
            "show functions",
        ):
            assert spark.sql(command).collect() is not None
        assert headgate.report(spark).failures == []


def test_the_plan_text_stays_short(spark: SparkSession, star: Path) -> None:
    """A filter of thousands of values does not fill logs: the plan's text stays readable."""
    with enabled(spark):
        frame = spark.sql(
            "select k from fact join (select distinct cast(id % 700 as int) id from range(5000)) d on k = id"
        )
        frame.collect()
        assert len(frame._jdf.queryExecution().toString()) < 20_000


# --- sessions that cannot be enabled --------------------------------------------------------------------------------


def test_what_a_connect_session_cannot_do_is_refused() -> None:
    """There is no JVM to reach from the client: filtered and publish say so in one sentence."""
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "session_id": "s"})()
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe", "sparkSession": remote})()
    for call in (headgate.filtered, lambda df: headgate.publish(df, "k")):
        with pytest.raises(headgate.UnsupportedSession, match="Spark Connect") as caught:
            call(frame)
        assert "\n" not in str(caught.value)
    headgate.disable(remote)
    assert "not enabled" in headgate.report(remote).note
    with pytest.raises(headgate.BadInput, match="not enabled"):
        headgate.explain(frame)
