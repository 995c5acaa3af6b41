"""Write the rows of a query: a table for people, or CSV, JSON lines and Parquet for programs."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pyspark.sql import functions as sf
from rich.console import Console

from headgate.errors import BadInput
from headgate.observe.rendering import rich_table


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def format_at(out: Path | None) -> Format:
    """Return the format that the end of a file's name says, or a table."""
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    return Format(ending) if ending in set(Format) else Format.TABLE


def check_output(format: Format, out: Path | None, inputs: Iterable[str]) -> None:
    """Refuse a place that rows cannot be written to, before anything has run."""
    if out is not None and any(out.resolve().is_relative_to(Path(path).resolve()) for path in inputs):
        raise BadInput(f"--out {str(out)!r} is one of the tables, or lies in one; give another place")
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
    _write_whole(out, lambda file: _write(limited, format, file))


def write_text(out: Path, text: str) -> None:
    """Write a text into a file, whole or not at all."""
    encoded = text.encode()

    def write(file: BinaryIO) -> None:
        file.write(encoded)

    _write_whole(out, write)


def _write_whole(out: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write a file beside its place and put it there when it is whole: what was there before is lost only then."""
    place = out.resolve()
    new = place if place.exists() and not place.is_file() else place.with_name(f".{place.name}.{token_hex(4)}")
    try:
        with new.open("wb") as file:
            write(file)
        if new != place:
            os.replace(new, place)  # noqa: PTH105 - the same call, and it names what it does
    except OSError as error:
        raise BadInput(f"{str(out)!r} cannot be written: {error.strerror or error}") from error
    finally:
        if new != place:
            new.unlink(missing_ok=True)


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
    binary = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    if binary:
        raise BadInput(f"column {binary[0]!r} has bytes, which CSV cannot hold; use --format json or parquet")
    pyarrow.csv.write_csv(table, file)


def _write_table(console: Console, frame: Any, out: Path | None, limit: int | None, shown: int) -> None:
    most = limit if limit is not None or out is not None else shown
    rows = (frame if most is None else frame.limit(most + 1)).collect()
    cells = [["NULL" if value is None else str(value) for value in row] for row in rows[:most]]
    table = rich_table("", frame.columns, cells)
    if out is None:
        console.print(table)
    else:
        shown_there = Console(file=io.StringIO(), width=200)
        with shown_there.capture() as captured:
            shown_there.print(table)
        write_text(out, captured.get())
    if most is not None and len(rows) > most:
        console.print(f"only the first {most} rows are shown; --limit shows more")
