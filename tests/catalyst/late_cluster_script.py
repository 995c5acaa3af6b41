"""Filters that arrive late, on two executors in processes of their own.

`python -m tests.catalyst.late_cluster_script <folder>` runs all scenarios. `--kills N` only kills executors, with N
seeds in the middle of collection and N in the middle of the gated scan. Prints one line of JSON with what it found.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headgate
from headgate.coordinator.polls import Polls
from headgate.query.gates import LateFilter
from headgate.query.late import LateFilters
from tests.catalyst.cluster_script import DEADLINE, executors, until

FILES, ROWS, GROUPS = 90, 4_000, 2  # so many files that most of them are left when a filter comes
LAST_ROWS = 1_000  # the last file is the smallest, so Spark reads it last; it and one row group hold all keys of `dim`
BUILD_FILES, BUILD_ROWS = 20, 15_000  # less than the fact table has: the smaller side is built
BUILD = "headgate: build side of "
# `few` never brings a filter here: an executor that has got the other one asks for it, and so tells what it has
# a build side that shuffles by itself (distinct) is not tapped: its filter comes from a job beside the query
LATE = """select k, v, g, d.w from fact join (select distinct * from dim where g < 100) d on k = id
  join (select distinct * from few where y < 100) f on fact.w = x"""
PLAIN = "select k, v, g from fact join (select distinct * from dim where g < 100) d on k = id"
GROWN = PLAIN.replace(" dim ", " grown ")
SLOW_BUILD = """select k, v, g from fact join
  (select distinct id, g from big where sha2(sha2(string(id), 512), 512) > '' and g < 5) b on k = id"""


def session() -> SparkSession:
    """Two executors of one core each; every file is a task, and joins shuffle."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.files.maxPartitionBytes": "8m",
        "spark.sql.files.openCostInBytes": "8m",
        "spark.ui.enabled": "false",
        "spark.ui.liveUpdate.period": "0",  # this script asks Spark which tasks run and have ended
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("headgate-late-cluster")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write_tables(spark: SparkSession, home: Path) -> None:
    """A fact table sorted by its key, small build sides, and a large one."""
    keys = np.arange((FILES - 1) * ROWS + LAST_ROWS, dtype=np.int32)
    for number in range(FILES):
        part = keys[number * ROWS : (number + 1) * ROWS]
        columns = {"k": part, "v": part.astype(np.int64) * 3 % 1001, "w": part % 50}
        write(home / "fact" / f"{number:03}.parquet", columns, len(part) // GROUPS)
    ids = np.concatenate([np.arange(5 * ROWS, 5 * ROWS + 300), keys[-700:]]).astype(np.int32)
    write(home / "dim" / "0.parquet", {"id": ids, "g": ids % 10, "w": ids % 3}, len(ids))
    write(home / "few" / "0.parquet", {"x": np.arange(40, dtype=np.int32), "y": np.arange(40, dtype=np.int32)}, 40)
    for number in range(BUILD_FILES):
        ids = np.arange(BUILD_ROWS, dtype=np.int32) * BUILD_FILES + number
        write(home / "big" / f"{number}.parquet", {"id": ids % (40 * ROWS), "g": ids % 1000}, BUILD_ROWS)
    for name in ("fact", "dim", "few", "big"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)
    ids = np.arange(5 * ROWS, 5 * ROWS + 300, dtype=np.int32)
    write(home / "grown" / "0.parquet", {"id": ids, "g": ids % 10, "w": ids % 3}, len(ids))
    spark.sql(f"create table grown (id int, g int, w int) using parquet location '{home / 'grown'}'")


def write(path: Path, columns: dict[str, Any], group: int) -> None:
    """One file, with row groups of so many rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=group)


# --- holding publications and watching ------------------------------------------------------------------------------


class Held:
    """Publications of late filters that wait until they are let go; those of the column `withheld` never come."""

    def __init__(self, withheld: str = "") -> None:
        self._go, self._withheld = threading.Event(), withheld
        self.published: float | None = None

    def release(self) -> None:
        """Let the filters be published."""
        self._go.set()

    @contextmanager
    def holding(self) -> Iterator[Held]:
        """Hold them meanwhile."""
        original = LateFilters._bring

        def bring(filters: LateFilters, late: LateFilter, domain: Any, *, complete: bool = True) -> None:
            if self._withheld and self._withheld in late.planned.clause:
                return
            assert self._go.wait(DEADLINE)
            original(filters, late, domain, complete=complete)

        LateFilters._bring = bring  # type: ignore[assignment,method-assign]
        try:
            yield self
        finally:
            self._go.set()
            LateFilters._bring = original  # type: ignore[method-assign]


class OpenPolls:
    """The long-polls that wait at the coordinator, by the version that each executor says it has."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()
        original = Polls.next

        async def watched(polls: Polls, query: str, since: int, *rest: Any, **more: Any) -> Any:
            self._open[since] += 1
            try:
                return await original(polls, query, since, *rest, **more)
            finally:
                self._open[since] -= 1

        Polls.next = watched  # type: ignore[assignment,method-assign]

    def from_version(self, least: int) -> int:
        """Return how many executors wait and have this version or a later one: each has one poll open at a time."""
        return sum(count for version, count in dict(self._open).items() if version >= least)


class Running:
    """A query in a thread of its own."""

    def __init__(self, spark: SparkSession, query: str) -> None:
        self._spark, self._query = spark, query
        self.rows: Counter[Any] | None = None
        self.errors: list[str] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.rows = collected(self._spark, self._query)
        except Exception as error:  # noqa: BLE001 - told to the test
            self.errors.append(str(error)[:2000])

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Wait for something in the course of the query; return whether it came before the query's end."""
        until(lambda: condition() or not self.is_running)
        return self.is_running

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join(DEADLINE)


def collected(spark: SparkSession, query: str) -> Counter[Any]:
    """Return the rows of a query."""
    return Counter(map(tuple, spark.sql(query).collect()))


@cache
def unfiltered(spark: SparkSession, query: str) -> Counter[Any]:
    """Return the rows of a query without Headgate; the tables that such queries read do not change."""
    headgate.disable(spark)
    return collected(spark, query)


def listed(found: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [found.apply(i) for i in range(found.size())]


def active_stages(spark: SparkSession) -> list[Any]:
    """Return the stages that run, as Spark's own status store has them."""
    return listed(spark.sparkContext._jsc.sc().statusStore().activeStages())


def is_build(stage: Any) -> bool:
    """Whether a stage belongs to a build that runs beside the query."""
    return bool(stage.description().isDefined() and stage.description().get().startswith(BUILD))


def scan_stages(spark: SparkSession) -> list[Any]:
    """Return the running stage that reads the fact table: the only one with so many tasks."""
    return [stage for stage in active_stages(spark) if stage.numTasks() == FILES]


def tasks_done(spark: SparkSession) -> int:
    """Return how many tasks of the running scan of the fact table have ended."""
    return max((stage.numCompleteTasks() for stage in scan_stages(spark)), default=0)


# --- what is shown --------------------------------------------------------------------------------------------------


def told(spark: SparkSession, running: Running, expected: Counter[Any]) -> dict[str, Any]:
    """Return what became of a query and its late filters, when all of them are published."""
    if (filters := headgate.enable(spark).queries[-1].late) is not None:
        filters.join(DEADLINE)
    report = headgate.report(spark)
    late = [f for f in report.filters if f.late is not None]
    return {
        "ended": running.rows is not None,  # within the deadline, and well
        "same": running.rows == expected,
        "errors": running.errors,
        "failures": report.failures,
        "rows": expected.total(),
        "states": {f.column: f.state for f in late},
        "late": {f.column: vars_of(f.late) for f in late},
    }


def vars_of(late: Any) -> dict[str, Any]:
    """Return a report as plain data."""
    return {name: getattr(late, name) for name in late.__slots__}


def reaching(spark: SparkSession) -> dict[str, Any]:
    """Nothing is held: filters come when their builds are done, and reach the executors through the coordinator."""
    expected = unfiltered(spark, PLAIN)
    headgate.enable(spark, strategy="always", max_wait="0s")
    running = Running(spark, PLAIN)
    running.join()
    found = told(spark, running, expected)
    headgate.disable(spark)
    return found


def closing(spark: SparkSession, polls: OpenPolls) -> dict[str, Any]:
    """A filter that comes when a tenth of the files is read closes the others.

    The witness is Spark's own count of the rows that each task read. A task counts as started afterwards if both
    executors had asked for what is newer than the filter when Spark launched it.
    """
    expected = unfiltered(spark, LATE)
    headgate.enable(spark, strategy="always", max_wait="0s")
    with Held("x").holding() as held:
        running = Running(spark, LATE)
        held_back = running.wait_for(lambda: tasks_done(spark) >= FILES // 10)
        stage = scan_stages(spark)[0].stageId()
        both_wait = running.wait_for(lambda: polls.from_version(0) == 2)
        held.release()
        informed = running.wait_for(lambda: polls.from_version(1) == 2)
        since = time.time() * 1000
        running.join()
    tasks = listed(spark.sparkContext._jsc.sc().statusStore().taskList(stage, 0, 10 * FILES))
    read = [(t.launchTime().getTime() > since, t.taskMetrics().get().inputMetrics().recordsRead()) for t in tasks]
    found = told(spark, running, expected)
    headgate.disable(spark)
    return {
        **found,
        "steps": [held_back, both_wait, informed],
        "before": [rows for after, rows in read if not after],
        "after": [rows for after, rows in read if after],
    }


def losing_the_coordinator(spark: SparkSession) -> dict[str, Any]:
    """The coordinator goes while executors wait for filters; the query goes on, and so does the one after it."""
    expected = unfiltered(spark, PLAIN)
    gate = headgate.enable(spark, strategy="always", max_wait="0s")
    with Held().holding() as held:
        running = Running(spark, PLAIN)
        was_running = running.wait_for(lambda: tasks_done(spark) > 4)
        gate._coordinator.close()
        held.release()
        running.join()
    found = told(spark, running, expected)
    following = Running(spark, PLAIN)
    following.join()
    after = told(spark, following, expected)
    headgate.disable(spark)
    return {**found, "was_running": was_running, "after": after}


def outdated(spark: SparkSession) -> dict[str, Any]:
    """A query is planned, its filter published, its build side grows, and only then it runs: no filter may arrive."""
    gate = headgate.enable(spark, strategy="always", max_wait="0s")
    frame = spark.sql(GROWN)
    frame._jdf.queryExecution().executedPlan()
    filters = gate.queries[-1].late
    assert filters is not None
    filters.join(DEADLINE)
    published = [f.late.published for f in headgate.report(spark).filters if f.late is not None]
    spark.sql(f"insert into grown values ({20 * ROWS}, 1, 1)")  # a key of a file that the filter closes
    found = Counter(map(tuple, frame.collect()))
    headgate.disable(spark)
    expected = collected(spark, GROWN)
    return {"same": found == expected, "rows": expected.total(), "published": published, "failures": gate.failures}


# --- killing --------------------------------------------------------------------------------------------------------


def killed_collecting(spark: SparkSession, expected: Counter[Any], seed: int) -> dict[str, Any]:
    """An executor dies when some tasks of the build beside the query have ended and others run."""
    chance = random.Random(seed)
    least, victim = chance.randrange(1, BUILD_FILES * 2 // 3), chance.choice(sorted(executors()))

    def is_amid() -> bool:
        builds = filter(is_build, active_stages(spark))
        return any(stage.numCompleteTasks() >= least and stage.numActiveTasks() > 0 for stage in builds)

    headgate.enable(spark, strategy="always", max_wait="0s")
    running = Running(spark, SLOW_BUILD)
    running.wait_for(is_amid)
    os.kill(victim, signal.SIGKILL)
    return after_death(spark, running, expected, victim, seed, struck=is_amid())


def killed_scanning(spark: SparkSession, expected: Counter[Any], seed: int) -> dict[str, Any]:
    """An executor dies when some tasks of the gated scan have ended and others run; its filter comes just then."""
    chance = random.Random(seed)
    least, victim = chance.randrange(1, FILES // 2), chance.choice(sorted(executors()))
    filter_first = chance.random() < 0.5

    def is_amid() -> bool:
        return any(stage.numCompleteTasks() >= least and stage.numActiveTasks() > 0 for stage in scan_stages(spark))

    headgate.enable(spark, strategy="always", max_wait="0s")
    with Held().holding() as held:
        running = Running(spark, PLAIN)
        running.wait_for(is_amid)
        if filter_first:
            held.release()
        os.kill(victim, signal.SIGKILL)
        struck = is_amid()
        held.release()
        return after_death(spark, running, expected, victim, seed, struck=struck)


def after_death(
    spark: SparkSession, running: Running, expected: Counter[Any], victim: int, seed: int, *, struck: bool
) -> dict[str, Any]:
    """Wait for the query, and for another executor in the place of the dead one.

    ``struck`` says that what the executor was to die in the middle of still went on when it was dead.
    """
    running.join()
    found = told(spark, running, expected)
    headgate.disable(spark)
    until(lambda: len(executors()) == 2)
    return {**found, "seed": seed, "struck": struck, "died": victim not in executors()}


def kills(
    spark: SparkSession, query: str, scenario: Callable[[SparkSession, Counter[Any], int], Any], seeds: range
) -> list[dict[str, Any]]:
    """Kill an executor once for each seed."""
    expected = unfiltered(spark, query)
    found = []
    for seed in seeds:
        found.append(scenario(spark, expected, seed))
        sys.stderr.write(
            f"{time.strftime('%X')} seed {seed}: { {k: found[-1][k] for k in ('struck', 'ended', 'same', 'errors')} }\n"
        )
    return found


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("home", type=Path)
    arguments.add_argument("--kills", type=int, default=0)
    arguments.add_argument("--first", type=int, default=0, help="the first seed of the kills")
    arguments.add_argument("--only", default="", help="one of the scenarios")
    chosen = arguments.parse_args()
    polls = OpenPolls()
    spark = session()
    write_tables(spark, chosen.home)
    until(lambda: len(executors()) == 2)
    seeds = range(chosen.first, chosen.first + (chosen.kills or 1))
    scenarios: dict[str, Callable[[], Any]] = {
        "reaching": lambda: reaching(spark),
        "closing": lambda: closing(spark, polls),
        "coordinator": lambda: losing_the_coordinator(spark),
        "outdated": lambda: outdated(spark),
        "collecting": lambda: kills(spark, SLOW_BUILD, killed_collecting, seeds),
        "scanning": lambda: kills(spark, PLAIN, killed_scanning, seeds),
    }
    wanted = [chosen.only] if chosen.only else ["collecting", "scanning"] if chosen.kills else list(scenarios)
    found = {}
    for name in wanted:
        found[name] = scenarios[name]()
        sys.stderr.write(f"{time.strftime('%X')} {name} {json.dumps(found[name])}\n")
    sys.stdout.write("RESULT " + json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
