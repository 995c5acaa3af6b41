"""The coordinator of a session: its address and port, who may ask, what it says of a query that has ended, its limits."""

from __future__ import annotations

import json
import logging
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headgate
from headgate.catalyst.bridge import _Callback
from headgate.coordinator.polls import Polls
from headgate.errors import CannotListen
from tests.batch.differential import (
    assert_same,
    enabled,
    files_opened,
    filter_on,
    rows_of,
    same_rows,
    scan_of,
    settings,
)
from tests.batch.test_late_filters import held_back, late_filter

QUERY = "select fact.k, num from fact join (select * from dim where grp = 3) d on fact.k = d.id"
LATE: dict[str, Any] = {"max_wait": "0s", "non_blocking": True}


def ask(gate: headgate.Gate, path: str, token: str | None = None) -> Any:
    request = urllib.request.Request(gate.url + path, headers={"Authorization": f"Bearer {token or gate.token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


# --- where it listens -----------------------------------------------------------------------------------------------


def test_url_and_token(spark: SparkSession) -> None:
    with enabled(spark) as gate:
        assert ask(gate, "/v1/queries") == {"queries": []}
        assert gate.page_url == f"{gate.url}/?token={gate.token}"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(gate, "/v1/queries", token="guessed")


def test_host_and_port_of_choice(spark: SparkSession) -> None:
    port = free_port()
    with enabled(spark, coordinator_host="localhost", coordinator_port=port) as gate:
        assert gate.url == f"http://127.0.0.1:{port}"


def test_a_port_that_is_taken_costs_the_late_filters_only(
    spark: SparkSession, star: Path, taken: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The rows are the same; the failure is counted, logged once, and says which port and what to do."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark, coordinator_port=taken, **LATE) as gate, caplog.at_level(logging.WARNING, "headgate"):
        for _ in range(2):
            frame = spark.sql(QUERY)
            assert_same(expected, rows_of(frame))
            assert sorted(files_opened(frame)) == [1, 8]
        report, failures = gate.report(), gate.failures
        with pytest.raises(CannotListen, match=str(taken)):
            _ = gate.url
    assert len(failures) == 2
    assert report.failures == failures[-1:]
    assert f"port {taken}" in report.failures[0]
    assert "set spark.headgate.coordinator.port to a free port" in report.failures[0]
    assert sum(str(taken) in record.getMessage() for record in caplog.records) == 1
    assert [f.reason for f in report.filters if f.column == "k"] == [
        "the query did not wait for the filter, and there is no coordinator to send it later"
    ]


def test_filters_in_time_need_no_coordinator(spark: SparkSession, star: Path, taken: int) -> None:
    assert filter_on(same_rows(spark, lambda: spark.sql(QUERY), coordinator_port=taken), "k").state == "applied"


def test_a_host_that_is_not_here(spark: SparkSession, star: Path) -> None:
    """203.0.113.1 is an address that no machine has."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark, coordinator_host="203.0.113.1", **LATE) as gate:
        assert_same(expected, rows_of(spark.sql(QUERY)))
        (failure,) = gate.report().failures
    assert "203.0.113.1" in failure
    assert "set spark.headgate.coordinator.host" in failure


# --- the end of a query ---------------------------------------------------------------------------------------------


def states(gate: headgate.Gate, spark: SparkSession) -> list[str]:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    return [query["state"] for query in ask(gate, "/v1/queries")["queries"]]


def test_a_query_that_has_ended_is_not_running(spark: SparkSession, star: Path, come_first: None) -> None:
    """Whoever asks is told so at once, and not when the next query comes."""
    with enabled(spark, **LATE) as gate:
        frame = spark.sql(QUERY)
        frame._jdf.queryExecution().optimizedPlan()
        assert states(gate, spark) == ["RUNNING"]
        frame.collect()
        assert states(gate, spark) == ["FINISHED"]
        told = late_filter(gate.report(), "k")
        assert told.state == "applied late"
        assert told.late is not None
        assert told.late.asked is not None, "what is known of a filter outlives its query"
        assert scan_of(gate.report(), "fact").files_read < 8


def test_a_query_that_failed(spark: SparkSession, star: Path, come_first: None) -> None:
    with enabled(spark, **LATE) as gate:
        with pytest.raises(PySparkException):
            spark.sql(QUERY.replace("select fact.k,", "select raise_error(string(fact.k)),")).collect()
        assert states(gate, spark) == ["FAILED"]


# --- refreshMaxWait -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("setting", "seconds"), [("250ms", 0.25), ("3s", 3.0), ("0s", 0.02)])
def test_how_long_an_executor_waits_for_news(
    spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch, setting: str, seconds: float
) -> None:
    """An executor's poller is started in the driver, with the source that would travel to it."""
    asked, waits, poll = Event(), [], Polls.next

    async def noted(polls: Polls, query: str, since: int, max_wait: float, *rest: Any, **more: Any) -> Any:
        waits.append(max_wait)
        asked.set()
        return await poll(polls, query, since, max_wait, *rest, **more)

    monkeypatch.setattr(Polls, "next", noted)
    with held_back(monkeypatch), enabled(spark, refresh_max_wait=setting, **LATE) as gate:
        spark.sql(QUERY)._jdf.queryExecution().optimizedPlan()
        query = gate.queries[-1].late._query
        source = query._context.late().source()
        query._classes.call("late.LatePoller", "ensure", source, source.state())
        assert asked.wait(60.0)
    assert waits[0] == pytest.approx(seconds)


# --- memoryLimit ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "kind"), [("100MB", "set"), ("100", "ranges"), ("8", "all")])
def test_a_filter_has_to_fit_into_memory(spark: SparkSession, star: Path, limit: str, kind: str) -> None:
    """Nothing is refused: the filter gets wider, and the rows are the same."""
    query = QUERY.replace("grp = 3", "id < 400")  # 58 keys
    report = same_rows(spark, lambda: spark.sql(query), memory_limit=limit)
    (told,) = [f for f in report.filters if f.column == "k"]
    scan = scan_of(report, "fact")
    assert told.kind == kind
    assert scan.bytes_read == scan.bytes_total if kind == "all" else scan.files_read == 4
    assert ("spark.headgate.memoryLimit=8 " in told.reason) == (kind == "all")


def test_the_filters_of_a_query_share_its_memory(spark: SparkSession, star: Path) -> None:
    """Of two filters of 58 keys there is room for one."""
    query = """select fact.k from fact join (select id a from dim where id < 400) d on fact.k = d.a
               join (select distinct big b from dim where id < 400) e on fact.big = e.b"""
    room = {f.column: f for f in same_rows(spark, lambda: spark.sql(query)).filters if f.state == "applied"}
    assert {f.kind for f in room.values()} == {"set"}
    limit = max(f.bytes for f in room.values()) + 40
    tight = [f for f in same_rows(spark, lambda: spark.sql(query), memory_limit=limit).filters if f.kind]
    assert sorted(f.kind for f in tight) == ["ranges", "set"]
    assert sum(f.bytes for f in tight) <= limit


@pytest.mark.parametrize(("limit", "kind"), [("100MB", "set"), ("100", "ranges"), ("8", "all")])
def test_a_late_filter_has_to_fit_too(spark: SparkSession, star: Path, come_first: None, limit: str, kind: str) -> None:
    query = QUERY.replace("grp = 3", "id < 400")
    report = same_rows(spark, lambda: spark.sql(query), memory_limit=limit, **LATE)
    assert late_filter(report, "k").kind == kind
    assert scan_of(report, "fact").files_read == (8 if kind == "all" else 4)


def test_all_running_queries_share_what_the_coordinator_may_hold(
    spark: SparkSession, star: Path, come_first: None
) -> None:
    """A query that is planned and not run holds its filter; the next has only the rest of the memory."""
    query = QUERY.replace("grp = 3", "id < 400")
    with enabled(spark, **LATE) as gate:
        waiting = spark.sql(query)
        waiting._jdf.queryExecution().optimizedPlan()
        assert gate._coordinator is not None
        registry = gate._coordinator.registry
        held = registry.memory
        assert held > 100
        with settings(spark, spark_headgate_memoryLimit=str(held + 50)):
            spark.sql(f"{query} and num >= 0")._jdf.queryExecution().optimizedPlan()
        kinds = [story.filters[0].kinds for story in registry.stories()]
        assert [set(kind.values()) for kind in kinds] == [{"set"}, {"ranges"}]
        assert registry.memory <= held + 50


# --- failures in the JVM --------------------------------------------------------------------------------------------


def test_failures_in_the_jvm_are_told(spark: SparkSession, star: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule finds nobody to call in Python: the rows are the same, and the report tells; that of the next query does not."""
    expected = rows_of(spark.sql(QUERY))
    with enabled(spark) as gate:
        with monkeypatch.context() as patch:
            patch.delattr(_Callback, "apply")
            frame = spark.sql(QUERY)
            assert_same(expected, rows_of(frame))
            assert sorted(files_opened(frame)) == [1, 8]
        (failure,) = gate.report().failures
        assert "Py4JException" in failure
        spark.sql(QUERY).collect()
        assert (gate.report().failures, gate.failures) == ([], [failure])
        assert filter_on(gate.report(), "k").state == "applied"


def test_a_closed_gate_opens_no_server(spark: SparkSession, star: Path) -> None:
    """Whoever keeps a gate after disable gets a sentence, and no address."""
    gate = headgate.enable(spark)
    assert gate.url.startswith("http")
    headgate.disable(spark)
    with pytest.raises(CannotListen, match=r"is closed; call headgate\.enable"):
        _ = gate.url


def test_turned_off_by_its_setting(spark: SparkSession, star: Path) -> None:
    """The report names the setting."""
    with enabled(spark, enabled=False) as gate:
        spark.sql(QUERY).collect()
        assert gate.report().note == "Headgate is turned off: spark.headgate.enabled=false"
