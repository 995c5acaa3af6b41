"""Collect the distinct ids of DataFrames as roaring bitmaps, and test columns against them, all inside the JVM."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from headgate.catalyst.compiler import classes_of, compiled
from headgate.catalyst.names import quoted
from headgate.catalyst.packed import Form
from headgate.catalyst.query import handed_over
from headgate.domain.bitmap import IdBitmap

_TOLD = struct.Struct(">?iiq")
_COUNT = struct.Struct(">?i")
_SET = struct.Struct(">qbi")


@dataclass(frozen=True, slots=True)
class CollectedIds:
    """Ids by tag, or how far their collection got before there were too many: ``tasks_done`` of ``tasks``."""

    sets: dict[int, IdBitmap]
    is_complete: bool
    found: int
    tasks_done: int
    tasks: int


def collect_ids(
    frame: DataFrame, *, tagged: bool = False, max_ids: int, max_bytes: int, description: str
) -> CollectedIds:
    """Run one job that collects the ids in a bigint column; a bigint column before it says which set each belongs to.

    NULLs are no ids. Nothing is returned but how far it got where there are more ids, or more bytes of them, than
    allowed.
    """
    java: Any = frame
    told = classes_of(frame).call("build.IdCollection", "collect", java._jdf, tagged, max_ids, max_bytes, description)
    packed = handed_over(told)
    passed, done, tasks, found = _TOLD.unpack_from(packed, 0)
    sets = {} if passed else _sets(packed, _TOLD.size)
    return CollectedIds(sets, not passed, found, done, tasks)


def frame_of_ids(spark: SparkSession, sets: Sequence[IdBitmap], id: str, number: str) -> DataFrame:
    """Return the ids of some bitmaps as rows, each with the number of its bitmap; the driver does not list them."""
    classes = compiled(spark.sparkContext)
    packed, widths = classes.listed(ids.to_bytes() for ids in sets), classes.listed(ids.width for ids in sets)
    java: Any = spark
    return ClassicFrame(classes.call("build.IdRows", "of", java._jsparkSession, packed, widths, id, number), spark)


def in_ids(frame: DataFrame, name: str, ids: IdBitmap) -> Column:
    """Return the test whether a column of whole numbers is in a bitmap; NULL for NULL, as `IN` has it."""
    column: Any = frame[quoted(name)]
    return ClassicColumn(classes_of(frame).call("scan.BitTest", "ofColumn", column._jc, ids.to_bytes(), ids.width))


def _sets(packed: bytes, at: int) -> dict[int, IdBitmap]:
    _, count = _COUNT.unpack_from(packed, at)
    at += _COUNT.size
    found = {}
    for _ in range(count):
        tag, form, length = _SET.unpack_from(packed, at)
        at += _SET.size
        found[tag] = _read(form, packed[at : at + length])
        at += length
    return found


def _read(form: int, body: bytes) -> IdBitmap:
    if form == Form.NUMBERS:
        return IdBitmap.of(np.frombuffer(body, dtype=">i8").astype(np.int64))
    return IdBitmap.from_bytes(body, 64 if form == Form.WIDE_BITMAP else 32)
