"""Commands about queries: `sql` runs or compares one, `why` says what filters it, `advise` how to lay tables out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import headgate
from headgate.advise import advise as find_advice
from headgate.advise.advice import read_queries, statements
from headgate.catalyst.statements import refuse_command
from headgate.cli.output import Format, check_output, format_at, write_rows
from headgate.cli.starting import Conf, Debug, Master, one_sentence, settings_of, spark_session, started, working
from headgate.cli.tables import NamedTable, named_tables
from headgate.comparison import compare as find_differences
from headgate.errors import BadInput
from headgate.observe import why_lines

_SHOWN_ROWS = 20
_MOST_ROWS = 2**31 - 2  # Spark counts them in 32 bits, and a table asks for one more
_DIFFER = "the answers differ: either this is a bug in Headgate, or the query is not deterministic ({})"

Tables = Annotated[
    list[str] | None,
    typer.Option(
        help="A table as name=path or name=format:path (parquet, orc, csv with a header, json, avro, delta, iceberg, "
        "lance; without a format, by what lies there); may be given several times."
    ),
]
Strategy = Annotated[str, typer.Option(help="Which filters to apply: cost, always or never.")]


def sql(
    query: Annotated[str, typer.Argument(help="The SQL to run; - or nothing reads it from standard input.")] = "",
    table: Tables = None,
    file: Annotated[Path | None, typer.Option(help="A file with the SQL.")] = None,
    explain: Annotated[
        bool, typer.Option(help="Show the plan with its dynamic filters instead of running it.")
    ] = False,
    compare: Annotated[bool, typer.Option(help="Run it with Headgate off and on, and compare.")] = False,
    format: Annotated[
        Format | None, typer.Option(help="How rows are written; unless told, as the name of --out ends, or as a table.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file to write the rows into.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, max=_MOST_ROWS, help="How many rows at most; a table on the screen has 20 unless told."),
    ] = None,
    strategy: Strategy = "cost",
    master: Master = "",
    conf: Conf = None,
    debug: Debug = False,
) -> None:
    """Run SQL over tables with Headgate."""
    console = Console()
    with one_sentence(debug=debug):
        tables, settings = named_tables(table or []), settings_of(conf)
        headgate.config.checked("strategy", strategy)
        text = _text(query, file)
        written_as = format or format_at(out)
        check_output(written_as, out, [one.path for one in tables])
        if explain and compare:
            raise BadInput("--explain runs nothing, and --compare runs the query twice; give one of them")
        if (explain or compare) and (out is not None or written_as is not Format.TABLE):
            raise BadInput("--format and --out are for rows; leave them out with --explain or --compare")
        with _spark_with(tables, settings, master=master, debug=debug) as spark:
            if explain:
                refuse_command(spark, text, "to explain it would run it")
                headgate.enable(spark, strategy=strategy)
                headgate.explain(spark.sql(text))
            elif compare:
                refuse_command(spark, text, "to compare it would run it twice")
                with working("running it with Headgate off and on", debug=debug):
                    compared = find_differences(spark, lambda: spark.sql(text), strategy=strategy)
                console.print(compared)
                if not compared.is_same:
                    raise BadInput(_DIFFER.format(compared.difference))
            else:
                headgate.enable(spark, strategy=strategy)
                with working("running the query", debug=debug):
                    write_rows(console, spark.sql(text), written_as, out, limit, _SHOWN_ROWS)


def why(
    query: Annotated[Path, typer.Argument(help="A file with SQL; - reads it from standard input.")],
    table: Tables = None,
    strategy: Strategy = "cost",
    master: Master = "",
    conf: Conf = None,
    debug: Debug = False,
) -> None:
    """Say in words what filters each scan of a query, and where nothing does, why and what to do."""
    console = Console()
    with one_sentence(debug=debug):
        tables, settings = named_tables(table or []), settings_of(conf)
        headgate.config.checked("strategy", strategy)
        text = _text("-", None) if str(query) == "-" else _text("", query)
        with _spark_with(tables, settings, master=master, debug=debug) as spark:
            refuse_command(spark, text, "to explain it would run it")
            gate = headgate.enable(spark, strategy=strategy)
            with working("learning what the small sides of the joins say", debug=debug):
                _, report = gate.explain(spark.sql(text))
            for line in why_lines(report):
                console.print(line, soft_wrap=True, highlight=False, markup=False)


def advise(
    table: Annotated[
        list[str], typer.Option(help="A table as name=path or name=format:path; may be given several times.")
    ],
    file: Annotated[list[Path], typer.Option(help="A file with SQL; may be given several times.")],
    master: Master = "",
    conf: Conf = None,
    debug: Debug = False,
) -> None:
    """Say which column to cluster each table by, and how many files the queries would then read."""
    console = Console()
    with one_sentence(debug=debug):
        tables, texts, settings = named_tables(table), read_queries(file), settings_of(conf)
        with _spark_with(tables, settings, master=master, debug=debug) as spark:
            with working("looking at the queries", debug=debug):
                advice = find_advice(spark, texts)
            for found in advice:
                console.print(str(found), soft_wrap=True, highlight=False, markup=False)


@contextmanager
def _spark_with(tables: Sequence[NamedTable], conf: dict[str, str], *, master: str, debug: bool) -> Iterator[Any]:
    """Start Spark with the tables as views."""
    with started(spark_session(debug=debug, master=master, conf=conf), debug=debug) as spark:
        with working("reading the tables", debug=debug):
            for one in tables:
                one.register(spark)
        yield spark


def _read_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input cannot be read as text: {error}; give SQL in UTF-8") from error


def _text(query: str, file: Path | None) -> str:
    """Return the SQL: what was given, what is in a file, or what comes from standard input."""
    if query not in ("", "-") and file is not None:
        raise BadInput("there is SQL on the command line and a --file; give one of them")
    if file is not None:
        if not file.is_file():
            raise BadInput(f"there is no file at {str(file)!r}; give a file with SQL, or - and SQL on standard input")
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{str(file)!r} cannot be read as text: {error}") from error
    elif query in ("", "-"):
        if query == "" and sys.stdin.isatty():
            raise BadInput("there is no SQL; give it as an argument, with --file, or on standard input")
        text = _read_input()
    else:
        text = query
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the SQL is not UTF-8: {error}; save it as UTF-8") from error
    if not text.strip().rstrip(";").strip():
        raise BadInput("the SQL is empty; give a query such as: select count(*) from fact")
    if (count := len(statements(text))) > 1:
        raise BadInput(f"there are {count} statements, with semicolons between them; give one")
    return text.strip().rstrip(";")
