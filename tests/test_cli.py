"""The command line runs, explains and compares SQL, and gives one sentence and exit code 2 for bad input."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QUERY = "select count(*) n, sum(v) s from fact join dim on k = id where flag = 3"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A fact table in ten files, in order of its key, and a dimension."""
    home = tmp_path_factory.mktemp("tables")
    (home / "fact").mkdir()
    for i in range(10):
        table = pa.table({"k": np.arange(i * 1000, (i + 1) * 1000), "v": np.ones(1000)})
        pq.write_table(table, home / "fact" / f"{i}.parquet")
    pq.write_table(pa.table({"id": np.arange(0, 10_000, 10), "flag": np.arange(1000) // 100}), home / "dim.parquet")
    return ["--table", f"fact={home / 'fact'}", "--table", f"dim={home / 'dim.parquet'}"]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headgate.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_sql_compares_off_and_on(tables: list[str]) -> None:
    """--compare shows the rows, the files read both ways, and that the answer is the same."""
    done = _run("sql", QUERY, *tables, "--compare", "--strategy", "always")

    assert done.returncode == 0, done.stderr
    assert "100.0" in done.stdout
    assert "yes" in done.stdout
    assert "1 of 10" in done.stdout


def test_sql_explains(tables: list[str]) -> None:
    """--explain shows the plan with its filters."""
    done = _run("sql", QUERY, *tables, "--explain", "--strategy", "always")

    assert done.returncode == 0, done.stderr
    assert "feeds df_" in done.stdout
    assert "1 of 10 files" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("sql", "select 1", "--table", "fact=nowhere"), "there is nothing at 'nowhere'"),
        (("sql", "select 1", "--table", "fact"), "is not name=path"),
        (("sql", "select 1", "--strategy", "fast"), "cost, always or never"),
        (("sql", "select nothing from nowhere"), "TABLE_OR_VIEW_NOT_FOUND"),
        (("sql", "selec 1"), "PARSE_SYNTAX_ERROR"),
        (("bench", "tpch", "--layout", "heap"), "plain, clustered, partitioned"),
        (("bench", "run", "--tables", "nowhere", "--queries", "nowhere"), "there is no folder at 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line that says what is wrong, no trace."""
    done = _run(*arguments)

    lines = [line for line in done.stderr.splitlines() if line.startswith("headgate:")]
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(lines) == 1
    assert told in lines[0]
    assert "Traceback" not in done.stderr
    assert "\tat " not in done.stderr
