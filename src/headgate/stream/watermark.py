"""Drop late rows of Arrow batches: `WatermarkFilter`, a dynamic filter that a watermark moves forward.

    >>> import pyarrow as pa
    >>> late = WatermarkFilter("ts", pa.timestamp("ms"))
    >>> batch = pa.record_batch({"ts": pa.array([100, 200, 300, 400], pa.timestamp("ms"))})
    >>> late.apply(batch).num_rows, late.generation
    (4, 0)
    >>> late.advance(250), late.generation
    (True, 1)
    >>> late.apply(batch)["ts"].cast(pa.int64()).to_pylist()
    [300, 400]

A row at the watermark passes. A row without an event time passes too, as in Spark, and is counted apart. One thread
reads batches; any thread may advance the watermark.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain import Domain, TupleDomain
from headgate.errors import InvalidFilter
from headgate.filters import DynamicFilter, FilterView

_TAKE = pc.get_function("take")
_NOT_BEFORE = pc.get_function("greater_equal")
_PER_MILLI = {"us": 1_000, "ns": 1_000_000}


class WatermarkFilter:
    """Rows of one time column from a watermark on. Watermark and slack are in milliseconds since 1970 and in total."""

    __slots__ = (
        "_column",
        "_cut",
        "_handle",
        "_lock",
        "_scalar",
        "_slack",
        "_type",
        "generation",
        "late_rows",
        "null_rows",
        "watermark",
    )

    def __init__(self, column: str, type: pa.DataType, *, slack_ms: int = 0) -> None:
        if not (pa.types.is_timestamp(type) or pa.types.is_int64(type)):
            raise InvalidFilter(f"column {column!r} of type {type} cannot be an event time; use a timestamp or int64")
        if slack_ms < 0:
            raise InvalidFilter(
                f"slack_ms={slack_ms} is negative; it is the number of milliseconds that a row may be late"
            )
        self._column, self._type, self._slack = column, type, slack_ms
        self._handle = DynamicFilter(f"watermark({column})", [column], blocking=False)
        self._lock = Lock()
        self._cut: int | None = None
        self._scalar: pa.Scalar | None = None
        # how often the watermark has really moved; a plain attribute, since readers look at it before each batch
        self.generation = 0
        self.watermark: int | None = None
        self.late_rows = 0
        self.null_rows = 0

    @property
    def column(self) -> str:
        """The time column."""
        return self._column

    @property
    def type(self) -> pa.DataType:
        """The type of the time column."""
        return self._type

    def consumer(self) -> FilterView:
        """Return the filter for those who prune files and row groups by it."""
        return self._handle.consumer()

    def advance(self, watermark_ms: int) -> bool:
        """Move the watermark forward; return whether it moved. An equal or lower one changes nothing."""
        with self._lock:
            if self.watermark is not None and watermark_ms <= self.watermark:
                return False
            self.watermark = watermark_ms
            cut = _in_unit(watermark_ms - self._slack, self._type)
            self._scalar, self._cut = pa.scalar(cut, self._type), cut
            self.generation += 1
        self._handle.update(TupleDomain({self._column: _from(watermark_ms - self._slack, self._type)}))
        return True

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return for each row whether it passes."""
        column, scalar = self._time_of(batch), self._scalar
        if scalar is None:
            return pa.array(np.ones(len(column), bool))
        passes = _NOT_BEFORE.call([column, scalar])
        return passes.fill_null(True) if column.null_count else passes

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Return the rows that pass, or None where none does; late rows at either end are cut off without copying."""
        column, cut = self._time_of(batch), self._cut
        if column.null_count:
            return self._apply_with_nulls(batch, column)
        count = len(column)
        if cut is None or count == 0:
            return batch if count else None
        times = _numbers(column)
        if times[0] >= cut and times.min() >= cut:
            return batch
        passes = times >= cut
        kept = int(np.count_nonzero(passes))
        self.late_rows += count - kept
        if kept == 0:
            return None
        first = int(passes.argmax())
        if first + kept == count or passes[first : first + kept].all():
            return batch.slice(first, kept)
        return _TAKE.call([batch, pa.array(passes.nonzero()[0])])

    def _apply_with_nulls(self, batch: pa.RecordBatch, column: Any) -> pa.RecordBatch | None:
        self.null_rows += column.null_count
        if self._cut is None:
            return batch
        passes = self.evaluate(batch)
        kept = passes.true_count
        self.late_rows += len(column) - kept
        return batch if kept == len(column) else batch.filter(passes)

    def _time_of(self, batch: pa.RecordBatch) -> Any:
        try:
            column = batch.column(self._column)
        except KeyError:
            known = ", ".join(batch.schema.names) or "no columns"
            raise InvalidFilter(
                f"there is no column {self._column!r} to read event times from; the batch has {known}"
            ) from None
        if column.type != self._type:
            known = ", ".join(f"{field.name} {field.type}" for field in batch.schema)
            raise InvalidFilter(
                f"column {self._column!r} is {column.type}, but this filter reads {self._type}; the batch has {known}"
            )
        return column

    def __repr__(self) -> str:
        return (
            f"WatermarkFilter({self._column!r}, {self._type}, watermark={self.watermark}, generation={self.generation})"
        )


def _numbers(column: Any) -> np.ndarray[Any, Any]:
    """Return the column's own memory as whole numbers."""
    return np.frombuffer(column.buffers()[1], np.int64, len(column), column.offset * 8)


def _in_unit(milliseconds: int, type: pa.DataType) -> int:
    """Return the smallest number of the column that passes; between two seconds it is the later one."""
    if pa.types.is_int64(type) or type.unit == "ms":
        return milliseconds
    return -(-milliseconds // 1_000) if type.unit == "s" else milliseconds * _PER_MILLI[type.unit]


def _from(milliseconds: int, type: pa.DataType) -> Domain:
    if pa.types.is_int64(type):
        return Domain.range("bigint", milliseconds, null_allowed=True)
    kind = "timestamp_ntz" if type.tz is None else "timestamp"
    return Domain.range(kind, milliseconds * 1_000, null_allowed=True)
