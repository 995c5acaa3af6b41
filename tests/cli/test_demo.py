"""The demo shows four things, each with the same answer off and on, and leaves a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.commands import Command


@pytest.mark.slow
def test_the_demo_ends_with_the_same_answers(spark: SparkSession, called: Command, tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    done = called("demo", "--rows", "20000", "--out", str(page))
    assert done.code == 0, done.err
    assert len(re.findall(r"│ yes +│", done.out)) == 4
    assert "│ NO" not in done.out
    assert str(page) in done.out.replace("\n", "")
    assert '"record":"graph"' in page.read_text(encoding="utf-8")
