"""Write the rows of a query: a table for people, or CSV, JSON lines and Parquet for programs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pyspark.sql import functions as sf
from rich.console import Console
from rich.table import Table

from headgate.errors import BadInput


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def check_output(format: Format, out: Path | None) -> None:
    """Refuse a place that rows cannot be written to, before anything has run."""
    if format is Format.PARQUET and out is None:
        raise BadInput("rows in Parquet need a file to go to; add --out rows.parquet")
    if out is not None and out.is_dir():
        raise BadInput(f"--out {str(out)!r} is a folder; give a file in it, such as {str(out / 'rows')!r}")
    if out is not None and not out.parent.is_dir():
        raise BadInput(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}; make it, or give another")


def write_rows(console: Console, frame: Any, format: Format, out: Path | None, limit: int | None, shown: int) -> None:
    """Write the rows of a DataFrame to a file or to standard output, at most ``limit`` of them."""
    if format is Format.TABLE:
        _write_table(console, frame, out, limit, shown)
        return
    limited = frame if limit is None else frame.limit(limit)
    if out is None:
        sys.stdout.flush()
        _write(limited, format, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        with out.open("wb") as file:
            _write(limited, format, file)
    except OSError as error:
        raise BadInput(f"{str(out)!r} cannot be written: {error.strerror or error}") from error


def _write(frame: Any, format: Format, file: BinaryIO) -> None:
    if format is Format.JSON:
        whole = sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})
        for (line,) in frame.select(whole).toLocalIterator():
            file.write(line.encode() + b"\n")
        return
    table = frame.toArrow()
    if format is Format.PARQUET:
        pyarrow.parquet.write_table(table, file)
        return
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if nested:
        raise BadInput(f"column {nested[0]!r} has values inside values, which CSV cannot hold; use --format json")
    pyarrow.csv.write_csv(table, file)


def _write_table(console: Console, frame: Any, out: Path | None, limit: int | None, shown: int) -> None:
    most = shown if limit is None else limit
    rows = frame.limit(most + 1).collect()
    table = Table(*frame.columns)
    for row in rows[:most]:
        table.add_row(*("NULL" if value is None else str(value) for value in row))
    if out is None:
        console.print(table)
    else:
        try:
            with out.open("w", encoding="utf-8") as file:
                Console(file=file, width=200).print(table)
        except OSError as error:
            raise BadInput(f"{str(out)!r} cannot be written: {error.strerror or error}") from error
    if len(rows) > most:
        console.print(f"only the first {most} rows are shown; --limit shows more")
