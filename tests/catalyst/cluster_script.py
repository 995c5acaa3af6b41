"""Run in a process of its own against a cluster of two executors: `python -m tests.catalyst.cluster_script <folder>`.

Prints one line of JSON with what it found.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import headgate

FILES, ROWS, GROUPS = 6, 40_000, 8
DEADLINE = 120.0


def session() -> SparkSession:
    """Two executors of one core each; joins shuffle unless a side is tiny."""
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("headgate-cluster")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write_tables(spark: SparkSession, home: Path) -> None:
    """A fact table sorted by its key in several files and row groups, and a dimension of 1,000 keys in its middle."""
    for number in range(FILES):
        keys = np.arange(number * ROWS, (number + 1) * ROWS, dtype=np.int32)
        (home / "fact").mkdir(parents=True, exist_ok=True)
        table = pa.table({"k": keys, "v": keys.astype(np.int64) * 3 % 1001})
        pq.write_table(table, home / "fact" / f"{number}.parquet", row_group_size=ROWS // GROUPS)
    (home / "dim").mkdir(parents=True, exist_ok=True)
    ids = np.arange(0, 1000, dtype=np.int32) * 7 + ROWS + 100
    pq.write_table(pa.table({"id": ids, "g": ids % 10}), home / "dim" / "0.parquet")
    for name in ("fact", "dim"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)


def both(spark: SparkSession, make: Callable[[], DataFrame]) -> dict[str, Any]:
    """Run a query off and on; tell whether the rows agree, and what was narrowed."""
    headgate.disable(spark)
    expected = Counter(map(tuple, make().collect()))
    headgate.enable(spark, strategy="always")
    frame = make()
    found = Counter(map(tuple, frame.collect()))
    report = headgate.report(spark)
    headgate.disable(spark)
    scan = next(scan for scan in report.scans if scan.table.endswith("fact"))
    return {
        "same": expected == found,
        "rows": expected.total(),
        "failures": report.failures,
        "applied": [f.column for f in report.filters if f.state == "applied"],
        "kinds": [f.kind for f in report.filters if f.state == "applied"],
        "files": [scan.files_read, scan.files_total],
        "groups": [scan.row_groups_read, scan.row_groups_total],
        "bits": "headgate_bits" in frame._jdf.queryExecution().optimizedPlan().toString(),
        "executors": int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1,  # one is the driver
    }


def narrowed(spark: SparkSession) -> dict[str, Any]:
    """A broadcast join of ten keys: the scan is narrowed to row groups."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m")
    return both(
        spark, lambda: spark.sql("select k, v, g from fact join (select * from dim where id < 40170) d on k = id")
    )


def bitmap(spark: SparkSession) -> dict[str, Any]:
    """A shuffled join of a thousand keys: each row is tested against a bitmap."""
    return both(spark, lambda: spark.sql("select k, v, g from fact join (select * from dim where g < 100) d on k = id"))


def killed(spark: SparkSession) -> dict[str, Any]:
    """An executor dies in the middle of a query with a bitmap: its tasks run again elsewhere, with the same rows."""
    from pyspark.sql.functions import udf

    @udf("bigint")
    def slow(value):  # hints would make it an Arrow function
        if value % 50 == 0:
            time.sleep(0.05)
        return value

    spark.udf.register("slow", slow)
    query = "select k, slow(v) v, g from fact join (select * from dim where g < 100) d on k = id"
    expected = Counter(map(tuple, spark.sql(query).collect()))
    headgate.enable(spark, strategy="always")
    answers: list[Counter[Any]] = []
    errors: list[str] = []
    before = set(executors())

    def run() -> None:
        try:
            answers.append(Counter(map(tuple, spark.sql(query).collect())))
        except Exception as error:  # noqa: BLE001 - told to the test
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    tracker = spark.sparkContext.statusTracker()
    until(lambda: bool(python_stage(tracker)) or not thread.is_alive())
    was_running = thread.is_alive()
    os.kill(sorted(before)[0], signal.SIGKILL)
    thread.join()
    report = headgate.report(spark)
    headgate.disable(spark)
    return {
        "same": answers == [expected],
        "errors": errors,
        "rows": expected.total(),
        "was_running": was_running,
        "one_died": sorted(before)[0] not in executors(),
        "applied": [f.column for f in report.filters if f.state == "applied"],
        "failures": report.failures,
    }


def python_stage(tracker: Any) -> list[int]:
    """Return the stages with running tasks after the build of the filter has ended."""
    if not headgate_reported():
        return []
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return [stage.stageId for stage in stages if stage is not None and stage.numActiveTasks > 0]


def headgate_reported() -> bool:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    return bool(headgate.enable(spark).reports)


def executors() -> list[int]:
    """Return the executor processes below this one."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
            names[int(entry.name)] = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])

    def ours(pid: int) -> bool:
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return [pid for pid, name in names.items() if b"CoarseGrainedExecutorBackend" in name and ours(pid)]


def until(ready: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + DEADLINE
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the condition never came true")
        time.sleep(0.01)


def main() -> None:
    home = Path(sys.argv[1])
    spark = session()
    write_tables(spark, home)
    until(lambda: len(executors()) == 2)
    found = {"narrowed": narrowed(spark), "bitmap": None, "killed": None}
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    found["bitmap"] = bitmap(spark)
    found["killed"] = killed(spark)
    sys.stdout.write("RESULT " + json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
