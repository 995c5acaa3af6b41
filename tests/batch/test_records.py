"""Every query of a session has a record, filtered or not: when it began, what it read, how it ended, and why not."""

from __future__ import annotations

import json
import logging
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import headgate
from headgate.graph import Graph
from headgate.history import QueryRecord, read_log
from tests.batch.differential import enabled

QUERY = "select fact.k, num from fact join (select * from dim where grp = 3) d on fact.k = d.id"


def told(spark: SparkSession, gate: headgate.Gate) -> list[Any]:
    """Return the records of queries, once Spark has told its listeners of every end.

    Those of streams are of the whole process: other tests may have left some.
    """
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    records = [json.loads(line) for line in gate.history.since(0)[1]]
    return [record for record in records if record["record"] == "query"]


def kept(folder: Path) -> list[QueryRecord]:
    """Return the queries of a log, all of whose lines can be read."""
    records, unread = read_log(folder)
    assert unread == 0
    return [record for record in records if isinstance(record, QueryRecord)]


def test_a_filtered_query(spark: SparkSession, star: Path) -> None:
    """Its SQL, its plan from top to bottom, its filter from build to scan, and its files in order."""
    with enabled(spark, strategy="always") as gate:
        spark.sql(QUERY).collect()
        (record,) = told(spark, gate)
    (part,) = record["parts"]
    assert (record["state"], record["text"]) == ("FINISHED", QUERY)
    assert record["ended"] >= record["started"]
    assert record["where"].startswith("collect at ")
    (found,) = [one for one in part["filters"] if one["state"] == "applied"]
    (fact,) = [scan for scan in part["scans"] if found["id"] in scan["filters"]]
    lines = {line["node"]: line for line in part["plan"]}
    assert (lines[fact["node"]]["kind"], found["build"] in lines) == ("scan", True)
    assert sum(fact["file_runs"]) == fact["files_total"]
    assert sum(fact["file_runs"][::2]) == fact["files_read"]
    assert sum(fact["group_runs"][::2]) == fact["row_groups_read"]
    assert [read["files"] for read in record["reads"] if "files" in read]


def test_a_query_without_a_join_says_so(spark: SparkSession, star: Path) -> None:
    with enabled(spark) as gate:
        spark.sql("select count(*) from fact").collect()
        (record,) = told(spark, gate)
    assert (record["state"], record.get("parts")) == ("FINISHED", None)
    assert "no join" in record["note"]
    assert record["reads"][0]["files"] > 0


def test_a_query_that_headgate_is_off_for_says_so(spark: SparkSession, star: Path) -> None:
    with enabled(spark, enabled=False) as gate:
        spark.sql(QUERY).collect()
        (record,) = told(spark, gate)
    assert record["note"] == "spark.headgate.enabled is false"


def test_subqueries_are_parts_of_their_query(spark: SparkSession, star: Path) -> None:
    """Narrowed by themselves, they stand before the query that they belong to."""
    inner = f"select max(k) from ({QUERY})"
    with enabled(spark, strategy="always") as gate:
        spark.sql(f"select count(*) from fact join dim on fact.k = dim.id where fact.k <= ({inner})").collect()
        (record,) = told(spark, gate)
    assert len(record["parts"]) == 2


def test_a_query_that_fails_says_how(spark: SparkSession, star: Path) -> None:
    fail = sf.raise_error(sf.lit("out of luck")).cast("bigint")
    with enabled(spark) as gate:
        with pytest.raises(PySparkException):
            spark.table("fact").select(fail).collect()
        (record,) = told(spark, gate)
    assert record["state"] == "FAILED"
    assert "out of luck" in record["failure"]


def test_a_plan_that_does_not_run_is_planned(spark: SparkSession, star: Path) -> None:
    """And the same query has one record when it runs after all."""
    with enabled(spark) as gate:
        frame = spark.sql(QUERY)
        frame._jdf.queryExecution().optimizedPlan()
        assert [record["state"] for record in told(spark, gate)] == ["PLANNED"]
        frame.collect()
        assert [record["state"] for record in told(spark, gate)] == ["FINISHED"]


def test_statements_without_rows_are_no_queries(spark: SparkSession, star: Path) -> None:
    with enabled(spark) as gate:
        spark.sql("set spark.sql.shuffle.partitions=2")
        spark.table("dim").createOrReplaceTempView("another_dim")
        assert told(spark, gate) == []


def test_a_session_that_only_marks_says_so(spark: SparkSession, star: Path) -> None:
    """The records of a session that is not enabled are there for graphs and marked frames."""
    edges = spark.createDataFrame([(1, 2), (2, 3)], "src bigint, dst bigint")
    graph = Graph(edges)
    assert graph.expand([1], 2).count() == 3
    records = [json.loads(line) for line in headgate.api.history_of(edges).since(0)[1]]
    (walk,) = [record for record in records if record["record"] == "graph"]
    assert [hop["what"] for hop in walk["hops"]] == [step.what for step in graph.last.steps]


def test_the_log_outlives_the_session(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    with enabled(spark, strategy="always", event_log=str(tmp_path)) as gate:
        spark.sql(QUERY).collect()
        assert gate.report().failures == []
        spark.sql("select count(*) from dim").collect()
    records = kept(tmp_path)
    assert [record.state for record in records] == ["FINISHED", "FINISHED"]
    assert [found.state for found in records[0].parts[0].filters] == ["applied", "dropped"]


def test_two_gates_of_one_application_do_not_mix(spark: SparkSession, star: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with enabled(spark, event_log=str(tmp_path)):
            spark.sql(QUERY).collect()
    assert len(kept(tmp_path)) == 2


def test_a_log_that_cannot_be_written_costs_the_log_only(
    spark: SparkSession, star: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING), enabled(spark, event_log=str(tmp_path / "file" / "log.jsonl")) as gate:
        assert spark.sql(QUERY).count() > 0
        assert gate.report().failures == []
        (failure,) = gate.failures
    assert "cannot be written" in failure


def test_the_coordinator_tells_what_is_new(spark: SparkSession, star: Path) -> None:
    with enabled(spark, strategy="always") as gate:
        spark.sql(QUERY).collect()
        told(spark, gate)
        first = _ask(gate, "/v1/history")
        assert [record["record"] for record in first["records"]].count("query") == 1
        assert _ask(gate, f"/v1/history?since={first['version']}") == {"version": first["version"], "records": []}


def _ask(gate: headgate.Gate, path: str) -> Any:
    request = urllib.request.Request(gate.url + path, headers={"Authorization": f"Bearer {gate.token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
