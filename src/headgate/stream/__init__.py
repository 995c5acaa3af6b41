"""Streams: rows that come too late to matter stop at the scan.

In an enabled session this happens by itself in each micro-batch, and `streaming_report` says what it did.
`WatermarkFilter` is the same idea for people who read Arrow batches themselves.

Changelogs are streams whose rows come and go, with the kind of each change in a column `_op`: `dynamic_filter` makes
one, `aggregate` and `join` go on with it, and `materialize` keeps a table equal to it.
"""

from headgate.stream.aggregate import aggregate
from headgate.stream.clock import Clock, ManualClock
from headgate.stream.dynamic_filter import dynamic_filter
from headgate.stream.join import join
from headgate.stream.materialize import materialize, read_materialized
from headgate.stream.moves import MoveReport
from headgate.stream.report import BatchReport, SourceReport, StreamingReport, streaming_report, streaming_stories
from headgate.stream.temporal import temporal_filter
from headgate.stream.watermark import WatermarkFilter

__all__ = [
    "BatchReport",
    "Clock",
    "ManualClock",
    "MoveReport",
    "SourceReport",
    "StreamingReport",
    "WatermarkFilter",
    "aggregate",
    "dynamic_filter",
    "join",
    "materialize",
    "read_materialized",
    "streaming_report",
    "streaming_stories",
    "temporal_filter",
]
