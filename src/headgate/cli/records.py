"""Commands about event logs: `report` makes one HTML file of a log, `ui` serves it and follows it while it grows."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from typing import Annotated

import msgspec
import typer

from headgate.cli.output import write_text
from headgate.cli.starting import Debug, one_sentence
from headgate.coordinator import Coordinator, ForPeople
from headgate.errors import BadInput, CannotListen
from headgate.history import read_log
from headgate.page import document

Log = Annotated[Path, typer.Argument(help="An event log, or a folder of them (spark.headgate.eventLog).")]


def report(
    log: Log,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("headgate.html"),
    debug: Debug = False,
) -> None:
    """Make one HTML file of an event log: it needs no server, and asks nothing of the outside."""
    with one_sentence(debug=debug):
        count, unread = write_report(log, out)
        left = f"; {unread} lines could not be read and are left out" if unread else ""
        typer.echo(f"wrote {out} with {count} records{left}")


def write_report(log: Path, out: Path) -> tuple[int, int]:
    """Write the HTML file; return how many records are in it, and how many lines of the log could not be read."""
    if log.resolve() == out.resolve():
        raise BadInput(f"--out {str(out)!r} is the log itself; give another file")
    records, unread = read_log(log)
    write_text(out, document([msgspec.json.encode(record) for record in records]))
    return len(records), unread


def ui(
    log: Log,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on; 0 is any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    debug: Debug = False,
) -> None:
    """Serve the page over an event log, and show what is written into it from now on."""
    with one_sentence(debug=debug):
        followed = FollowedLog(log)
        try:
            with Coordinator(port=port, people=ForPeople(history=followed.since)) as serving:
                typer.echo(f"{serving.page_url}\nPress Ctrl+C to stop.")
                if browser:
                    webbrowser.open(serving.page_url)
                followed.wait()
        except CannotListen as error:
            why = error.__cause__.strerror if isinstance(error.__cause__, OSError) else str(error)
            raise BadInput(f"port {port} cannot be used: {why}; give another one, or 0 for any, with --port") from error


class FollowedLog:
    """A log that is read again when it has changed; versions count its changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._version = 0
        self._stamp: tuple[tuple[object, ...], ...] = ()
        self._lock = Lock()  # browsers ask at the same time
        self._read()

    def since(self, version: int) -> tuple[int, list[bytes]]:
        """Return the version now, and the encoded records that are newer than one."""
        with self._lock:
            with suppress(BadInput, OSError):  # a log that is gone, or is written anew: what it had is still told
                self._read()
            return self._version, [encoded for at, encoded in self._known.values() if at > version]

    def _read(self) -> None:
        files = sorted(self._path.glob("*.jsonl")) if self._path.is_dir() else [self._path]
        found = [(file.name, file.stat()) for file in files if file.exists()]
        stamp = tuple((name, status.st_size, status.st_mtime_ns, status.st_ino) for name, status in found)
        if stamp and stamp == self._stamp:
            return
        self._stamp = stamp
        for record in read_log(self._path)[0]:
            key, encoded = (type(record).__name__, record.id), msgspec.json.encode(record)
            if self._known.get(key, (0, b""))[1] != encoded:
                self._version += 1
                self._known[key] = self._version, encoded

    def wait(self) -> None:
        """Wait until the user stops the command."""
        try:
            Event().wait()
        except KeyboardInterrupt:
            typer.echo("stopped")
