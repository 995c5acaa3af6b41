"""The command `demo`: what Headgate does, on data that it makes itself, in about two minutes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import headgate
from headgate.cli.records import write_report
from headgate.cli.starting import Debug, Master, one_sentence, spark_session, started
from headgate.demo import SHOWS, Shown

_SETTINGS = {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "3g"}


def demo(
    rows: Annotated[int, typer.Option(min=1_000, help="How many rows the tables have.")] = 8_000_000,
    out: Annotated[
        Path | None, typer.Option(help="Where the page of the demo goes; a temporary folder unless told.")
    ] = None,
    master: Master = "local[2]",
    debug: Debug = False,
) -> None:
    """Show a star schema, a stream, a moving threshold and a graph, each with Headgate off and on."""
    console, home = Console(), Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    page = out or Path(tempfile.gettempdir()) / "headgate-demo.html"
    with one_sentence(debug=debug):
        try:
            with started(spark_session(debug=debug, master=master, conf=_SETTINGS), debug=debug) as spark:
                spark.conf.set("spark.headgate.eventLog", str(home / "log.jsonl"))
                _print(console, _run(console, spark, home, rows))
                headgate.disable(spark)
            write_report(home / "log.jsonl", page)
            console.print(f"What each query read, and why: {page}", soft_wrap=True, highlight=False)
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _run(console: Console, spark: Any, home: Path, rows: int) -> dict[str, Shown]:
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    found = {}
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=len(SHOWS))
        for number, (name, show) in enumerate(SHOWS.items()):
            found[name] = show(spark, home / str(number), rows, lambda what: progress.update(task, description=what))
            progress.advance(task)
            if not console.is_terminal:  # a log has no bar that moves
                console.print(f"{name}: done")
    return found


def _print(console: Console, found: dict[str, Shown]) -> None:
    heads = ("", "off, s", "on, s", "times as fast", "off reads", "on reads", "same answer")
    table = Table(*heads, title="Headgate off and on")
    for name, one in found.items():
        times = f"{one.off / max(one.on, 1e-9):.1f}"
        same = "yes" if one.is_same else "NO"
        table.add_row(name, f"{one.off:.2f}", f"{one.on:.2f}", times, one.read_off, one.read_on, same)
    console.print(table)
