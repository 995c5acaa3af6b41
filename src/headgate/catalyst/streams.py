"""Ask the JVM what was done in the micro-batches of a streaming query."""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark import SparkContext

from headgate.catalyst.bridge import _handed_over
from headgate.catalyst.compiler import compiled


def micro_batches(query_id: str) -> list[dict[str, Any]]:
    """Return what is remembered of a query's last micro-batches, oldest first; nothing where no Spark runs."""
    return _told("read", query_id)


def streaming_queries() -> list[str]:
    """Return the ids of the streaming queries that something is remembered of, the latest last."""
    return _told("queries")


def _told(method: str, *arguments: str) -> list[Any]:
    context = SparkContext._active_spark_context
    if context is None:
        return []
    told: list[Any] = msgspec.json.decode(_handed_over(compiled(context).call("StreamGate", method, *arguments)))
    return told
