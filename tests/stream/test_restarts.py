"""A query that is killed and started again goes on with the right watermark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench import restarts
from tests.stream.streams import Pair
from tests.stream.test_pushdown import RISING, windowed

CLUSTER = "local-cluster[2,1,1024]"


def test_a_restart_goes_on_with_the_watermark_of_the_checkpoint(gated: SparkSession, tmp_path: Path) -> None:
    """The filter is still there, and the first batch after a restart cuts off what it would have without one."""
    pair = Pair(gated, tmp_path, windowed)
    pair.feed([RISING])
    pair.run()
    pair.feed([[[(1, 9, 3.0), (1, 9, 300.0)], [(1, 9, 100.0)]]], first=2)
    pair.run()
    pair.assert_same()
    told = {batch.batch_id: batch for batch in pair.report().batches}
    after = [batch for number, batch in told.items() if number >= 2 and batch.sources]
    assert [batch.sources[0].late_rows for batch in after] == [1, 1]
    assert pair.runs["off"].dropped == 2


@pytest.mark.slow
@pytest.mark.thorough
def test_killed_it_writes_what_an_undisturbed_run_writes(spark: SparkSession, tmp_path: Path) -> None:
    """SIGKILL in the middle of batches, with Headgate on; the undisturbed run is Spark alone."""
    restarts.write_input(tmp_path / "source", seed=6, files=8)
    plain = spark.newSession()
    plain.conf.set("spark.sql.shuffle.partitions", "1")
    restarts.to_files(restarts.counted_by_window(plain, tmp_path / "source"), tmp_path / "plain")
    killed = restarts.run(tmp_path / "killed", tmp_path / "source", kills=1, seed=6)
    assert killed.kills == 1
    assert killed.batches == restarts.written(tmp_path / "plain")
    assert len(killed.batches) >= 8
    assert killed.late_rows > 0


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.thorough
def test_a_moving_value_killed(spark: SparkSession, tmp_path: Path) -> None:
    """Each batch of the dynamic filter operator tells what it tells in an undisturbed run, also on executors."""
    restarts.write_moves(tmp_path / "source", seed=6, files=5)
    plain = spark.newSession()
    plain.conf.set("spark.sql.shuffle.partitions", "1")
    restarts.to_files(restarts.rows_above(plain, tmp_path / "source"), tmp_path / "plain")
    killed = restarts.run(tmp_path / "killed", tmp_path / "source", kills=1, seed=6, query="moves", master=CLUSTER)
    assert killed.kills == 1
    assert killed.batches == restarts.written(tmp_path / "plain")
    assert len(killed.batches) == 5
