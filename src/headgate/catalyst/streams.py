"""Ask the JVM what was done in the micro-batches of a streaming query."""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark import SparkContext

from headgate.catalyst.bridge import _handed_over
from headgate.catalyst.compiler import compiled


def stream_log(query_id: str) -> dict[str, Any]:
    """Return what is remembered of a query's last micro-batches, oldest first, and how often Headgate failed in it."""
    log: dict[str, Any] | None = _told("read", query_id)
    return log if log is not None else {"batches": [], "failures": 0, "lastFailure": ""}


def streaming_queries() -> list[str]:
    """Return the ids of the streaming queries that something is remembered of, the latest last."""
    return _told("queries") or []


def _told(method: str, *arguments: str) -> Any:
    """Return what the JVM says, or None where no Spark runs."""
    context = SparkContext._active_spark_context
    if context is None:
        return None
    return msgspec.json.decode(_handed_over(compiled(context).call("stream.StreamGate", method, *arguments)))
