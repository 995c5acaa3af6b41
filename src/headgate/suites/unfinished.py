"""Keep the results of a run that is not finished, so that a long benchmark can go on where it was stopped."""

from __future__ import annotations

from pathlib import Path

import msgspec

from headgate.suites.runner import QueryResult

_NAME = "unfinished.jsonl"


class Unfinished:
    """The results of one run so far: a line for the command, then one for each query."""

    def __init__(self, folder: Path, command: str, *, resume: bool) -> None:
        self._path = folder / _NAME
        self.results = self._read(command) if resume else []
        folder.mkdir(parents=True, exist_ok=True)
        lines = [msgspec.json.encode(command), *map(msgspec.json.encode, self.results)]
        self._path.write_bytes(b"".join(line + b"\n" for line in lines))

    def _read(self, command: str) -> list[QueryResult]:
        if not self._path.exists():
            return []
        first, *lines = self._path.read_bytes().splitlines()
        if msgspec.json.decode(first) != command:
            return []  # what was stopped was another run
        return [msgspec.json.decode(line, type=QueryResult) for line in lines]

    def add(self, result: QueryResult) -> None:
        """Keep one more result."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
        self.results.append(result)

    def finish(self) -> list[QueryResult]:
        """Return all results; there is nothing left to go on with."""
        self._path.unlink()
        return self.results
