"""Which column to cluster each table by, from the joins of queries and what lies in the tables."""

from headgate.advise.advice import Advice, QueryReads, advise

__all__ = ["Advice", "QueryReads", "advise"]
