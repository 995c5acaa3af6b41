"""Dynamic filtering for Apache Spark, in Python: read only the rows that can still matter."""

from headgate import domain, filters, prune

__version__ = "0.1.0"
__all__ = ["__version__", "domain", "filters", "prune"]
