"""Ask the JVM what was done in the micro-batches of a streaming query."""

from __future__ import annotations

import msgspec
from pyspark import SparkContext

from headgate.catalyst.compiler import compiled
from headgate.catalyst.query import handed_over
from headgate.catalyst.wire import MoveLog, StreamLog, decoded


def stream_log(query_id: str) -> StreamLog:
    """Return what is remembered of a query's last micro-batches, oldest first, and how often Headgate failed in it."""
    reply = _asked("stream.StreamGate", "read", query_id)
    return StreamLog() if reply is None else decoded(reply, StreamLog)


def streaming_queries() -> list[str]:
    """Return the ids of the streaming queries that something is remembered of, the latest last."""
    reply = _asked("stream.StreamGate", "queries")
    return [] if reply is None else msgspec.json.decode(reply, type=list[str])


def moves_log(query_id: str) -> list[MoveLog]:
    """Return what the operators with a moving value did in a query's last micro-batches, operator by operator."""
    reply = _asked("changes.MoveLogs", "read", query_id)
    return [] if reply is None else msgspec.json.decode(reply, type=list[MoveLog])


def _asked(name: str, method: str, *arguments: str) -> bytes | None:
    """Return what the JVM says, or None where no Spark runs or nothing is known."""
    context = SparkContext._active_spark_context
    if context is None:
        return None
    reply = handed_over(compiled(context).call(name, method, *arguments))
    return None if reply == b"null" else reply
