"""Names of columns as SQL."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return the name of a column so that Spark takes it as it is, dots and backticks included."""
    return "`" + name.replace("`", "``") + "`"
