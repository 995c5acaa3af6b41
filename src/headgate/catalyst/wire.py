"""What Python and Java say to each other, as types: a plan's edits, the builds to run, a session's facts, late counts.

Messages are JSON with camelCase names, written and read here and nowhere else. The Java side reads them in `PlanWriter`
and `Builds`, and writes them in `PlanReader`, `QueryContext`, `OrcFooters` and `StreamGate`. Files in
tests/catalyst/wire hold an example of each, which the tests of both sides read.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

Literal = bool | int | str | None
"""A value in Spark's internal form; floats and decimals are text, bytes are base64."""


class _Message(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A message; what has its default value is left out."""


class Predicate(_Message, frozen=True, kw_only=True):
    """A test of one column: values or ranges (with None for an open end), and a roaring bitmap that refines them.

    A bitmap is 32 bits wide, or 64 with the sign bit of each number flipped. What is only ``for_reader`` goes to the
    reader of the files, and rows are not tested.
    """

    column: int
    values: list[Literal] | None = None
    ranges: list[tuple[Literal, Literal]] | None = None
    bitmap: str | None = None
    width: int = 32
    for_reader: bool = False
    null: bool = False


class LateGate(_Message, frozen=True, kw_only=True):
    """A late filter on a column of a scan; ``rows`` says whether it tests each row as well."""

    id: str
    number: int
    column: int
    rows: bool


class ScanEdit(_Message, frozen=True, kw_only=True):
    """What is left of one scan: files by number (None: all), byte ranges of files that are read in part, and tests.

    ``shown`` names the filters for people who look at Spark's SQL tab, and ``unread_groups`` counts the row groups that
    are not read of files that are.
    """

    keep: list[int] | None = None
    row_groups: dict[int, list[int]] = {}
    filters: list[Predicate] = []
    late: list[LateGate] = []
    shown: list[str] = []
    unread_groups: dict[int, int] = {}


class TapFilter(_Message, frozen=True, kw_only=True):
    """A filter that a tap notes the keys for."""

    id: str
    column: int


class Tap(_Message, frozen=True, kw_only=True):
    """A tap on one side (0: left, 1: right) of a join, which Spark shuffles by ``keys``."""

    side: int
    max_distinct: int
    max_bytes: int
    keys: list[int]
    filters: list[TapFilter]


class LateQuery(_Message, frozen=True, kw_only=True):
    """Where executors ask for the late filters of a query, how many there are, and how long one question may wait."""

    query: str
    url: str
    token: str
    filters: int
    max_wait_ms: int


class PlanEdits(_Message, frozen=True, kw_only=True):
    """All edits of a plan or a part of it; scans, builds and joins are named by their node number."""

    scans: dict[int, ScanEdit] = {}
    builds: dict[int, int] = {}
    taps: dict[int, Tap] = {}
    late: LateQuery | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the plan stays as it is."""
        return self == PlanEdits()


class KeyLimits(_Message, frozen=True, kw_only=True):
    """How much a task may keep of one key."""

    max_distinct: int
    max_bytes: int


class BuildOrder(_Message, frozen=True, kw_only=True):
    """A build side to run: the positions of its keys, how many bytes of rows may come back, and its edits.

    ``serves`` names its filters, for people who look at Spark's jobs.
    """

    node: int
    keys: list[int]
    row_bytes: int
    edits: PlanEdits
    serves: str = ""


class BuildOrders(_Message, frozen=True, kw_only=True):
    """Build sides that run at the same time."""

    limits: KeyLimits
    builds: list[BuildOrder]


class SessionFacts(_Message, frozen=True, kw_only=True):
    """What planning needs to know of the session: Spark's broadcast limit, how names compare, and our settings."""

    broadcast_bytes: int
    case_sensitive: bool
    settings: dict[str, str]


class FilterCounts(msgspec.Struct, frozen=True):
    """What tasks counted for one late filter; times are in milliseconds since 1970, or 0.

    ``opened_cut_off`` counts those of ``opened_before`` that were opened where the coordinator could not be reached.
    """

    rows: int = 0
    opened_before: int = 0
    opened_cut_off: int = 0
    received: int = 0
    applied: int = 0


class Closed(msgspec.Struct, frozen=True, array_like=True):
    """Files and row groups that one late filter closed."""

    files: int = 0
    row_groups: int = 0


class Unread(msgspec.Struct, frozen=True, array_like=True):
    """What late filters left unread of one scan; ``uncounted`` files were closed without counting their row groups."""

    files: int = 0
    row_groups: int = 0
    bytes: int = 0
    uncounted: int = 0


class LateNumbers(_Message, frozen=True, kw_only=True):
    """What the late filters of a query did so far: by filter number (``counts`` holds five for each), and by scan.

    ``places`` has by scan and path where closed row groups start, and first -1 for a file of which nothing is read;
    it is None where there are too many files to tell.
    """

    counts: list[int] = []
    filters: dict[int, Closed] = {}
    scans: dict[int, Unread] = {}
    places: dict[int, dict[str, list[int]]] | None = None

    def counted(self, filter: int) -> FilterCounts:
        """Return what tasks counted for a filter."""
        width = len(FilterCounts.__struct_fields__)
        return FilterCounts(*self.counts[filter * width : (filter + 1) * width])

    def closed(self, filter: int) -> Closed:
        """Return what a filter closed."""
        return self.filters.get(filter, Closed())

    def unread(self, scan: int) -> Unread:
        """Return what was left unread of a scan."""
        return self.scans.get(scan, Unread())


class ToldRead(_Message, frozen=True, kw_only=True):
    """What one told scan has read, as its source counted it; None where it does not count.

    ``without`` are the told columns that the table keeps no bounds of, where it was read whole, and ``setting`` is what
    would change that.
    """

    files: int | None = None
    files_total: int | None = None
    rows: int | None = None
    bytes: int | None = None
    bytes_total: int | None = None
    without: list[str] = []
    setting: str = ""


class SeenScan(_Message, frozen=True, kw_only=True):
    """What one scan has read, as Spark's own metrics say; None where it does not count.

    ``column`` is the id of the relation's first column: plans know a scan by it.
    """

    name: str
    files: int | None = None
    files_total: int | None = None
    bytes: int | None = None
    rows: int | None = None
    column: int | None = None


class Executed(_Message, frozen=True, kw_only=True):
    """What showed when a plan was executed: what told scans have read, by node number, and why it ran unfiltered.

    The tables of a plan may have changed by then; ``outdated`` is empty where they have not. ``untold`` are scans whose
    source could not be told anything after all, and ``built`` is what the scans of build sides have read.
    """

    outdated: str = ""
    scans: dict[int, ToldRead] = {}
    untold: list[int] = []
    built: list[SeenScan] = []


class OrcFile(_Message, frozen=True, kw_only=True):
    """The stripes of one ORC file, or the file as one; ``columns`` has least values, greatest values, numbers of NULLs.

    Values are in Spark's internal form, decimals text; None stands for what is unknown.
    """

    starts: list[int]
    ends: list[int]
    rows: list[int]
    columns: list[tuple[list[Literal], list[Literal], list[int | None]]]


class OrcFooters(_Message, frozen=True, kw_only=True):
    """What ORC files say of the columns that were asked for; None stands for a file that cannot be read."""

    files: list[OrcFile | None]


class SeenQuery(_Message, frozen=True, kw_only=True):
    """One query of the session, filtered or not; times are in milliseconds since 1970.

    ``text`` is its SQL where it was written as SQL, and ``where`` its description or the line of the program. ``note``
    says why Headgate did not look at it, where it did not.
    """

    number: int
    version: int
    state: str
    started: int
    ended: int | None = None
    took_ms: int | None = None
    text: str = ""
    where: str = ""
    failure: str = ""
    note: str = ""
    scans: list[SeenScan] = []


class SeenQueries(_Message, frozen=True, kw_only=True):
    """The queries that are new or have changed since an earlier version."""

    version: int
    queries: list[SeenQuery] = []


class SourceLog(_Message, frozen=True, kw_only=True):
    """One source of a micro-batch; ``cut_off`` is in microseconds since 1970."""

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


class BatchLog(_Message, frozen=True, kw_only=True):
    """One micro-batch; ``watermark`` is in milliseconds since 1970."""

    batch_id: int
    watermark: int
    generation: int
    strict: bool
    plan_micros: int
    sources: list[SourceLog]
    failure: str = ""


class StreamLog(_Message, frozen=True, kw_only=True):
    """The last micro-batches of a streaming query, oldest first, and how often Headgate failed in it."""

    batches: list[BatchLog] = []
    failures: int = 0
    last_failure: str = ""


class MoveLog(_Message, frozen=True, kw_only=True):
    """What one operator with a moving value did in one micro-batch."""

    operator: str
    batch_id: int
    before: str
    after: str
    left_rows: int
    moved_in: int
    moved_out: int
    rows_kept: int
    blocks_read: int
    scan_micros: int
    vnodes_pending: int


Message = TypeVar("Message", bound=_Message)


def encoded(message: _Message) -> str:
    """Return a message as JSON."""
    return msgspec.json.encode(message).decode()


def decoded(text: str | bytes, kind: type[Message]) -> Message:
    """Read a message of some kind from JSON."""
    return msgspec.json.decode(text, type=kind)
