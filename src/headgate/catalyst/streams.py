"""Ask the JVM what was done in the micro-batches of a streaming query."""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark import SparkContext

from headgate.catalyst.bridge import _handed_over
from headgate.catalyst.compiler import compiled


def micro_batches(query_id: str) -> list[dict[str, Any]]:
    """Return what is remembered of a query's last micro-batches, oldest first; nothing where no Spark runs."""
    context = SparkContext._active_spark_context
    if context is None:
        return []
    told: list[dict[str, Any]] = msgspec.json.decode(
        _handed_over(compiled(context).call("StreamGate", "read", query_id))
    )
    return told
