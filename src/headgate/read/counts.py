"""Count what Lance reads: by its own counters, added up over the tasks of a query."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from pyspark.accumulators import AccumulatorParam


@dataclass(frozen=True, slots=True)
class LanceCounts:
    """What the tasks of one DataFrame have read, as Lance counts it; each run of the DataFrame adds to it.

    ``rows_tested`` were read to find the rows whose ids are in a set, in the columns of those ids only; ``rows_read``
    were read in the columns that were asked for.
    """

    rows_tested: int = 0
    rows_read: int = 0
    fragments_read: int = 0
    bytes_read: int = 0

    def __add__(self, other: LanceCounts) -> LanceCounts:
        return LanceCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


class CountsParam(AccumulatorParam[LanceCounts]):
    """How Spark adds counts up."""

    def zero(self, value: LanceCounts) -> LanceCounts:  # noqa: ARG002 - Spark gives it
        """Return the counts of a task that has read nothing yet."""
        return LanceCounts()

    def addInPlace(self, value1: LanceCounts, value2: LanceCounts) -> LanceCounts:  # noqa: N802 - Spark's name
        """Add the counts of a task."""
        return value1 + value2
