"""Run mixed queries and streams for a long time, and disturb them: `python -m bench.soak --minutes 30`.

One driver with two executors in processes of their own. Two threads run random queries and compare each answer with
what Spark alone gives, while a writer changes some of the tables; another runs streams with late rows and restarts.
Meanwhile executors are killed, coordinators closed, and sessions disabled and enabled again, none of which may change a
row. What the driver holds is measured every 15 seconds.

`--off` does the same without Headgate: what Spark itself costs. Exits with 1 when an answer differs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import headgate
from bench.soak_load import QueryThread, Steps
from bench.soak_meters import Meters, Tally, markdown
from bench.soak_streams import StreamThread
from bench.soak_tables import StillTables
from bench.spark_home import spark_home

EXECUTORS = 2
QUERY_THREADS = 2
KILL, CLOSE, DISABLE = 120.0, 40.0, 60.0  # seconds between two disturbances of a kind, or a third of a short run
COME_BACK = 60.0  # seconds for an executor
WIND_DOWN = 300.0  # seconds for all threads to end what they are about


def session(home: Path) -> SparkSession:
    """Start executors and a driver that leave their files in one folder, and remember little of the past."""
    os.environ |= {
        "SPARK_HOME": str(spark_home(home / "spark")),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={home / 'tmp'}",
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # they do not live long
        "spark.local.dir": str(home / "local"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.task.maxFailures": "8",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.files.openCostInBytes": "8m",  # each file is a task, so a filter can come between two of them
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
        "spark.ui.retainedDeadExecutors": "5",
        "spark.sql.ui.retainedExecutions": "20",
    }
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]").appName("headgate-soak")
    for key, text in settings.items():
        builder = builder.config(key, text)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Disturber:
    """Kill executors, close coordinators and disable sessions, each now and then."""

    name = "disturber"

    def __init__(
        self, spark: SparkSession, threads: Sequence[QueryThread | StreamThread], tally: Tally, steps: Steps
    ) -> None:
        self._spark, self._threads, self._tally, self._steps = spark, threads, tally, steps
        self._random = Random("disturber")

    def run(self, stop: threading.Event, seconds: float) -> None:
        """Disturb until told to stop; all kinds come in a run of ``seconds``."""
        every = {self._kill: KILL, self._close_coordinator: CLOSE, self._disable: DISABLE}
        every = {what: min(interval, seconds / 3) for what, interval in every.items()}
        due = {what: time.monotonic() + interval for what, interval in every.items()}
        while not stop.is_set():
            what = min(due, key=lambda kind: due[kind])
            if stop.wait(max(0.0, due[what] - time.monotonic())):
                return
            what()
            due[what] = time.monotonic() + every[what] * self._random.uniform(0.8, 1.2)

    def _kill(self) -> None:
        """Kill one of the driver's own executors, and wait for another in its place."""
        if not (pids := executors(self._spark)):
            return
        victim = self._random.choice(pids)
        self._steps.last_kill = float("inf")  # whatever runs while one is missing may be lost with it
        os.kill(victim, signal.SIGKILL)
        self._steps.note(self.name, f"killed executor process {victim}")
        self._tally.add("executors killed")
        if not until(lambda: self._are_back(victim), COME_BACK):
            self._tally.add("executors that did not come back in time")
        self._steps.last_kill = time.monotonic()
        self._steps.note(self.name, "another executor is there")

    def _are_back(self, victim: int) -> bool:
        known = self._spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
        pids = executors(self._spark)
        return victim not in pids and len(pids) == EXECUTORS and len(known) == EXECUTORS + 1  # the driver is one too

    def _close_coordinator(self) -> None:
        """Close the coordinator of a session, if need be after a moment, when a query has late filters."""
        until(lambda: any(registered(thread) for thread in self._threads), 5.0)
        busy = sorted(self._threads, key=registered, reverse=True)
        gate = busy[0].gate
        coordinator = None if gate is None else gate._coordinator
        if coordinator is not None and coordinator.is_running:
            under = registered(busy[0])
            coordinator.close()
            self._steps.note(self.name, f"closed the coordinator of {busy[0].name} under {under} queries")
            self._tally.add("coordinators closed")
            self._tally.add("coordinators closed under a query", int(under > 0))

    def _disable(self) -> None:
        """Disable a session; its thread enables it again when it comes to its next query."""
        thread = self._random.choice(self._threads)
        headgate.disable(thread.gated)
        self._steps.note(self.name, f"disabled Headgate for {thread.name}")
        self._tally.add("sessions disabled")


def registered(thread: QueryThread | StreamThread) -> int:
    """Return how many queries the coordinator of a session has registered."""
    gate = thread.gate
    coordinator = None if gate is None else gate._coordinator
    return 0 if coordinator is None else len(coordinator.registry._queries)


def still_registered(threads: Sequence[QueryThread | StreamThread]) -> int:
    """Return how many queries are registered although all have ended, when the gates have looked."""

    def is_none() -> bool:
        for thread in threads:
            if thread.gate is not None:
                thread.gate._end_queries()
        return not any(map(registered, threads))

    return 0 if until(is_none, 20.0) else sum(map(registered, threads))


def executors(spark: SparkSession) -> list[int]:
    """Return the processes of the executors, which are children of this driver."""
    jvm: Any = spark._jvm
    found = []
    for child in jvm.java.lang.ProcessHandle.current().children().toArray():
        try:
            command = Path(f"/proc/{child.pid()}/cmdline").read_text()
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command:
            found.append(int(child.pid()))
    return sorted(found)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for something; return whether it came in time."""
    end = time.monotonic() + seconds
    while not (came := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return came


# --- the run --------------------------------------------------------------------------------------------------------


class Crew:
    """Threads that run until they are told to stop, and are watched."""

    def __init__(self, tally: Tally) -> None:
        self._tally, self._stop = tally, threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        """Start one; its first argument is what tells it to stop."""

        def run() -> None:
            try:
                work(self._stop, *arguments)
            except Exception:  # noqa: BLE001 - told at the end, and the others go on
                print(f"\nthe thread {name!r} failed\n{traceback.format_exc()}", flush=True)
                self._tally.add("threads that failed or did not end")

        self._threads.append(threading.Thread(target=run, name=name, daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        """Tell all to stop, and wait; one that does not end is shown where it is."""
        self._stop.set()
        end = time.monotonic() + WIND_DOWN
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                print(f"\nthe thread {thread.name!r} did not end; it is at")
                traceback.print_stack(sys._current_frames()[thread.ident or 0], file=sys.stdout)
                self._tally.add("threads that failed or did not end")


def soak(home: Path, seconds: float, enabled: bool) -> int:
    """Run everything for so long, print the table, and return 1 when an answer differs or a thread failed."""
    for name in ("tmp", "local", "tables", "streams"):
        (home / name).mkdir()
    spark, tally, steps = session(home), Tally(), Steps()
    still = StillTables(home / "tables")
    with ThreadPoolExecutor(1, "writer") as writer:
        readers = [
            QueryThread(spark, home / "tables", f"queries_{number}", still, writer, tally, steps)
            for number in range(QUERY_THREADS)
        ]
        threads: list[QueryThread | StreamThread] = [*readers, StreamThread(spark, home / "streams", tally, steps)]
        folders = {
            "driver's temporary files": home / "tmp",
            "local files": home / "local",
            "executors' folders": home / "spark" / "work",
        }
        meters = Meters(spark, lambda: sum(map(registered, threads)), folders)
        for reader in readers:
            reader.warm_up()
        crew, began = Crew(tally), time.monotonic()
        for thread in threads:
            crew.start(thread.name, thread.run, enabled)
        crew.start("disturber", Disturber(spark, threads, tally, steps).run, seconds)
        crew.start("meters", meters.run)
        time.sleep(seconds)
        crew.stop()
    tally.add("queries registered after the end", still_registered(threads))
    for thread in threads:
        thread.forget_gate()
        headgate.disable(thread.gated)
    print(markdown(tally, meters, time.monotonic() - began))
    spark.stop()
    bad = ("differing answers", "differing streams", "threads that failed or did not end")
    return int(any(tally[what] for what in bad))


def main() -> int:
    """Run the soak in a folder that is removed afterwards."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=30.0)
    arguments.add_argument("--off", action="store_true", help="never enable Headgate")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="headgate-soak-", ignore_cleanup_errors=True) as folder, chdir(folder):
        return soak(Path(folder), chosen.minutes * 60, not chosen.off)


if __name__ == "__main__":
    sys.exit(main())
