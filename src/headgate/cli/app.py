"""Put the commands together: `app`, and `main`, which runs them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from headgate.cli import bench, demo, queries, records

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Dynamic filtering for Apache Spark.")


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


for _command in (queries.sql, queries.why, queries.advise, demo.demo, records.report, records.ui):
    app.command()(_command)
app.add_typer(bench.bench, name="bench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, with the arguments of the program unless there are others; ends with `SystemExit`."""
    app(arguments)
