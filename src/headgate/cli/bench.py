"""The command `bench`: whole suites with Headgate off and on, every row compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from headgate.cli.starting import Debug, one_sentence, started
from headgate.errors import BadInput
from headgate.suites.anchors import anchors as find_anchors
from headgate.suites.data import DEFAULT_HOME, SUITES
from headgate.suites.data import tables as make_tables
from headgate.suites.queries import folder_queries, original_queries, suite_queries
from headgate.suites.results import Run, into_document, to_markdown, write
from headgate.suites.runner import QueryResult, run_suite, spark_over
from headgate.suites.unfinished import Unfinished

bench = typer.Typer(no_args_is_help=True, help="Run whole suites with Headgate off and on, and compare every row.")


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
        debug: Debug = False,
    ) -> None:
        with one_sentence(debug=debug):
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
    debug: Debug = False,
) -> None:
    """Do the same for your own Parquet tables and SQL files."""
    with one_sentence(debug=debug):
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
    with started(spark_over(folder), debug=debug) as spark, Progress(console=console, transient=True) as progress:
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
