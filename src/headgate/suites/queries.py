"""The queries of TPC-H and TPC-DS as DuckDB's packages carry them, in Spark's dialect; or a folder of SQL files."""

from __future__ import annotations

import re
from pathlib import Path

from headgate.errors import BadInput
from headgate.suites.data import connect

# DuckDB's text -> what Spark reads; the meaning is the same
_DIALECT: tuple[tuple[str, str], ...] = (
    (r"CAST\('(\d{4}-\d{2}-\d{2})' AS date\)", r"DATE '\1'"),
    (r'"([^"\n]+)"', r"`\1`"),
    (r"\binterval '(\d+)' (day|month|year)s?\b", r"interval \1 \2"),
)


def suite_queries(suite: str) -> dict[str, str]:
    """Return the queries of a suite by name: q01, q02, …"""
    return {name: to_spark(text) for name, text in original_queries(suite).items()}


def original_queries(suite: str) -> dict[str, str]:
    """Return the queries of a suite by name as DuckDB's packages carry them."""
    connection = connect(suite)
    rows = connection.execute(f"SELECT query_nr, query FROM {suite}_queries() ORDER BY 1").fetchall()
    return {f"q{number:02}": text for number, text in rows}


def folder_queries(folder: Path) -> dict[str, str]:
    """Return the queries of a folder of ``.sql`` files by file name."""
    files = sorted(folder.glob("*.sql"))
    if not files:
        raise BadInput(f"there are no .sql files in {str(folder)!r}; put one query into each file")
    return {path.stem: path.read_text().strip().rstrip(";") for path in files}


def to_spark(text: str) -> str:
    """Return a query of DuckDB's packages in Spark's dialect."""
    for pattern, replacement in _DIALECT:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text.strip().rstrip(";")


def is_ordered(text: str) -> bool:
    """Whether the whole query ends with an ORDER BY, so that the order of its rows is part of the answer."""
    depth, last = 0, -1
    for match in re.finditer(r"\(|\)|\border\s+by\b", text, flags=re.IGNORECASE):
        word = match.group()
        if word in "()":
            depth += 1 if word == "(" else -1
        elif depth == 0:
            last = match.start()
    return last >= 0
