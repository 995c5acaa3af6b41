"""One query's plan on its way across and back: a thin face over the Java `QueryContext`."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headgate.catalyst.compiler import JavaClasses, texts
from headgate.catalyst.listing import read_listing
from headgate.catalyst.orc import read_orc_footers
from headgate.catalyst.packed import PackedBuild, unpack_builds, unpack_tap
from headgate.catalyst.reader import read_plan
from headgate.catalyst.wire import BuildOrders, Executed, LateNumbers, PlanEdits, SessionFacts, decoded, encoded
from headgate.domain import encode_json
from headgate.filters import Snapshot
from headgate.plan import Node
from headgate.tables import DataFile, FileReads, Listing, OrcFooter

_LONG = 365 * 24 * 3600 * 1000


class CatalystQuery:
    """One query as Catalyst knows it: read it, run its build sides, write it with edits."""

    def __init__(self, context: Any, classes: JavaClasses) -> None:
        self._context, self._classes = context, classes
        self.number = int(context.number())  # among all queries of the session; a subquery has that of the whole

    def read(self) -> tuple[Node, SessionFacts]:
        """Return the plan as nodes, and the facts of its session."""
        return read_plan(handed_over(self._context.read()))

    def list_files(self, scan: int) -> Listing:
        """Return the files of a scan; a listing that is the same as an earlier one has the same key."""
        return read_listing(handed_over(self._context.listFiles(scan)))

    def start_builds(self, orders: BuildOrders) -> RunningBuilds:
        """Start build sides and return at once."""
        return RunningBuilds(self._context.startBuilds(encoded(orders)))

    def idle_share(self) -> float:
        """Return the share of Spark's task slots that are idle."""
        return float(self._classes.call("interop.Slots", "idleShare", self._context.session()))

    def tapped_filters(self) -> list[str]:
        """Return the filters whose build sides are tapped in the plan that was written."""
        return texts(self._context.taps().filters())

    def wait_for_tap(self, filter: str, seconds: float) -> list[bytes] | None:
        """Return the packed keys that each task of a tap reported, or None when it still collects after so long."""
        reply = getattr(self._context.taps(), "await")(filter, int(seconds * 1000))
        return None if reply is None else unpack_tap(handed_over(reply))

    def forget_tap(self, filter: str) -> None:
        """Stop waiting for a tap."""
        self._context.taps().forget(filter)

    def executed(self) -> Executed:
        """Return what showed when the written plan was executed, as far as it was."""
        return decoded(str(self._context.executed()), Executed)

    def release(self) -> None:
        """Let go of the plan and of what was collected for it."""
        self._context.release()

    def late_numbers(self) -> LateNumbers:
        """Return what the late filters did so far."""
        return decoded(str(self._context.late().numbers()), LateNumbers)

    def forget_unread(self) -> None:
        """Let go of what was counted file by file."""
        self._context.late().forgetUnread()

    def publish(self, query: str, filter: str, state: Snapshot) -> None:
        """Bring one version of a late filter to the driver's own process."""
        domain = encode_json(state.domain).decode()
        self._classes.call("late.LateStates", "publish", query, filter, str(state.version), state.is_complete, domain)

    def write(self, edits: PlanEdits) -> Any:
        """Return the Catalyst plan with the edits made."""
        return self._context.write(encoded(edits))

    def reads(self, scan: int) -> FileReads:
        """Return how the footers of a scan's files are read through Spark's own file systems and readers."""
        return FileReads(self._read_tails, partial(self._read_orc, scan))

    def _read_tails(self, wanted: Sequence[tuple[str, int, int]]) -> list[bytes | None]:
        paths, sizes, counts = (self._classes.listed([item[i] for item in wanted]) for i in range(3))
        packed = self._context.readTails(paths, sizes, counts)
        return [None if tail is None else base64.b64decode(tail) for tail in packed]

    def _read_orc(
        self, scan: int, files: Sequence[DataFile], columns: Sequence[tuple[str, str]], *, case_sensitive: bool
    ) -> list[OrcFooter | None]:
        listed = self._classes.listed
        paths, sizes = listed([file.path for file in files]), listed([file.size for file in files])
        names, types = (listed([column[i] for column in columns]) for i in range(2))
        reply = self._context.readOrc(scan, paths, sizes, names, types, case_sensitive)
        return read_orc_footers(handed_over(reply), columns)

    @property
    def was_cancelled(self) -> bool:
        """Whether the user cancelled the query while its builds ran."""
        return bool(self._context.isCancelled())


class RunningBuilds:
    """Build sides that run."""

    def __init__(self, builds: Any) -> None:
        self._builds = builds

    def cancel(self) -> None:
        """End the jobs of the builds."""
        self._builds.cancel()

    def wait(self, seconds: float | None) -> list[PackedBuild] | None:
        """Return what the builds gave, or None when they still run after so long."""
        millis = _LONG if seconds is None else max(0, int(min(seconds * 1000, _LONG)))
        reply = getattr(self._builds, "await")(millis)
        return None if reply is None else unpack_builds(handed_over(reply))


def handed_over(reply: str) -> bytes:
    """Take what Java handed over: packed into the reply, or in a file that is read and removed."""
    how, _, body = reply.partition(":")
    if how == "packed":
        return gzip.decompress(base64.b64decode(body))
    path = Path(body)
    try:
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)
