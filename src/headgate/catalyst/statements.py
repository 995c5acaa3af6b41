"""Tell SQL queries from commands, which Spark runs as soon as it reads them."""

from __future__ import annotations

from typing import Any

from headgate.catalyst.sentences import SPARK_ERRORS
from headgate.errors import BadInput


def refuse_command(spark: Any, text: str, why: str) -> None:
    """Refuse SQL that is a command; what is neither that nor a query is for Spark to refuse, when it runs."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        parser.parseQuery(text)
    except SPARK_ERRORS:
        try:
            parser.parsePlan(text)
        except SPARK_ERRORS:
            return
        words = " ".join(text.split()[:3])
        raise BadInput(f"{words!r}... is a command, and {why}; give a query") from None
