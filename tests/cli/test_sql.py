"""The command line runs, explains and compares SQL, and gives one sentence and exit code 2 for bad input.

Most commands are called in this process, where they find Spark running; what a process of its own says when it starts
Spark is asked of three.
"""

from __future__ import annotations

import io
import json
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.cli.commands import QUERY, Command, Done, in_a_process, refusal


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
        (("sql", "select 1", "--table", "my fact=."), "'my fact' is no name of a table"),
        (("sql", "select 1", "--table", "t=.", "--table", "t=."), "--table gives t several times"),
        (("sql", "select 1", "--strategy", "fast"), "cost, always or never"),
        (("bench", "tpch", "--layout", "heap"), "plain, clustered, partitioned"),
        (("bench", "run", "--tables", "nowhere", "--queries", "nowhere"), "there is no folder at 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(called: Command, arguments: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line that says what is wrong, no trace; and no Java is started to find out."""
    assert told in refusal(called(*arguments))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select nothing from nowhere", r"TABLE_OR_VIEW_NOT_FOUND.*\(line 1, position 21\)"),
        ("select 1; select 2", "there are 2 statements"),
        ("selec 1", r"PARSE_SYNTAX_ERROR.*\(line 1, position 1\)"),
        ("select 1\nfrom range(1) where nothing", r"UNRESOLVED_COLUMN.*\(line 2, position 21\)"),
    ],
)
def test_bad_sql_is_one_sentence(spark: SparkSession, called: Command, query: str, told: str) -> None:
    assert re.search(told, refusal(called("sql", query)))


@pytest.mark.parametrize("how", ["--explain", "--compare"])
def test_a_command_is_not_run_to_be_looked_at(spark: SparkSession, called: Command, tmp_path: Path, how: str) -> None:
    command = f"create table looked_at using parquet location '{tmp_path / 'looked_at'}' as select 1 as k"
    assert "'create table looked_at'... is a command" in refusal(called("sql", how, command))
    (tmp_path / "command.sql").write_text(command)
    assert "is a command" in refusal(called("why", str(tmp_path / "command.sql")))
    advised = ("--table", f"t=csv:{tmp_path / 'command.sql'}", "--file", str(tmp_path / "command.sql"))
    assert "is a command" in refusal(called("advise", *advised))
    assert not (tmp_path / "looked_at").exists()


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
@pytest.mark.thorough
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
    told = refusal(called("sql", "select sum(v) from t", *_broken(tmp_path, where)))

    assert "broken.parquet" in told
    assert "write it again" in told


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.thorough
def test_a_broken_file_is_all_that_is_told(tmp_path: Path) -> None:
    """The Java process that fails in its tasks says nothing of it to the user."""
    assert "broken.parquet" in refusal(in_a_process("sql", "select sum(v) from t", *_broken(tmp_path, "pages")))


def test_the_version_is_told() -> None:
    done = in_a_process("--version")
    assert done == Done(0, f"headgate {version('headgate')}\n", "")


def test_no_java(called: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither JAVA_HOME nor a java on the PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    told = refusal(called("sql", "select 1"))

    assert "install Java 17" in told
    assert "set JAVA_HOME" in told


def test_java_home_without_java(called: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    told = refusal(called("sql", "select 1"))

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

    told = refusal(called("sql", "select 1"))

    assert f"which is Java {number}" in told
    assert "Java 17 or later" in told


# --- where the SQL comes from, and where the rows go ------------------------------------------------------------------


def test_sql_from_a_file_or_from_standard_input(
    spark: SparkSession, called: Command, tables: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "query.sql").write_text(f"{QUERY};\n")
    assert "100.0" in called("sql", "--file", str(tmp_path / "query.sql"), *tables).out
    for argument in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO(QUERY))
        assert "100.0" in called("sql", *argument, *tables).out


def test_rows_for_programs(spark: SparkSession, called: Command, tables: list[str], tmp_path: Path) -> None:
    """CSV, JSON lines and Parquet hold the same rows, and nothing else is said."""
    query = "select id, flag from dim where id < 50 order by id"
    rows = [{"id": i, "flag": 0} for i in range(0, 50, 10)]
    told = called("sql", query, *tables, "--format", "json")
    assert ([json.loads(line) for line in told.out.splitlines()], told.err) == (rows, "")
    for name in ("csv", "parquet"):
        out = tmp_path / f"rows.{name}"
        assert called("sql", query, *tables, "--format", name, "--out", str(out)) == Done(0, "", "")
        read = pyarrow.csv.read_csv(out) if name == "csv" else pq.read_table(out)
        assert read.to_pylist() == rows


def test_a_limit_counts_in_every_form(spark: SparkSession, called: Command, tables: list[str]) -> None:
    assert called("sql", "select id from dim", *tables, "--format", "csv", "--limit", "3").out.count("\n") == 4
    told = called("sql", "select id from dim", *tables, "--limit", "3").out
    assert "only the first 3 rows are shown" in told


def test_settings_of_spark(spark: SparkSession, called: Command) -> None:
    told = called(
        "sql", "set spark.sql.shuffle.partitions", "--conf", "spark.sql.shuffle.partitions=7", "--format", "csv"
    )
    assert "7" in told.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "parquet"), "add --out"),
        (("--conf", "nonsense"), "must be key=value"),
        (("--conf", "spark.headgate.maxwait=1s"), "is not a setting; is it spark.headgate.maxWait?"),
        (("--conf", "spark.headgate.qqqqq=1s"), "is one of enabled, strategy, "),
        (("--conf", "spark.headgate.maxWait=soon"), "spark.headgate.maxWait='soon' is not allowed"),
        (("--master", "bogus"), "--master 'bogus' is no place where Spark runs; use local[4]"),
        (("--explain", "--compare"), "give one of them"),
        (("--compare", "--format", "csv"), "leave them out with --explain or --compare"),
        (("--explain", "--out", "rows.txt"), "leave them out with --explain or --compare"),
        (("--table", "t=" + "x" * 5000), "there is nothing at"),
        (("--format", "csv", "--out", "."), "is a folder; give a file in it"),
        (("--format", "csv", "--out", "nowhere/rows.csv"), "there is no folder 'nowhere'"),
        (("--table", "t=parquette:/data"), "'parquette' is no format that is read here; use parquet, orc"),
        (("--file", "nowhere.sql"), "there is no file at 'nowhere.sql'"),
    ],
)
def test_bad_options_are_one_sentence(called: Command, arguments: tuple[str, ...], told: str) -> None:
    query = [] if "--file" in arguments else ["select 1"]
    assert told in refusal(called("sql", *query, *arguments))


def test_nested_rows_do_not_fit_into_csv(spark: SparkSession, called: Command) -> None:
    assert "use --format json" in refusal(called("sql", "select array(1) a", "--format", "csv"))


def test_rows_go_into_a_file_as_its_name_ends(spark: SparkSession, called: Command, tmp_path: Path) -> None:
    """A file has all of them, also as a table."""
    query = "select id from range(50)"
    for name in ("rows.csv", "rows.json", "rows.PARQUET", "rows.txt"):
        assert called("sql", query, "--out", str(tmp_path / name)).code == 0
    assert pq.read_table(tmp_path / "rows.PARQUET").num_rows == 50
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 51
    assert json.loads((tmp_path / "rows.json").read_text().splitlines()[-1]) == {"id": 49}
    assert " 49 " in (tmp_path / "rows.txt").read_text()


def test_bytes_do_not_fit_into_csv(spark: SparkSession, called: Command) -> None:
    told = called("sql", "select cast('a' as binary) b", "--format", "csv")
    assert "column 'b' has bytes" in refusal(told)
    assert told.out == ""


def test_what_was_there_is_kept_until_the_rows_are_whole(
    spark: SparkSession, called: Command, tables: list[str], tmp_path: Path
) -> None:
    """A query that fails, or that reads what it would replace, loses nothing."""
    out = tmp_path / "rows.csv"
    out.write_text("kept")
    assert called("sql", "select raise_error('no')", "--format", "csv", "--out", str(out)).code == 2
    assert (out.read_text(), len(list(tmp_path.iterdir()))) == ("kept", 1)
    dim = next(table for table in tables if table.startswith("dim=")).partition("=")[2]
    before = Path(dim).read_bytes()
    into_itself = called("sql", "select * from dim", *tables, "--format", "parquet", "--out", dim)
    assert "is one of the tables, or lies in one" in refusal(into_itself)
    assert Path(dim).read_bytes() == before
    assert called("sql", "select 7 a", "--format", "csv", "--out", str(out)).code == 0
    assert out.read_text().split() == ['"a"', "7"]


def test_values_are_shown_as_they_are(spark: SparkSession, called: Command) -> None:
    """Brackets are no markup, and control characters do nothing to a terminal."""
    query = "select '[v6] [/b] :smile:' as `[x]`, concat('a', char(27), '[31m') c"
    for more in ((), ("--compare",)):
        done = called("sql", query, *more)
        assert done.code == 0, done.err
        assert "[v6] [/b] :smile:" in done.out
        assert "[x]" in done.out
        assert "a\\x1b[31m" in done.out


def test_sql_that_is_not_utf8_is_refused(called: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select '\xff'"), encoding="utf-8"))
    assert "cannot be read as text" in refusal(called("sql", "-"))
    assert "is not UTF-8" in refusal(called("sql", "select '\udcff'"))


def test_a_file_that_cannot_be_written(spark: SparkSession, called: Command, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    out.symlink_to(tmp_path / "no" / "rows.csv")
    assert "cannot be written" in refusal(called("sql", "select 1", "--format", "csv", "--out", str(out)))


# --- tables of all kinds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["orc", "csv", "json", "lance"])
def test_tables_of_other_kinds(spark: SparkSession, called: Command, tmp_path: Path, kind: str) -> None:
    """The format is told by what lies there; a prefix says it outright."""
    path = str(tmp_path / "t")
    if kind == "lance":
        pytest.importorskip("lance").write_dataset(pa.table({"id": [1, 2, 3]}), path)
    else:
        spark.range(1, 4).write.format(kind).option("header", "true").save(path)
    for given in (path, f"{kind}:{path}"):
        done = called("sql", "select sum(id) s from t", "--table", f"t={given}", "--format", "csv")
        assert done.out.splitlines() == ['"s"', "6"], done.err


def test_a_format_without_a_reader_says_which_jar(spark: SparkSession, called: Command, tmp_path: Path) -> None:
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    told = refusal(called("sql", "select 1", "--table", f"t={tmp_path / 't'}"))
    assert "is delta" in told
    assert "io.delta:delta-spark" in told


# --- why --------------------------------------------------------------------------------------------------------------


def test_why_says_it_in_words(spark: SparkSession, called: Command, tables: list[str], tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(QUERY)
    told = called("why", str(tmp_path / "q.sql"), *tables, "--strategy", "always").out
    assert "fact is filtered by df_0, and reads 1 of 10 files." in told
    (tmp_path / "q.sql").write_text("select count(*) from fact full join dim on k = id")
    told = called("why", str(tmp_path / "q.sql"), *tables).out
    assert "feeds no filter" in told
    assert "fact is read whole" in told
