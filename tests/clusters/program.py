"""Submitted to a standalone cluster with Headgate's wheel: `spark-submit --py-files headgate-*.whl program.py …`.

Prints one line of JSON with what it found. Its arguments are a folder, and as JSON the processes of the workers, the
router between them and this driver where there is one, and the scenarios to leave out.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import headgate
from tests.catalyst.cluster_script import DEADLINE
from tests.catalyst.late_cluster_script import OpenPolls, Running, collected, told, unfiltered, write
from tests.clusters.holding import Barrier, Held
from tests.clusters.networks import block, unblock

FILES, ROWS, MATCHING = 40, 1_000, (5, 30)
HOUR = 3_600_000_000
BATCH = "select k, v, g from fact join (select * from dim where g = 3) d on k = id"
# `hold` keeps the first task of each executor back, so nothing here depends on how fast anything is
HELD = "select k, hold(v) v, g from fact join (select * from dim where g < 100) d on k = id"
# no filter of `few` ever comes: an executor that has the other one asks for it, and so tells what it has
TWICE = f"{HELD} join (select * from few where y < 100) e on w = x"


def session() -> SparkSession:
    """Every file is a task, the largest first, and no join shuffles. The rest comes from spark-submit."""
    settings = {
        "spark.executor.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.files.openCostInBytes": "8m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.pythonUDF.arrow.enabled": "false",  # the Python of executors has no Arrow
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.appName("headgate-standalone")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write_tables(spark: SparkSession, home: Path) -> None:
    """A fact table sorted by its key, and two small ones; the keys of `dim` lie in its two largest files."""
    for number in range(FILES):
        keys = np.arange(number * ROWS, number * ROWS + (ROWS if number in MATCHING else ROWS // 2), dtype=np.int32)
        write(home / "fact" / f"{number:02}.parquet", {"k": keys, "v": keys.astype(np.int64) * 3, "w": keys % 50}, ROWS)
    ids = np.concatenate([np.arange(number * ROWS, number * ROWS + 50) for number in MATCHING]).astype(np.int32)
    write(home / "dim" / "0.parquet", {"id": ids, "g": ids % ROWS}, len(ids))
    write(home / "few" / "0.parquet", {"x": np.arange(40, dtype=np.int32), "y": np.arange(40, dtype=np.int32)}, 40)
    for name in ("fact", "dim", "few"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)


# --- what is shown --------------------------------------------------------------------------------------------------


def found_on_executors(spark: SparkSession) -> list[list[str]]:
    """Return which of some packages the Python of executors finds; one answer if all of them find the same."""

    def look(_):
        from importlib.util import find_spec

        yield tuple(name for name in ("headgate", "numpy", "pyarrow", "pyspark") if find_spec(name) is not None)

    found = spark.sparkContext.parallelize(range(4), 4).mapPartitions(look).collect()
    return [list(names) for names in sorted(set(found))]


def shipped(spark: SparkSession, home: Path) -> list[list[str]]:
    """Ship the wheel under the name of a zip archive, the only kind that Spark lets the Python of executors import."""
    wheel = next(entry for entry in sys.path if entry.endswith(".whl"))
    spark.sparkContext.addPyFile(shutil.copy(wheel, str(home / "headgate.zip")))
    return found_on_executors(spark)


def batch(spark: SparkSession) -> dict[str, Any]:
    """Filters that the query waits for, off and on."""
    expected = unfiltered(spark, BATCH)
    headgate.enable(spark, strategy="always", max_wait="1min")
    found = collected(spark, BATCH)
    report = headgate.report(spark)
    headgate.disable(spark)
    scan = next(scan for scan in report.scans if scan.table == "fact")
    return {
        "same": found == expected,
        "rows": expected.total(),
        "failures": report.failures,
        "states": {f.column: f.state for f in report.filters},
        "files": [scan.files_read, scan.files_total],
    }


def late(
    spark: SparkSession,
    barrier: Barrier,
    polls: OpenPolls,
    strike: Callable[[], None] = lambda: None,
    port: int | None = None,
) -> dict[str, Any]:
    """A filter comes when one task of each executor has begun; then something else happens, and the query goes on."""
    barrier.open()
    expected = unfiltered(spark, TWICE)
    with Held("x").holding() as held, barrier.closed():
        gate = headgate.enable(
            spark,
            strategy="always",
            max_wait="0s",
            coordinator_host=spark.conf.get("spark.driver.host"),
            coordinator_port=port or free_port(),
            page=False,
        )
        running = Running(spark, TWICE)
        began = running.wait_for(lambda: barrier.holds(2) and polls.from_version(0) == 2)
        held.release()
        informed = running.wait_for(lambda: polls.from_version(1) == 2)
        strike()
        barrier.open()
        running.join()
    found = told(spark, running, expected)
    scan = next(scan for scan in headgate.report(spark).scans if scan.table == "fact")
    found |= {"steps": [began, informed], "files": [scan.files_read, scan.files_total]}
    found |= {"address": [gate.url, gate.configured("coordinator_host", "coordinator_port")]}
    found |= {"statuses": [status(gate, "/"), status(gate, "/v1/queries")]}
    headgate.disable(spark)
    return found


def stream(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Windows of a stream whose third file is late as a whole, and whose fourth is late for the most part."""
    for i, (low, high) in enumerate([(10, 11), (20, 21), (0, 5), (1, 22)]):
        ts = pa.array(np.linspace(low * HOUR, high * HOUR, 1_000).astype("int64"), pa.timestamp("us", "UTC"))
        write(home / "events" / f"{i}.parquet", {"ts": ts}, 100)
        os.utime(home / "events" / f"{i}.parquet", (i, i))  # Spark takes the oldest file first
    expected, _ = run_stream(spark, home, "off")
    headgate.enable(spark)
    found, batches = run_stream(spark, home, "on")
    headgate.disable(spark)
    return {
        "same": found == expected,
        "rows": expected.total(),
        "late": [batch["lateRows"] for batch in batches],
        "skipped": [batch["filesSkipped"] for batch in batches],
    }


def run_stream(spark: SparkSession, home: Path, name: str) -> tuple[Counter[Any], list[Any]]:
    """Return the rows of a stream, and what Headgate tells of its batches."""
    events = spark.readStream.schema("ts timestamp").option("maxFilesPerTrigger", 1).parquet(str(home / "events"))
    counts = events.withWatermark("ts", "1 hour").groupBy(sf.window("ts", "1 hour")).count()
    query = (
        counts.writeStream.format("memory")
        .queryName(f"counts_{name}")
        .outputMode("append")
        .option("checkpointLocation", str(home / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches = headgate.streaming_report(query).to_dicts() if name == "on" else []
    return collected(spark, f"select string(window), count from counts_{name}"), batches


def taken_port(spark: SparkSession) -> dict[str, Any]:
    """The port of the coordinator belongs to somebody else."""
    expected = unfiltered(spark, HELD)
    with socket.create_server((spark.conf.get("spark.driver.host"), 0)) as taken:
        port = taken.getsockname()[1]
        headgate.enable(spark, strategy="always", max_wait="0s", coordinator_port=port)
        running = Running(spark, HELD)
        running.join()
        found = told(spark, running, expected) | {"port": port}
        headgate.disable(spark)
    return found


def firewall(spark: SparkSession, barrier: Barrier, polls: OpenPolls, router: str) -> dict[str, Any]:
    """What executors send to the coordinator is dropped; then it passes again.

    An executor knows that it is cut off when its first attempt has failed. A query may be over by then, but not the
    next ones, so the query runs until its report says so.
    """
    port = free_port()
    expected = unfiltered(spark, HELD)
    headgate.enable(spark, strategy="always", max_wait="0s", coordinator_port=port)
    block(router, port)
    try:
        found = [published_amid(spark, barrier, expected)]
        end = time.monotonic() + DEADLINE
        while not found[-1]["reason"] and time.monotonic() < end:
            found.append(published_amid(spark, barrier, expected))
    finally:
        unblock(router, port)
    headgate.disable(spark)
    return {"port": port, "cut_off": found, "again": late(spark, barrier, polls, port=port)}


def published_amid(spark: SparkSession, barrier: Barrier, expected: Counter[Any]) -> dict[str, Any]:
    """Run a query whose filter is published when its first tasks have begun."""
    with Held().holding() as held, barrier.closed():
        running = Running(spark, HELD)
        running.wait_for(lambda: barrier.holds(2))
        held.release()
        barrier.open()
        running.join()
    found = told(spark, running, expected)
    filters = [f for f in headgate.report(spark).filters if f.late is not None]
    return {**found, "reason": filters[0].reason, "arrival": str(filters[0].late)}


def status(gate: Any, path: str) -> int:
    """Return what the coordinator answers to those who know its token."""
    asked = Request(gate.url + path, headers={"Authorization": f"Bearer {gate.token}"})
    try:
        with build_opener(ProxyHandler({})).open(asked, timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("", 0)) as found:
        return int(found.getsockname()[1])


def main() -> None:
    home, given = Path(sys.argv[1]), json.loads(sys.argv[2])
    began = time.monotonic()
    polls = OpenPolls()
    spark = session()
    write_tables(spark, home)
    barrier = Barrier(spark, home)
    scenarios: dict[str, Callable[[], Any]] = {
        "python": lambda: [headgate.__file__, found_on_executors(spark)],
        "batch": lambda: batch(spark),
        "late": lambda: late(spark, barrier, polls),
        "stream": lambda: stream(spark, home),
        "taken": lambda: taken_port(spark),
        "firewall": lambda: firewall(spark, barrier, polls, given["router"]) if given["router"] else None,
        # one worker is left then
        "killed": lambda: late(spark, barrier, polls, lambda: os.killpg(given["workers"][0], signal.SIGKILL)),
        "shipped": lambda: shipped(spark, home),
    }
    found = {}
    for name in [name for name in scenarios if name not in given["left_out"]]:
        found[name] = scenarios[name]()
        sys.stderr.write(f"{time.monotonic() - began:.1f} s {name} {json.dumps(found[name])}\n")
    sys.stdout.write("RESULT " + json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
