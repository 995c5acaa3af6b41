"""One query on its way: its scans, its schedule of builds, how its scans are narrowed, and what comes late."""

from headgate.query.late import LateFilters
from headgate.query.pipeline import QueryPipeline
from headgate.query.planned import PlannedQuery
from headgate.query.scans import Scans
from headgate.query.waiting import ScanSpeed, Waiting

__all__ = ["LateFilters", "PlannedQuery", "QueryPipeline", "ScanSpeed", "Scans", "Waiting"]
