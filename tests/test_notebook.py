"""What notebooks and shells show: one line or a table for each object, and the cell magic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pyspark.sql import SparkSession

import headgate
from headgate.errors import BadInput
from headgate.notebook import run_cell
from tests.batch.tables import write_rows

QUERY = "select count(*) n, sum(v) s from cell_fact join cell_dim on k = id where grp = 3"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow as pa

    home, whole = tmp_path_factory.mktemp("cells"), pa.int64()
    write_rows(home / "cell_fact", {"k": (whole, lambda i: i), "v": (whole, lambda i: i % 7)}, range(1000), files=10)
    write_rows(home / "cell_dim", {"id": (whole, lambda i: i * 7), "grp": (whole, lambda i: i // 10)}, range(50))
    for name in ("cell_fact", "cell_dim"):
        spark.read.parquet(str(home / name)).createOrReplaceTempView(name)


@pytest.fixture
def names(spark: SparkSession) -> dict[str, Any]:
    """The names of a notebook."""
    return {"spark": spark}


@pytest.mark.parametrize("cell", [QUERY, f"  -- why is it slow?\n{QUERY};", f"with t as ({QUERY}) select * from t"])
def test_a_cell_of_sql(spark: SparkSession, tables: None, names: dict[str, Any], cell: str) -> None:
    """Runs off and on; the rows are the same, and the page says what was read."""
    found = run_cell(cell, names)
    assert found.is_same
    assert [tuple(row) for row in found.rows] == [(10, sum((i * 7) % 7 for i in range(30, 40)))]
    html = found._repr_html_()
    assert "Headgate off and on" in html
    assert "cell_fact" in html


def test_a_cell_of_python(spark: SparkSession, tables: None, names: dict[str, Any]) -> None:
    """Ends with a DataFrame; its names stay in the notebook."""
    found = run_cell(f"text = {QUERY!r}\nframe = spark.sql(text)\nframe", names)
    assert (found.is_same, names["text"]) == (True, QUERY)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("frame = 1", "does not end with an expression"),
        ("1 + 1", "ends with int"),
        ("selec 1 +", "neither"),
        ("create table t as select 1 a", "is a command"),
        ("with t as (select 1 a) insert into cell_fact select * from t", "is a command"),
    ],
)
def test_a_cell_that_is_no_query_is_refused(spark: SparkSession, names: dict[str, Any], cell: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        run_cell(cell, names)


@pytest.mark.parametrize("line", ["--rounds many", "--quickly", "--rounds"])
def test_an_option_that_the_magic_does_not_know_is_refused(names: dict[str, Any], line: str) -> None:
    with pytest.raises(BadInput, match="it takes --rounds NUMBER and --strategy"):
        run_cell(QUERY, names, line)


def test_the_magic_is_loaded_by_its_extension(spark: SparkSession, tables: None) -> None:
    shell = InteractiveShell.instance()
    shell.user_ns["spark"] = spark
    try:
        shell.extension_manager.load_extension("headgate")
        found = shell.run_cell(f"%%headgate\n{QUERY}")
        assert found.success
        assert found.result.is_same
        assert "--rounds" in shell.find_cell_magic("headgate").__doc__
        assert shell.run_cell(f"%%headgate --rounds 1 --strategy never\n{QUERY}").result.report.applied == 0
    finally:
        InteractiveShell.clear_instance()


def test_comparing_leaves_the_session_as_it_was(spark: SparkSession, tables: None) -> None:
    """Neither a session without Headgate nor one with settings of its own is changed."""
    headgate.compare(spark, lambda: spark.sql(QUERY), strategy="always")
    assert headgate.api.gate_of(spark) is None
    gate = headgate.enable(spark, strategy="never")
    headgate.compare(spark, lambda: spark.sql(QUERY), strategy="always")
    assert gate.configured("strategy", "enabled") == {"strategy": "never", "enabled": "true"}


def test_each_object_is_one_line_in_a_shell(spark: SparkSession, tables: None) -> None:
    gate = headgate.enable(spark, strategy="always")
    spark.sql(QUERY).collect()
    report = headgate.report(spark)
    assert "<svg" in report._repr_html_()
    compared = headgate.compare(spark, lambda: spark.sql(QUERY))
    for shown in (repr(report), repr(gate), repr(compared), repr(gate.reports[:1])):
        assert "\n" not in shown
        assert len(shown) < 250
    assert "1 of 10 files" in repr(report) or "2 of 11 files" in repr(report)


def test_a_notebook_sees_what_a_shell_prints(spark: SparkSession, tables: None, tmp_path: Path) -> None:
    """Joins without a filter, failures and timings too."""
    gate = headgate.enable(spark, strategy="always")
    spark.sql("select count(*) from cell_fact full join cell_dim on k = id").collect()
    report = headgate.report(spark)
    report.failures = ["ValueError: <made up>"]
    html = report._repr_html_()
    assert "Joins without a filter" in html
    assert "planning" in html
    assert "&lt;made up&gt;" in html
    assert "Queries" in gate._repr_html_()


def test_the_session_is_the_one_called_spark(spark: SparkSession, tables: None, names: dict[str, Any]) -> None:
    """Another one may have been used last."""
    spark.newSession().createDataFrame([(1,)], "a int")
    assert run_cell(QUERY, names, "--rounds 1").is_same


@pytest.mark.parametrize("cell", [f"( {QUERY} )", f"/* why\nis it slow? */ {QUERY}"])
def test_sql_may_begin_with_a_bracket_or_a_comment(
    spark: SparkSession, tables: None, names: dict[str, Any], cell: str
) -> None:
    assert run_cell(cell, names, "--rounds 1").is_same


def test_no_rounds_are_refused(spark: SparkSession, names: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="at least one round, not 0"):
        run_cell(QUERY, names, "--rounds 0")
    with pytest.raises(BadInput, match="No closing quotation"):
        run_cell(QUERY, names, "--rounds 'x")
