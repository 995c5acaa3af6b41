"""Who cancels a query while a build side of it runs wants the query to end, not to go on without its filter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import headgate
from tests.batch.differential import enabled, rows_of
from tests.batch.stand_in_formats import stand_ins

DEADLINE = 60.0


def until(ready: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + DEADLINE
    while not ready():
        assert time.monotonic() < end, "the condition never came true"
        time.sleep(0.01)


class Held:
    """A build side whose tasks say that they run, and then wait until they are let go."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._started, self._go = folder / "started", folder / "go"
        stand_ins(spark, folder)
        jvm: Any = spark._jvm
        held = jvm.Thread.currentThread().getContextClassLoader().loadClass("stand_in.Held").getConstructors()[0]
        paths = jvm.java.util.ArrayList()
        paths.add(str(self._started))
        paths.add(str(self._go))
        integer = jvm.org.apache.spark.sql.types.DataTypes.IntegerType
        # to Spark it is deterministic, so what it makes is a stable build side
        spark._jsparkSession.udf().register("held", held.newInstance(paths.toArray()), integer)
        self.frame: DataFrame = spark.range(0, 20, 1, 1).selectExpr("held(cast(id as int)) id")

    @property
    def is_running(self) -> bool:
        return self._started.exists()

    def let_go(self) -> None:
        self._go.touch()


@pytest.fixture
def held(spark: SparkSession, tmp_path: Path) -> Iterator[Held]:
    made = Held(spark, tmp_path)
    yield made
    made.let_go()


@pytest.mark.parametrize("how", ["all jobs", "its job group"])
def test_cancelling_a_build_ends_the_query(spark: SparkSession, pair: Path, held: Held, how: str) -> None:
    """The query fails with the cancellation, no job is left, and the next query is filtered as ever."""
    context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
    ended: list[str] = []
    group = f"headgate-cancelled-{how}"

    def run() -> None:
        context.setJobGroup(group, "a query that is cancelled")
        try:
            rows = spark.table("cat_fact").join(held.frame.where("id > 3"), sf.expr("k = id")).collect()
            ended.append(f"{len(rows)} rows")
        except Exception as error:  # noqa: BLE001 - told to the test
            ended.append(str(error))

    with enabled(spark) as gate:
        thread = InheritableThread(target=run)
        thread.start()
        until(lambda: held.is_running or bool(ended))
        assert ended == [], "the build did not wait"
        (job,) = tracker.getJobIdsForGroup(group)
        assert job in tracker.getActiveJobsIds()
        assert len(gate.reports) == 0, "the query was past its build"
        canceller = threading.Thread(
            target=context.cancelAllJobs if how == "all jobs" else lambda: context.cancelJobGroup(group)
        )
        canceller.start()
        canceller.join()
        thread.join(DEADLINE)

        assert not thread.is_alive()
        assert len(ended) == 1
        assert "cancel" in ended[0].lower()
        until(lambda: not tracker.getActiveJobsIds())
        assert list(tracker.getJobIdsForGroup(group)) == [job], "the query went on after its build"
        held.let_go()
        query = "select k from cat_fact join (select id from cat_dim where id < 9) d on k = id"
        assert rows_of(spark.sql(query)).total() == 2
        report = headgate.report(spark)
        assert [f.state for f in report.filters if f.column == "k"] == ["applied"]
        assert report.failures == []
