"""One query between planning and writing: its scans, its waves of builds, and what they narrow."""

from headgate.journey.scans import Scans
from headgate.journey.waves import Journey

__all__ = ["Journey", "Scans"]
