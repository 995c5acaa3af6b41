"""One query's filters on their way: its scans, its waves of builds, how long to wait, and what comes late."""

from headgate.journey.late import LateFilters, late_filters
from headgate.journey.scans import Scans
from headgate.journey.waiting import ScanSpeed, Waiting
from headgate.journey.waves import Journey

__all__ = ["Journey", "LateFilters", "ScanSpeed", "Scans", "Waiting", "late_filters"]
