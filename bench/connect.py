"""Measure Headgate through Spark Connect: how long enabling takes, and what it adds to a query, beside a classic one.

python -m bench.connect             against a server in a process of its own, with executors of their own
python -m bench.connect classic F   the classic session that it is compared with, over the tables in a folder F
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headgate
from bench.results import Result, all_met
from bench.spark_home import spark_home
from tests.connect.client_script import QUERY, session
from tests.connect.server import connect_server

ROUNDS, WARM_UP = 40, 20  # a JVM is warm after some dozens of queries
CLUSTER = "local-cluster[1,2,1024]"


def added(spark: Any) -> float:
    """Return the milliseconds that Headgate adds to a query (below 0: saves): a median of pairs of runs, off and on."""
    pairs = []
    expected = spark.sql(QUERY).collect()
    for number in range(WARM_UP + ROUNDS):
        seconds = {}
        for on in (True, False) if number % 2 else (False, True):
            spark.conf.set("spark.headgate.enabled", str(on).lower())
            began = time.perf_counter()
            if spark.sql(QUERY).collect() != expected:
                raise SystemExit("the rows differ")
            seconds[on] = time.perf_counter() - began
        pairs.append(1000 * (seconds[True] - seconds[False]))
    return statistics.median(pairs[WARM_UP:])


def enabled(spark: Any) -> float:
    """Enable Headgate for every query; return how many seconds that took."""
    began = time.perf_counter()
    headgate.enable(spark, strategy="always", non_blocking=False)
    return time.perf_counter() - began


def first_enabled(folder: Path, name: str) -> float:
    """Return how many seconds enabling the first session of a server of its own takes."""
    with connect_server(_made(folder / name)) as (address, _):
        spark = session(address, folder / "tables")
        spark.sql(QUERY).collect()
        seconds = enabled(spark)
        spark.stop()  # at its end a client waits long for a server that is gone
        return seconds


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def classic(folder: Path) -> None:
    """Measure a classic session on the same kind of cluster, and print what Headgate adds there."""
    builder = SparkSession.builder.master(CLUSTER).config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name in ("fact", "dim", "middle"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    enabled(spark)
    print(json.dumps(added(spark)))


def main() -> int:
    """Start a server, measure two sessions of it, then a classic one; exit 1 when a bar is missed."""
    if sys.argv[1:2] == ["classic"]:
        classic(Path(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "tables").mkdir()
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # of both servers, and empty for the first
        compiled = first_enabled(folder, "compiling")
        with connect_server(_made(folder / "server")) as (address, _):
            first, second = (session(address, folder / "tables") for _ in range(2))
            first.sql(QUERY).collect()
            seconds = [enabled(first), enabled(second), enabled(first)]
            through_connect = added(first)
            for each in (first, second):
                each.stop()
        child = [sys.executable, "-m", "bench.connect", "classic", str(folder / "tables")]
        # PySpark notes in the environment that this process is a client of Connect; the other one is not
        inherited = {
            key: text for key, text in os.environ.items() if not key.startswith(("SPARK_CONNECT", "SPARK_REMOTE"))
        }
        environment = inherited | {"SPARK_HOME": str(spark_home(folder / "classic"))}
        done = subprocess.run(child, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit(f"the classic session failed: {done.stderr[-2000:]}")
        beside = float(json.loads(done.stdout.splitlines()[-1]))
    what = f"a query: added by Headgate, beside a classic session ({through_connect:.0f} ms, {beside:.0f} ms)"
    results = [
        Result("enabling the first session of a server, classes compiled", compiled, "{:.2f} s".format, 3),
        Result("enabling the first session of a server, classes kept", seconds[0], "{:.2f} s".format, 3),
        Result("enabling the second", seconds[1], "{:.2f} s".format, 3),
        Result("enabling an enabled one again", seconds[2], "{:.2f} s".format),
        Result(what, through_connect - beside, "{:.0f} ms".format, 20),
    ]
    return 0 if all_met("Spark Connect", results) else 1


if __name__ == "__main__":
    sys.exit(main())
