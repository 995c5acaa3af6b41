"""Tables that change between planning and execution: the answer is one that plain Spark gives for the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.changing_tables import CHANGES, PLANNERS, ChangingTables, actions, queries
from tests.batch.differential import INTERPRETED, Answer, enabled, outcome, settings

PlainAnswers = Callable[[str, str], dict[str, Answer]]

WAITING = {"max_wait": "1h", "non_blocking": False}
LATE = {"max_wait": "0s", "non_blocking": True}
NO_BROADCAST = {"spark_sql_autoBroadcastJoinThreshold": "-1"}
NOT_ADAPTIVE = {"spark_sql_adaptive_enabled": "false"}

# how build sides run: options of Headgate, and settings of Spark
MODES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "rows kept": (WAITING, {}),
    "rows kept, not adaptive": (WAITING, NOT_ADAPTIVE),
    "rows not kept": (WAITING, NO_BROADCAST),
    "rows not kept, not adaptive": (WAITING, NO_BROADCAST | NOT_ADAPTIVE),
    "late": (LATE, {}),
    "late, by rows": (LATE | {"strategy": "always"}, NO_BROADCAST),
    "late and tapped": (LATE, NO_BROADCAST | NOT_ADAPTIVE),
}
CASES = [
    *(("catalog", "rows not kept", change) for change in CHANGES),
    *(("catalog", mode, change) for mode in MODES for change in ("dim grows", "fact grows") if mode != "rows not kept"),
    ("catalog", "rows kept", "dim shrinks"),
    ("catalog", "rows kept", "fact is overwritten"),
    ("catalog", "late", "dim is overwritten"),
    *(
        (layout, mode, change)
        for layout in ("partitioned", "path")
        for mode, change in (
            ("rows not kept", "dim grows"),
            ("rows not kept", "both grow"),
            ("rows kept", "dim is overwritten"),
            ("rows kept", "fact grows"),
            ("late", "dim grows"),
        )
    ),
]


@contextmanager
def made(spark: SparkSession, home: Path, layout: str) -> Iterator[ChangingTables]:
    tables = ChangingTables(spark, home, layout)
    try:
        yield tables
    finally:
        tables.drop_all()


def planned_frames(spark: SparkSession, layout: str) -> dict[str, DataFrame]:
    """Make a frame for each query, and have each planned by one call or another that shows something of its plan."""
    frames = {name: spark.sql(query) for name, query in queries(layout).items()}
    for number, frame in enumerate(frames.values()):
        PLANNERS[number % len(PLANNERS)](frame)
    return frames


def assert_same_answers(expected: dict[str, Answer], found: dict[str, Answer]) -> None:
    wrong = [f"{step}: {expected[step]} off, {found[step]} on" for step in expected if expected[step] != found[step]]
    assert not wrong, f"{len(wrong)} of {len(expected)} answers differ\n" + "\n".join(wrong)


@pytest.fixture(scope="module")
def plain_answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PlainAnswers:
    """What plain Spark gives for the steps of a case; it depends on the mode only in whether plans are adaptive."""
    told: dict[tuple[str, str, bool], dict[str, Answer]] = {}

    def answers(layout: str, change: str) -> dict[str, Answer]:
        key = (layout, change, spark.conf.get("spark.sql.adaptive.enabled") == "true")
        if key not in told:
            with made(spark, tmp_path_factory.mktemp("off"), layout) as tables:
                frames = planned_frames(spark, layout)
                before = {name: outcome(lambda q=query: spark.sql(q)) for name, query in queries(layout).items()}
                CHANGES[change](tables)
                told[key] = actions(frames)
            same = all(told[key][f"{name}: rows"] == rows for name, rows in before.items())
            assert not same, "the change makes no difference: the comparison proves nothing"
        return told[key]

    return answers


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "mode", "change"), CASES)
@pytest.mark.sampled(3)
def test_a_plan_made_before_a_change(
    spark: SparkSession,
    tmp_path: Path,
    come_first: None,
    plain_answers: PlainAnswers,
    layout: str,
    mode: str,
    change: str,
) -> None:
    """A frame is planned, a table changes, the frame runs: what was learned from the old files is not used any more."""
    options, configured = MODES[mode]
    with settings(spark, **INTERPRETED, **configured):
        expected = plain_answers(layout, change)
        with made(spark, tmp_path, layout) as tables, enabled(spark, **options) as gate:
            frames = planned_frames(spark, layout)
            narrowed = [r for r in gate.reports if any(f.late or f.state == "applied" for f in r.filters)]
            CHANGES[change](tables)
            found = actions(frames)
            assert gate.failures == []
    assert_same_answers(expected, found)
    assert len(narrowed) >= 3, "too few of the plans had a filter to lose"
