"""Say in one line what Spark found wrong."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JError)
_POSITION = re.compile(r"\bline (\d+),? (pos|position) (\d+)")


def sentence(error: Exception) -> str:
    """Return the one line of an error that says what is wrong: that of the condition which Spark names, if it does."""
    text = str(getattr(error, "java_exception", None) or error)
    named = re.findall(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+", text)
    # the innermost condition is the cause of those around it
    line = named[-1] if named else text.strip().splitlines()[0]
    line = line.split(" SQLSTATE")[0].strip() + _position(f"{error}{text}")
    broken = "; if the file is broken, write it again or take it out of the table"
    return line.rstrip(".") + broken if "[FAILED_READ_FILE" in line else line


def _position(text: str) -> str:
    """Say where in the SQL it is; Spark counts what it calls `pos` from 0, and a `position` from 1."""
    found = _POSITION.search(text)
    return f" (line {found[1]}, position {int(found[3]) + (found[2] == 'pos')})" if found else ""
