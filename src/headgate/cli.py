"""The command line: run SQL over Parquet tables with Headgate, explain it, or compare it with Spark alone.

    headgate sql "select count(*) from fact join dim on k = id" --table fact=data/fact --table dim=data/dim --compare

A bad path or bad SQL gives one sentence and exit code 2; ``--debug`` shows the whole trace.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import headgate
from headgate.errors import BadInput, HeadgateError
from headgate.observe.report import QueryReport, readable_bytes

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Dynamic filtering for Apache Spark.")
_SHOWN_ROWS = 20


@app.callback()
def _commands() -> None:
    """Dynamic filtering for Apache Spark."""


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="The SQL to run.")],
    table: Annotated[list[str] | None, typer.Option(help="A table as name=path; may be given several times.")] = None,
    explain: Annotated[
        bool, typer.Option(help="Show the plan with its dynamic filters instead of running it.")
    ] = False,
    compare: Annotated[bool, typer.Option(help="Run it with Headgate off and on, and compare.")] = False,
    strategy: Annotated[str, typer.Option(help="Which filters to apply: cost, always or never.")] = "cost",
    debug: Annotated[bool, typer.Option(help="Show the whole trace of an error.")] = False,
) -> None:
    """Run SQL over Parquet tables with Headgate."""
    console = Console()
    with _one_sentence(debug=debug):
        tables = dict(_named_path(item) for item in table or [])
        headgate.config.checked("strategy", strategy)
        with _spark(debug=debug) as spark:
            for name, path in tables.items():
                spark.read.parquet(path).createOrReplaceTempView(name)
            if explain:
                headgate.enable(spark, strategy=strategy)
                headgate.explain(spark.sql(query))
            elif compare:
                _compare(console, spark, query, strategy)
            else:
                headgate.enable(spark, strategy=strategy)
                _show(console, spark.sql(query).limit(_SHOWN_ROWS + 1).collect(), spark.sql(query).columns)


def _named_path(item: str) -> tuple[str, str]:
    name, equals, path = item.partition("=")
    if not equals or not name.isidentifier() or not path:
        raise BadInput(f"--table {item!r} is not name=path, as in --table fact=data/fact")
    if "://" not in path and not Path(path).exists():
        raise BadInput(f"table {name}: there is nothing at {path!r}; give the path of a Parquet file or folder")
    return name, path


def _show(console: Console, rows: list[Any], columns: list[str]) -> None:
    table = Table(*columns)
    for row in rows[:_SHOWN_ROWS]:
        table.add_row(*("NULL" if value is None else str(value) for value in row))
    console.print(table)
    if len(rows) > _SHOWN_ROWS:
        console.print(f"the first {_SHOWN_ROWS} rows are shown")


def _compare(console: Console, spark: Any, query: str, strategy: str) -> None:
    """Run each variant twice and show the second: the first also pays for Spark's own warming up."""
    _both(spark, query, strategy)
    off, expected, on, rows, report = _both(spark, query, strategy)
    same = sorted(map(repr, expected)) == sorted(map(repr, rows))
    _show(console, rows, spark.sql(query).columns)
    table = Table("", "seconds", "files", "row groups", "bytes", "same answer")
    files, groups = sum(s.files_total for s in report.scans), sum(s.row_groups_total for s in report.scans)
    table.add_row("off", f"{off:.2f}", str(files), str(groups), readable_bytes(report.bytes_total), "")
    read, left = sum(s.files_read for s in report.scans), sum(s.row_groups_read for s in report.scans)
    table.add_row("on", f"{on:.2f}", str(read), str(left), readable_bytes(report.bytes_read), "yes" if same else "NO")
    console.print(table, report)
    if not same:
        raise BadInput("the answers differ: this is a bug of Headgate, or the query is not deterministic")


def _both(spark: Any, query: str, strategy: str) -> tuple[float, list[Any], float, list[Any], QueryReport]:
    off, expected = _timed(spark, query)
    headgate.enable(spark, strategy=strategy)
    on, rows = _timed(spark, query)
    report = headgate.report(spark)
    headgate.disable(spark)
    return off, expected, on, rows, report


def _timed(spark: Any, query: str) -> tuple[float, list[Any]]:
    started = time.perf_counter()
    rows = spark.sql(query).collect()
    return time.perf_counter() - started, rows


@contextmanager
def _spark(*, debug: bool) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.appName("headgate")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("WARN" if debug else "OFF")
    if not debug:  # PySpark logs the whole Java trace of a bad query here
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _one_sentence(*, debug: bool) -> Iterator[None]:
    from pyspark.errors import PySparkException

    try:
        yield
    except (HeadgateError, PySparkException) as error:
        if debug:
            raise
        first = str(error).split(" SQLSTATE")[0].strip().splitlines()[0]
        print(f"headgate: {first}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        raise typer.Exit(2) from None


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
