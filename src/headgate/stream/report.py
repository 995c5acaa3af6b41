"""The report of a streaming query: what each micro-batch left unread, and if nothing, why."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import asdict
from rich.console import Console, Group
from rich.table import Table

from headgate.catalyst.streams import stream_log, streaming_queries
from headgate.catalyst.wire import BatchLog
from headgate.errors import BadInput
from headgate.observe.rendering import plain, text_width
from headgate.stream.moves import MoveReport, moves_of, moves_table

_START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source in one micro-batch. ``late_rows`` counts those in skipped files and row groups too.

    ``cut_off`` is the largest event time that is late, in microseconds since 1970; None where nothing was cut.
    """

    source: str
    column: str | None
    cut_off: int | None
    late_rows: int
    null_rows: int
    files: int
    files_skipped: int
    row_groups: int
    row_groups_skipped: int
    reason: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One micro-batch. ``watermark`` is what rows were compared with, in milliseconds; 0 means that there was none."""

    batch_id: int
    watermark: int
    generation: int
    strict: bool
    plan_micros: int
    sources: list[SourceReport]
    failure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the form of ``query.lastProgress``."""
        return {
            "batchId": self.batch_id,
            "watermark": _iso(self.watermark * 1000),
            "generation": self.generation,
            "strict": self.strict,
            "lateRows": sum(source.late_rows for source in self.sources),
            "nullRows": sum(source.null_rows for source in self.sources),
            "files": sum(source.files for source in self.sources),
            "filesSkipped": sum(source.files_skipped for source in self.sources),
            "planMicros": self.plan_micros,
            "failure": self.failure,
            "sources": [_source_dict(source) for source in self.sources],
        }


@dataclass(frozen=True, slots=True, repr=False)
class StreamingReport:
    """The last micro-batches of one query, oldest first.

    ``failures`` counts the batches, also those no longer listed, that Headgate left unfiltered because it failed.
    ``moves`` are those of dynamic filter operators, one for each operator and micro-batch.
    """

    query_id: str
    batches: list[BatchReport] = field(default_factory=list)
    failures: int = 0
    last_failure: str = ""
    moves: list[MoveReport] = field(default_factory=list)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each micro-batch, in the form of ``query.recentProgress``."""
        return [batch.to_dict() for batch in self.batches]

    @property
    def late_rows(self) -> int:
        """Late rows that were not handed to the query, in all batches listed."""
        return sum(source.late_rows for batch in self.batches for source in batch.sources)

    @property
    def files_skipped(self) -> int:
        """Files that were not opened, in all batches listed."""
        return sum(source.files_skipped for batch in self.batches for source in batch.sources)

    def __repr__(self) -> str:
        """Return one line for a shell."""
        what = f"{len(self.batches)} micro-batches, {self.late_rows:,} late rows, {self.files_skipped:,} files skipped"
        return f"<StreamingReport {self.query_id}: {what}>"

    def __rich__(self) -> Table | Group:
        table = Table(title=f"Streaming query {self.query_id}", title_justify="left", expand=False)
        for head in _HEADS:
            table.add_column(head, min_width=_TIME_WIDTH if head == _LATE_UP_TO else None)
        if self.failures:
            table.caption = f"batches unfiltered after a failure: {self.failures} (the last: {self.last_failure})"
            table.caption_justify = "left"
        for row in self._rows():
            table.add_row(*map(plain, row))
        if not self.moves:
            return table
        return Group(*([table] if self.batches else []), moves_table(self.moves))

    def __str__(self) -> str:
        console = Console(width=text_width(160), file=io.StringIO())
        with console.capture() as captured:
            console.print(self)
        return captured.get()

    def _repr_html_(self) -> str:
        console = Console(width=160, file=io.StringIO(), record=True)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def _rows(self) -> Iterable[tuple[str, ...]]:
        for batch in self.batches:
            for source in batch.sources:
                yield _row(batch, source)
            if batch.failure:
                empty = [""] * (len(_HEADS) - 3)
                yield (
                    str(batch.batch_id),
                    str(batch.generation),
                    *empty,
                    f"unfiltered after a failure: {batch.failure}",
                )


_LATE_UP_TO = "late up to"
_TIME_WIDTH = len("2024-03-01T12:01:19.999999Z")  # a time is shown whole, however long the paths are
_HEADS = (
    "batch",
    "generation",
    "source",
    _LATE_UP_TO,
    "late rows",
    "NULL",
    "files skipped",
    "row groups skipped",
    "why not",
)


def streaming_report(query: Any) -> StreamingReport:
    """Return what Headgate left unread in the last 100 micro-batches of a streaming query, running or ended.

    ``query`` is the StreamingQuery, or its id. The rows of a batch that is still running are those counted so far.
    """
    if not isinstance(query, str) and not hasattr(query, "id"):
        raise BadInput(f"query is {type(query).__name__}; give the StreamingQuery that start() returned, or its id")
    query_id = query if isinstance(query, str) else str(query.id)
    log = stream_log(query_id)
    batches = [_batch(batch) for batch in log.batches]
    return StreamingReport(query_id, batches, log.failures, log.last_failure, moves_of(query_id))


def streaming_stories() -> list[dict[str, Any]]:
    """Return the reports of all streaming queries that are remembered, as the page asks for them."""
    reports = [streaming_report(name) for name in streaming_queries()]
    return [{"query": found.query_id, "batches": found.to_dicts(), "moves": found.moves} for found in reports]


def _batch(log: BatchLog) -> BatchReport:
    sources = [SourceReport(**asdict(source)) for source in log.sources]
    return BatchReport(**{**asdict(log), "sources": sources})


def _source_dict(source: SourceReport) -> dict[str, Any]:
    return {
        "description": source.source,
        "eventTime": source.column,
        "cutOff": None if source.cut_off is None else _iso(source.cut_off),
        "lateRows": source.late_rows,
        "nullRows": source.null_rows,
        "files": source.files,
        "filesSkipped": source.files_skipped,
        "rowGroups": source.row_groups,
        "rowGroupsSkipped": source.row_groups_skipped,
        "reason": source.reason,
    }


def _row(batch: BatchReport, source: SourceReport) -> tuple[str, ...]:
    return (
        str(batch.batch_id),
        str(batch.generation),
        source.source,
        "" if source.cut_off is None else _iso(source.cut_off),
        f"{source.late_rows:,}",
        f"{source.null_rows:,}",
        f"{source.files_skipped} of {source.files}" if source.files else "",
        f"{source.row_groups_skipped} of {source.row_groups}" if source.row_groups else "",
        source.reason,
    )


def _iso(micros: int) -> str:
    """Return a moment as Spark's progress writes it; one beyond Python's calendar is written in microseconds."""
    try:
        moment = _START + dt.timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} µs"
    digits = "milliseconds" if micros % 1000 == 0 else "microseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=digits) + "Z"
