"""The queries, streams and graph walks of a session as records: for the page, and for a log that is kept."""

from headgate.history.event_log import EventLog, read_log
from headgate.history.history import History
from headgate.history.records import GraphRecord, PartRecord, QueryRecord, StreamRecord, record_of

__all__ = [
    "EventLog",
    "GraphRecord",
    "History",
    "PartRecord",
    "QueryRecord",
    "StreamRecord",
    "read_log",
    "record_of",
]
