"""The command line runs, explains and compares SQL, and gives one sentence and exit code 2 for bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

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


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headgate.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


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
        (("sql", "select 1", "--table", "fact"), "must be name=path"),
        (("sql", "select 1", "--strategy", "fast"), "cost, always or never"),
        (("sql", "select nothing from nowhere"), "TABLE_OR_VIEW_NOT_FOUND"),
        (("sql", "selec 1"), "PARSE_SYNTAX_ERROR"),
        (("bench", "tpch", "--layout", "heap"), "plain, clustered, partitioned"),
        (("bench", "run", "--tables", "nowhere", "--queries", "nowhere"), "there is no folder at 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line that says what is wrong, no trace."""
    assert told in _refusal(_run(*arguments))


def _refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that a refused command says, and make sure that it is the only one."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("headgate: ")
    return lines[0]


def test_an_answer_and_nothing_else(tables: list[str], tmp_path: Path) -> None:
    """A glob is a path like any other; Spark starts and ends in silence."""
    fact = next(table for table in tables if table.startswith("fact="))
    done = _run("sql", "select count(*) n from f", "--table", f"f={fact.removeprefix('fact=')}/*.parquet")

    assert done.returncode == 0, done.stderr
    assert "10000" in done.stdout
    assert done.stderr == ""


def test_debug_lets_spark_speak() -> None:
    done = _run("sql", "selec 1", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "log4j" in done.stderr


@pytest.mark.parametrize("where", ["footer", "pages"])
def test_a_broken_file_is_named(tmp_path: Path, where: str) -> None:
    """Whether Spark sees it when it looks for columns, or only when it reads rows."""
    path = tmp_path / "broken.parquet"
    pq.write_table(pa.table({"v": np.random.default_rng(1).random(100_000)}), path)
    held = bytearray(path.read_bytes())
    start, end = (len(held) - 100, len(held)) if where == "footer" else (4, len(held) // 2)
    held[start:end] = bytes(byte ^ 0x5A for byte in held[start:end])
    path.write_bytes(bytes(held))

    told = _refusal(_run("sql", "select sum(v) from t", "--table", f"t={path}"))

    assert "broken.parquet" in told
    assert "write it again" in told


def test_the_version_is_told() -> None:
    done = _run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"headgate {version('headgate')}\n", "")


def test_no_java(tmp_path: Path) -> None:
    """Neither JAVA_HOME nor a java on the PATH."""
    told = _refusal(_run("sql", "select 1", JAVA_HOME="", PATH=str(tmp_path)))
    assert "install Java 17" in told
    assert "set JAVA_HOME" in told


def test_java_home_without_java(tmp_path: Path) -> None:
    told = _refusal(_run("sql", "select 1", JAVA_HOME=str(tmp_path)))
    assert str(tmp_path) in told
    assert "install Java 17" in told


@pytest.mark.parametrize(("said", "number"), [("11.0.22", "11"), ("1.8.0_402", "8")])
def test_java_that_is_too_old(tmp_path: Path, said: str, number: str) -> None:
    """A program called java that says what an old Java says."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n")
    java.chmod(0o755)

    told = _refusal(_run("sql", "select 1", JAVA_HOME=str(tmp_path)))

    assert f"which is Java {number}" in told
    assert "Java 17 or later" in told
