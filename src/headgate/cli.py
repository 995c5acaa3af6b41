"""The command line: run SQL over Parquet tables with Headgate, explain it, or compare it with Spark alone.

    headgate sql "select count(*) from fact join dim on k = id" --table fact=data/fact --table dim=data/dim --compare

A bad path, a broken file, bad SQL or a missing Java gives one sentence and exit code 2; ``--debug`` shows the whole
trace, and what Spark itself says.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.logger import PySparkLogger
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import headgate
from headgate.advise import advise as find_advice
from headgate.advise.advice import read_queries
from headgate.catalyst.sentences import SPARK_ERRORS, sentence
from headgate.errors import BadInput, HeadgateError
from headgate.observe.report import QueryReport
from headgate.plan.sizes import readable_bytes
from headgate.suites.anchors import anchors as find_anchors
from headgate.suites.data import DEFAULT_HOME, SUITES
from headgate.suites.data import tables as make_tables
from headgate.suites.queries import folder_queries, original_queries, suite_queries
from headgate.suites.results import Run, into_document, to_markdown, write
from headgate.suites.runner import QueryResult, run_suite, spark_over
from headgate.suites.unfinished import Unfinished

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Dynamic filtering for Apache Spark.")
_SHOWN_ROWS = 20
_JAVA = 17
_INSTALL = f"install Java {_JAVA} (on Debian or Ubuntu: sudo apt-get install openjdk-{_JAVA}-jre-headless)"


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headgate {version('headgate')}")
        raise typer.Exit


@app.callback()
def _commands(
    _: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
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
    debug: Annotated[bool, typer.Option(help="Show the full trace of an error.")] = False,
) -> None:
    """Run SQL over Parquet tables with Headgate."""
    console = Console()
    with _one_sentence(debug=debug):
        tables = dict(_named_path(item) for item in table or [])
        headgate.config.checked("strategy", strategy)
        with _started(_spark(debug=debug), debug=debug) as spark:
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


@app.command()
def advise(
    table: Annotated[list[str], typer.Option(help="A table as name=path; may be given several times.")],
    file: Annotated[list[Path], typer.Option(help="A file with SQL; may be given several times.")],
    debug: Annotated[bool, typer.Option(help="Show the full trace of an error.")] = False,
) -> None:
    """Say which column to cluster each table by, and how many files the queries would then read."""
    console = Console()
    with _one_sentence(debug=debug):
        tables, queries = dict(_named_path(item) for item in table), read_queries(file)
        with _started(_spark(debug=debug), debug=debug) as spark:
            for name, path in tables.items():
                spark.read.parquet(path).createOrReplaceTempView(name)
            for one in find_advice(spark, queries):
                console.print(str(one), soft_wrap=True, highlight=False, markup=False)


bench = typer.Typer(no_args_is_help=True, help="Run whole suites with Headgate off and on, and compare every row.")
app.add_typer(bench, name="bench")


def _suite_command(suite: str) -> Callable[..., None]:
    def command(
        scale: Annotated[float, typer.Option(help="The scale factor; 1 is about a gigabyte.")] = 1.0,
        layout: Annotated[str, typer.Option(help="plain, clustered or partitioned (by date).")] = "clustered",
        rounds: Annotated[int, typer.Option(help="Number of timed rounds, after one to warm up.")] = 3,
        only: Annotated[str, typer.Option(help="Run only these queries, such as q03,q05.")] = "",
        anchors: Annotated[bool, typer.Option(help="Also time the anchors that are installed.")] = False,
        without: Annotated[str, typer.Option(help="Anchors to leave out, such as lowered,datafusion.")] = "",
        resume: Annotated[bool, typer.Option(help="Continue the same run if it was stopped.")] = False,
        document: Annotated[Path | None, typer.Option(help="A Markdown document to write the table into.")] = None,
        home: Annotated[Path, typer.Option(help="Where tables and results are kept.")] = DEFAULT_HOME,
        debug: Annotated[bool, typer.Option(help="Show the full trace of an error.")] = False,
    ) -> None:
        with _one_sentence(debug=debug):
            folder = make_tables(suite, scale, layout, home, tell=typer.echo)
            queries = _chosen(suite_queries(suite), only)
            text = f"headgate bench {suite} --scale {scale:g} --layout {layout} --rounds {rounds}"
            text += f"{f' --only {only}' if only else ''}{' --anchors' if anchors else ''}"
            text += f" --without {without}" if without else ""
            some = only.replace(",", " ").split()  # such a run must not write over the results of the whole suite
            title = f"{suite.upper()} scale {scale:g}, {layout}{', ' if some else ''}{' '.join(some)}"
            measured = suite if anchors else ""
            run = _run_bench(
                title,
                text,
                folder,
                queries,
                rounds,
                home,
                measured=measured,
                without=without,
                resume=resume,
                debug=debug,
            )
            if document is not None:
                into_document(document, "-".join([suite, f"{scale:g}", layout, *some]), to_markdown(run))
            _refuse_differences(run)

    command.__doc__ = f"Make the tables of {suite.upper()}, run all its queries off and on, and write the results."
    return command


for _suite in SUITES:
    bench.command(_suite)(_suite_command(_suite))


@bench.command("run")
def bench_run(
    tables: Annotated[Path, typer.Option(help="A folder with one folder of Parquet files for each table.")],
    queries: Annotated[Path, typer.Option(help="A folder of .sql files, one query each.")],
    rounds: Annotated[int, typer.Option(help="Number of timed rounds, after one to warm up.")] = 3,
    home: Annotated[Path, typer.Option(help="Where results are kept.")] = DEFAULT_HOME,
    debug: Annotated[bool, typer.Option(help="Show the full trace of an error.")] = False,
) -> None:
    """Do the same for your own Parquet tables and SQL files."""
    with _one_sentence(debug=debug):
        for folder in (tables, queries):
            if not folder.is_dir():
                raise BadInput(f"there is no folder at {str(folder)!r}")
        command = f"headgate bench run --tables {tables} --queries {queries} --rounds {rounds}"
        title = f"{tables.name}, own queries"
        _refuse_differences(_run_bench(title, command, tables, folder_queries(queries), rounds, home, debug=debug))


def _chosen(queries: dict[str, str], only: str) -> dict[str, str]:
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    if unknown := set(wanted) - queries.keys():
        raise BadInput(f"there is no query {min(unknown)!r}; the queries are {', '.join(queries)}")
    return {name: queries[name] for name in wanted} if wanted else queries


def _run_bench(
    title: str,
    command: str,
    folder: Path,
    queries: dict[str, str],
    rounds: int,
    home: Path,
    *,
    measured: str = "",
    without: str = "",
    resume: bool = False,
    debug: bool = False,
) -> Run:
    """Run the queries and write what was found; a suite that is ``measured`` also meets anchors, ``without`` some."""
    console, results = Console(), home / "results" / title.lower().replace(" ", "-").replace(",", "")
    unfinished = Unfinished(results, command, resume=resume)
    done = {result.name for result in unfinished.results}
    queries = {name: text for name, text in queries.items() if name not in done}
    with _started(spark_over(folder), debug=debug) as spark, Progress(console=console, transient=True) as progress:
        task = progress.add_task("queries", total=len(queries))
        others = find_anchors(spark, folder, measured, original_queries(measured)) if measured else []
        others = [anchor for anchor in others if anchor.name not in without.replace(",", " ").split()]

        def advance(result: QueryResult) -> None:
            unfinished.add(result)
            progress.advance(task)
            if not console.is_terminal:  # a log has no bar that moves
                console.print(f"{result.name}  off {result.off:.2f} s  on {result.on:.2f} s  {result.differs}")

        run_suite(spark, queries, rounds, advance, anchors=others)
    run = Run(title, command, unfinished.finish(), rounds)
    console.print("\n".join(run.summary()))
    for path in write(run, results):
        console.print(f"wrote {path}")
    return run


def _refuse_differences(run: Run) -> None:
    if any(result.differs for result in run.results):
        raise BadInput("some answers differ; see the lines above")


def _named_path(item: str) -> tuple[str, str]:
    name, equals, path = item.partition("=")
    if not equals or not name.isidentifier() or not path:
        raise BadInput(f"--table {item!r} must be name=path, as in --table fact=data/fact")
    is_glob = any(sign in path for sign in "*?[{")  # which Spark resolves
    if "://" not in path and not is_glob and not Path(path).exists():
        raise BadInput(f"table {name}: there is nothing at {path!r}; give the path of a Parquet file or folder")
    return name, path


def _show(console: Console, rows: list[Any], columns: list[str]) -> None:
    table = Table(*columns)
    for row in rows[:_SHOWN_ROWS]:
        table.add_row(*("NULL" if value is None else str(value) for value in row))
    console.print(table)
    if len(rows) > _SHOWN_ROWS:
        console.print(f"only the first {_SHOWN_ROWS} rows are shown")


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
        raise BadInput("the answers differ: either this is a bug in Headgate, or the query is not deterministic")


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
    """A session for one command; where Spark runs already, one with views of its own, and Spark goes on running."""
    from pyspark.sql import SparkSession

    if (running := SparkSession.getActiveSession()) is not None:
        own = running.newSession()
        try:
            yield own
        finally:
            headgate.disable(own)
        return
    spark = (
        SparkSession.builder.appName("headgate")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("WARN" if debug else "OFF")
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _started(session: AbstractContextManager[Any], *, debug: bool) -> Iterator[Any]:
    """Start Spark, and keep what its Java process says to itself; with ``debug`` it may speak."""
    _check_java()
    if not debug:  # PySpark logs the whole Java trace of a bad query here
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        if debug:
            yield stack.enter_context(session)
            return
        said = stack.enter_context(tempfile.TemporaryFile())
        before = os.dup(2)
        try:
            os.dup2(said.fileno(), 2)  # the Java process inherits it, and keeps it when it is put back here
            spark = stack.enter_context(session)
        except Exception as error:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or [str(error)]
            raise BadInput(f"Spark did not start: {lines[-1]}; --debug shows all of its output") from error
        finally:
            os.dup2(before, 2)
            os.close(before)
        yield spark


def _check_java() -> None:
    """Refuse to start without a Java that Spark runs on, which is found the way Spark finds it."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    where = f"JAVA_HOME is {home!r}" if home else f"the java on the PATH is {java!r}"
    if java is None:
        raise BadInput(f"Spark needs Java {_JAVA} or later, but none was found: {_INSTALL}, or set JAVA_HOME")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise BadInput(f"{where}, but {java!r} cannot be run; {_INSTALL} and set JAVA_HOME to it") from error
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is not None and int(found[1]) < _JAVA:
        raise BadInput(f"Spark needs Java {_JAVA} or later, but {where}, which is Java {found[1]}; {_INSTALL}")


@contextmanager
def _one_sentence(*, debug: bool) -> Iterator[None]:
    try:
        yield
    except (HeadgateError, *SPARK_ERRORS) as error:
        if debug:
            raise
        print(f"headgate: {sentence(error)}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        raise typer.Exit(2) from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, with the arguments of the program unless there are others; ends with `SystemExit`."""
    app(arguments)


if __name__ == "__main__":
    main()
