"""The words that plans use: what conjuncts do, where values come from, and what can be done with scans."""

from __future__ import annotations

from enum import Enum, StrEnum


class Op(StrEnum):
    """What a conjunct does: compare, test for NULL, prune partitions as Spark does, or anything else."""

    EQUAL = "="
    EQUAL_NULL_SAFE = "<=>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IS_NOT_NULL = "is not null"
    DYNAMIC_PRUNING = "dynamic pruning"
    OTHER = "other"


EQUALITIES = frozenset({Op.EQUAL, Op.EQUAL_NULL_SAFE})


class Feed(Enum):
    """Where the values of a filter come from, and whether the query waits for them.

    BUILD: its build side runs before the query, in a wave. BACKGROUND: its build side runs while the query runs.
    TAP: the query itself runs the build side, and its keys are noted on the way. PUBLISHED: a person publishes them.
    """

    BUILD = "build"
    BACKGROUND = "background"
    TAP = "tap"
    PUBLISHED = "published"


class Can(StrEnum):
    """What can be done with a scan.

    REREAD: it gives the same rows when it is read again, as long as its files stay the same. PRUNE: files and parts of
    files can be left out. STATISTICS: footers say what lies in a part of a file. GATE: files can be left out while it
    runs. PUSH: its reader takes conditions. RANGES: the table itself skips what it can by conditions that it is told.
    ROWS: rows can be dropped before they are moved.
    """

    REREAD = "reread"
    PRUNE = "prune"
    STATISTICS = "statistics"
    GATE = "gate"
    PUSH = "push"
    RANGES = "ranges"
    ROWS = "rows"


TOLD = frozenset({Can.RANGES, Can.ROWS})
"""What a scan can that Headgate tells conditions, without knowing its files."""


class Source(StrEnum):
    """What to call the place that a scan reads; what can be done with the scan does not follow from it.

    UNKNOWN_FILES are those of a table format that gives files a meaning of its own. A CACHE is not loaded or may differ
    when it is computed again.
    """

    PARQUET = "parquet"
    FILES = "files"
    NARROWED = "narrowed"
    UNKNOWN_FILES = "unknown files"
    LOCAL = "local"
    RANGE = "range"
    CACHED = "cached"
    CACHE = "cache"
    CHECKPOINT = "checkpoint"
    RDD = "rdd"
    DELTA = "delta"
    ICEBERG = "iceberg"
    JDBC = "jdbc"
    OTHER = "other"
