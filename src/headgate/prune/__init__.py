"""From a domain and statistics to verdicts: which partitions, files and row groups can be left unread."""

from headgate.domain import Verdict
from headgate.prune.scan import PruneLevels, ScanVerdict, clustering_depth, prune_scan
from headgate.prune.survivors import ColumnBounds, survivors, survivors_of_column

__all__ = [
    "ColumnBounds",
    "PruneLevels",
    "ScanVerdict",
    "Verdict",
    "clustering_depth",
    "prune_scan",
    "survivors",
    "survivors_of_column",
]
