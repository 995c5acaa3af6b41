"""The command line runs, explains and compares SQL, and gives one sentence and exit code 2 for bad input.

Most commands are called in this process, where they find Spark running; what a process of its own says when it starts
Spark is asked of three.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headgate import cli

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


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


def in_a_process(*arguments: str) -> Done:
    """Run a command as a user does."""
    command = [sys.executable, "-m", "headgate.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process."""
    monkeypatch.setattr(PySparkLogger.getLogger("SQLQueryContextLogger"), "level", logging.NOTSET)

    def call(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        told = capfd.readouterr()
        return Done(int(ended.value.code or 0), told.out, told.err)

    return call


def test_sql_compares_off_and_on(spark: SparkSession, called: Command, tables: list[str]) -> None:
    """--compare shows the rows, the files read both ways, and that the answer is the same."""
    done = called("sql", QUERY, *tables, "--compare", "--strategy", "always")

    assert done.code == 0, done.err
    assert "100.0" in done.out
    assert "yes" in done.out
    assert "1 of 10" in done.out


def test_sql_explains(spark: SparkSession, called: Command, tables: list[str]) -> None:
    """--explain shows the plan with its filters."""
    done = called("sql", QUERY, *tables, "--explain", "--strategy", "always")

    assert done.code == 0, done.err
    assert "feeds df_" in done.out
    assert "1 of 10 files" in done.out


def test_a_running_session_keeps_its_views(spark: SparkSession, called: Command, tables: list[str]) -> None:
    """Where Spark runs already, a command has views of its own, and Spark goes on running."""
    before = {table.name for table in spark.catalog.listTables()}

    assert called("sql", "select 1 from fact limit 1", *tables).code == 0
    assert {table.name for table in spark.catalog.listTables()} == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("sql", "select 1", "--table", "fact=nowhere"), "there is nothing at 'nowhere'"),
        (("sql", "select 1", "--table", "fact"), "must be name=path"),
        (("sql", "select 1", "--strategy", "fast"), "cost, always or never"),
        (("bench", "tpch", "--layout", "heap"), "plain, clustered, partitioned"),
        (("bench", "run", "--tables", "nowhere", "--queries", "nowhere"), "there is no folder at 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(called: Command, arguments: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line that says what is wrong, no trace; and no Java is started to find out."""
    assert told in _refusal(called(*arguments))


@pytest.mark.parametrize(
    ("query", "told"),
    [("select nothing from nowhere", "TABLE_OR_VIEW_NOT_FOUND"), ("selec 1", "PARSE_SYNTAX_ERROR")],
)
def test_bad_sql_is_one_sentence(spark: SparkSession, called: Command, query: str, told: str) -> None:
    assert told in _refusal(called("sql", query))


def _refusal(done: Done) -> str:
    """Return the one line that a refused command says, and make sure that it is the only one."""
    assert done.code == 2, done.out + done.err
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("headgate: ")
    return lines[0]


@pytest.mark.spark
@pytest.mark.slow
def test_an_answer_and_nothing_else(tables: list[str]) -> None:
    """A glob is a path like any other; Spark starts and ends in silence."""
    fact = next(table for table in tables if table.startswith("fact="))
    done = in_a_process("sql", "select count(*) n from f", "--table", f"f={fact.removeprefix('fact=')}/*.parquet")

    assert done.code == 0, done.err
    assert "10000" in done.out
    assert done.err == ""


@pytest.mark.spark
@pytest.mark.slow
def test_debug_lets_spark_speak() -> None:
    done = in_a_process("sql", "selec 1", "--debug")
    assert done.code not in (0, 2)
    assert "Traceback" in done.err
    assert "log4j" in done.err


def _broken(folder: Path, where: str) -> list[str]:
    """Write a table whose footer or pages are spoilt."""
    path = folder / "broken.parquet"
    pq.write_table(pa.table({"v": np.random.default_rng(1).random(100_000)}), path)
    held = bytearray(path.read_bytes())
    start, end = (len(held) - 100, len(held)) if where == "footer" else (4, len(held) // 2)
    held[start:end] = bytes(byte ^ 0x5A for byte in held[start:end])
    path.write_bytes(bytes(held))
    return ["--table", f"t={path}"]


@pytest.mark.parametrize("where", ["footer", "pages"])
def test_a_broken_file_is_named(spark: SparkSession, called: Command, tmp_path: Path, where: str) -> None:
    """Whether Spark sees it when it looks for columns, or only when it reads rows."""
    told = _refusal(called("sql", "select sum(v) from t", *_broken(tmp_path, where)))

    assert "broken.parquet" in told
    assert "write it again" in told


@pytest.mark.spark
@pytest.mark.slow
def test_a_broken_file_is_all_that_is_told(tmp_path: Path) -> None:
    """The Java process that fails in its tasks says nothing of it to the user."""
    assert "broken.parquet" in _refusal(in_a_process("sql", "select sum(v) from t", *_broken(tmp_path, "pages")))


def test_the_version_is_told() -> None:
    done = in_a_process("--version")
    assert done == Done(0, f"headgate {version('headgate')}\n", "")


def test_no_java(called: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither JAVA_HOME nor a java on the PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    told = _refusal(called("sql", "select 1"))

    assert "install Java 17" in told
    assert "set JAVA_HOME" in told


def test_java_home_without_java(called: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    told = _refusal(called("sql", "select 1"))

    assert str(tmp_path) in told
    assert "install Java 17" in told


@pytest.mark.parametrize(("said", "number"), [("11.0.22", "11"), ("1.8.0_402", "8")])
def test_java_that_is_too_old(
    called: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, number: str
) -> None:
    """A program called java that says what an old Java says."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    told = _refusal(called("sql", "select 1"))

    assert f"which is Java {number}" in told
    assert "Java 17 or later" in told
