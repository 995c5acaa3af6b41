"""Random streams through every stateful operator: with Headgate and without it, nothing differs, to the last bit.

A usual run takes ten streams, which are one program; HEADGATE_STREAMS=all takes two hundred, and a number takes so
many.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.stream.between import STEPS
from tests.stream.operators import OPERATORS
from tests.stream.random_programs import RandomProgram, random_program, write_files
from tests.stream.streams import Pair

STREAMS_EACH = 10  # in one program
PROGRAMS = [random_program(seed) for seed in range(20)]
WANTED = os.environ.get("HEADGATE_STREAMS", "10")
SEEDS = range(len(PROGRAMS) if WANTED == "all" else math.ceil(int(WANTED) / STREAMS_EACH))
RESTART_AFTER = 2


@pytest.fixture(scope="module")
def late_rows() -> Iterator[list[int]]:
    """Late rows of each program; one may have none, but programs without any would prove little."""
    counted: list[int] = []
    yield counted
    if len(counted) >= 3:
        assert sum(count > 0 for count in counted) >= len(counted) / 3, f"too few with late rows: {counted}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_random_streams_are_the_same(gated: SparkSession, tmp_path: Path, late_rows: list[int], seed: int) -> None:
    """Each batch's rows, watermarks and state sizes and the final state are the same, with a restart in the middle."""
    program = random_program(seed)
    pair = _pair(gated, tmp_path, program)
    for part in (slice(0, RESTART_AFTER), slice(RESTART_AFTER, None)):
        pair.feed([batches[part] for batches in program.batches], first=part.start, write=write_files)
        pair.run()
    late_rows.append(pair.report().late_rows)
    pair.assert_same()
    assert pair.runs["on"].dropped <= pair.runs["off"].dropped, program
    pair.clean()


def _pair(spark: SparkSession, home: Path, program: RandomProgram) -> Pair:
    settings = {"streaming.multipleWatermarkPolicy": program.policy, "files.openCostInBytes": "1"}
    settings["files.maxPartitionBytes"] = ["128m", "2k"][program.seed % 2]  # few bytes: files are cut, and packed anew
    settings["shuffle.partitions"] = str(1 + program.seed % 2)
    if program.seed % 4:  # most run interpreted: compiling their code takes longer than running it
        settings |= {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN"}
    else:
        settings |= {"codegen.wholeStage": "true", "codegen.factoryMode": "FALLBACK"}
    return Pair(spark, home / f"seed-{program.seed}", program, mode=program.mode, **settings)


def test_random_programs_are_what_they_should_be() -> None:
    """The programs are enough, and each operator, step, policy and output mode is among them."""
    assert sum(len(program.batches) for program in PROGRAMS) == STREAMS_EACH * len(PROGRAMS)
    assert {step for program in PROGRAMS for step in program.steps} == set(STEPS)
    assert {name for program in PROGRAMS for name in program.names} == set(OPERATORS)
    assert {program.policy for program in PROGRAMS} == {"min", "max"}
    assert {program.mode for program in PROGRAMS} == {"append", "update"}
    rows = [row for program in PROGRAMS for stream in program.batches for batch in stream for row in batch]
    assert any(row[2] is None for row in rows)
    assert any(not batch for program in PROGRAMS for stream in program.batches for batch in stream)
