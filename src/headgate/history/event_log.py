"""Write records into a file of JSON lines, and read them back: `EventLog` and `read_log`.

A later line replaces an earlier one of the same id. A line that cannot be read (a process was killed while it wrote) is
left out and counted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Lock

import msgspec

from headgate.errors import BadInput
from headgate.history.records import Record

_FILE = re.compile(r"^file:(//(localhost)?(?=/))?")
_DECODER = msgspec.json.Decoder(Record)


class EventLog:
    """A file that records are appended to; one line each, written at once. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)  # what cannot be written now must not be written later
            self._is_torn = self._ends_in_the_middle()
        except OSError as error:
            raise BadInput(
                f"the event log {str(path)!r} cannot be written: {error.strerror or error}; "
                "set spark.headgate.eventLog to a file or folder that can"
            ) from error

    @classmethod
    def at(cls, place: str, application: str) -> EventLog:
        """Open the log that a setting names: a file that ends in .jsonl, or a folder with one file an application."""
        if "://" in place and not place.startswith("file://"):
            raise BadInput(
                f"the event log {place!r} is not on this machine; set spark.headgate.eventLog to a local file or folder"
            )
        path = Path(_FILE.sub("", place)).expanduser()
        return cls(path if path.suffix == ".jsonl" else path / f"{application}.jsonl")

    def append(self, line: bytes) -> None:
        """Append one encoded record."""
        with self._lock:
            rest = memoryview((b"\n" if self._is_torn else b"") + line + b"\n")
            self._is_torn = True
            while rest:
                rest = rest[self._file.write(rest) :]
            self._is_torn = False

    def _ends_in_the_middle(self) -> bool:
        """Whether the last line is not whole: a process was killed, or a disk was full."""
        if not self._file.seek(0, os.SEEK_END):
            return False
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) != b"\n"

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def read_log(path: Path) -> tuple[list[Record], int]:
    """Return the records of a log, or of all logs in a folder, in the order in which they began; and unread lines."""
    if not os.path.exists(path):  # noqa: PTH110 - also says no to a path that is too long
        raise BadInput(f"there is no event log at {str(path)!r}; set spark.headgate.eventLog to write one")
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise BadInput(f"the folder {str(path)!r} has no event logs (*.jsonl)")
    records: dict[tuple[str, str], Record] = {}
    unread = 0
    for file in files:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            raise BadInput(f"the event log {str(file)!r} cannot be read: {error.strerror or error}") from error
        for line in filter(None, lines):
            try:
                record = _DECODER.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                unread += 1
                continue
            records[type(record).__name__, record.id] = record
    if unread and not records:
        raise BadInput(f"{str(path)!r} is not an event log of Headgate: none of its {unread} lines can be read")
    return list(records.values()), unread
