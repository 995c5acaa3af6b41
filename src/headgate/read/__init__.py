"""Read tables that Spark has no reader for, and let their own scanners take sets of ids.

headgate.read.lance(spark, "/data/people.lance", ["name"], rows=[3, 17])     # DataFrame
headgate.read.LanceTable(spark, "/data/transfers.lance")                     # the edges of a Graph
"""

from headgate.read.counts import LanceCounts
from headgate.read.table import LanceRead, LanceTable, lance

__all__ = ["LanceCounts", "LanceRead", "LanceTable", "lance"]
