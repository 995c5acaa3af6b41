"""Two hundred random streams through every stateful operator: with Headgate and without it, nothing differs.

A usual run takes every fourth group of them; HEADGATE_STREAMS=all takes all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.stream.operators import OPERATORS
from tests.stream.random_programs import RandomProgram, random_program
from tests.stream.streams import Pair

PROGRAMS = [random_program(seed) for seed in range(20)]
TOGETHER = 2
ALL = os.environ.get("HEADGATE_STREAMS") == "all"
RESTART_AFTER = 2


@pytest.fixture(scope="module")
def late_rows() -> Iterator[list[int]]:
    """Late rows of each group; one may have none, but groups without any would prove little."""
    counted: list[int] = []
    yield counted
    if len(counted) >= 3:
        assert sum(count > 0 for count in counted) > len(counted) / 2, f"too few groups with late rows: {counted}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(PROGRAMS), TOGETHER if ALL else 4 * TOGETHER))
def test_random_streams_are_the_same(gated: SparkSession, tmp_path: Path, late_rows: list[int], first: int) -> None:
    """Each batch's rows, watermarks and state sizes and the final state are the same, with a restart in the middle."""
    pairs = [_pair(gated, tmp_path, program) for program in PROGRAMS[first : first + TOGETHER]]
    for part in (slice(0, RESTART_AFTER), slice(RESTART_AFTER, None)):
        for pair, program in pairs:
            pair.feed([batches[part] for batches in program.batches], first=part.start)
            pair.start()
        for pair, _ in pairs:
            pair.finish()
    late_rows.append(sum(pair.report().late_rows for pair, _ in pairs))
    for pair, program in pairs:
        pair.assert_same()
        assert pair.runs["on"].dropped <= pair.runs["off"].dropped, program


def _pair(spark: SparkSession, home: Path, program: RandomProgram) -> tuple[Pair, RandomProgram]:
    settings = {"streaming.multipleWatermarkPolicy": program.policy}
    if program.seed % 4:  # most run interpreted: compiling their code takes longer than running it
        settings |= {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN"}
    else:
        settings |= {"codegen.wholeStage": "true", "codegen.factoryMode": "FALLBACK"}
    return Pair(spark, home / f"seed-{program.seed}", program, mode=program.mode, **settings), program


def test_random_programs_are_what_they_should_be() -> None:
    """The programs are enough, and each operator, policy and output mode is among them."""
    assert sum(len(program.batches) for program in PROGRAMS) >= 200
    assert {name for program in PROGRAMS for name in program.names} == set(OPERATORS)
    assert {program.policy for program in PROGRAMS} == {"min", "max"}
    assert {program.mode for program in PROGRAMS} == {"append", "update"}
    rows = [row for program in PROGRAMS for stream in program.batches for batch in stream for row in batch]
    assert any(row[2] is None for row in rows)
    assert any(not batch for program in PROGRAMS for stream in program.batches for batch in stream)
