"""Run each example as a reader would, from another directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.domain import DomainBuilder
from headgate.prune import survivors_of_column

ROOT = Path(__file__).resolve().parent.parent
SLOW = [pytest.mark.spark, pytest.mark.slow, pytest.mark.thorough]  # each starts a Spark of its own
WITH_SPARK = {"star_schema": SLOW, "money_that_comes_back": SLOW, "moving_threshold": SLOW}
# rows in each file, and transfers: a demo for people takes many more, to show the difference
ARGUMENTS = {"star_schema": ["2000"], "money_that_comes_back": ["30000"]}
EXAMPLES = [
    pytest.param(path, marks=WITH_SPARK.get(path.stem, []), id=path.stem)
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    """An example ends well; each of them checks its own answer and says so with its exit code."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    command = [sys.executable, "-W", "error", str(example), *ARGUMENTS.get(example.stem, [])]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_prune_a_folder_reads_a_part_and_loses_nothing(tmp_path: Path) -> None:
    """The demo's own claim: fewer files, the same rows."""
    from examples import prune_a_folder as demo

    demo.write_sales(tmp_path)
    files = sorted(tmp_path.glob("*.parquet"))
    days = demo.promotion_days()
    builder = DomainBuilder("date")
    builder.add(days)
    keep = survivors_of_column(builder.build(), demo.footer_bounds(files, "day"))
    kept = [file for file, is_kept in zip(files, keep, strict=True) if is_kept]
    assert 0 < len(kept) < len(files) // 4
    assert demo.read_matching(files, days)[0].equals(demo.read_matching(kept, days)[0])
