"""Read Parquet footers in parallel and cache them by path, size, modification time and stamp.

A footer is parsed from the last bytes of its file. Where those bytes come from is the caller's choice: local files are
read here, files in other stores through Spark's file systems. A footer that cannot be read is None: its file is kept.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.tables.layout import DataFile, ReadTails

TAIL_BYTES = 64 * 1024
_THREADS = 8
_MAGIC_BYTES = 8

_Key = tuple[str, int, int, str]


def _key(file: DataFile) -> _Key:
    return file.path, file.size, file.modified, file.stamp


@dataclass(slots=True)
class Footer:
    """The parsed footer of one file, with the column statistics read from it so far."""

    metadata: pq.FileMetaData
    columns: dict[tuple[str, str, bool], Any] = field(default_factory=dict)


class FooterCache:
    """Footers by (path, size, modified, stamp), within ``max_bytes``; the least recently used go first. Thread-safe."""

    def __init__(self, max_bytes: int = 128 * 1024 * 1024) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._footers: OrderedDict[_Key, Footer | None] = OrderedDict()
        self._lock = Lock()
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._footers)

    @property
    def nbytes(self) -> int:
        """Bytes of the cached footers, as serialized in their files."""
        return self._bytes

    def get(self, files: Sequence[DataFile], read_tails: ReadTails) -> list[Footer | None]:
        """Return the footers of the files, reading those that are not cached."""
        keys = [_key(file) for file in files]
        with self._lock:
            missing = [file for file, key in zip(files, keys, strict=True) if key not in self._footers]
            self.hits += len(files) - len(missing)
            self.misses += len(missing)
            found = {key: self._footers[key] for key in keys if key in self._footers}
            for key in found:
                self._footers.move_to_end(key)
        for file, footer in zip(missing, read_footers(missing, read_tails), strict=True):
            key = _key(file)
            found[key] = footer
            self._add(key, footer)
        return [found[key] for key in keys]

    def _add(self, key: _Key, footer: Footer | None) -> None:
        with self._lock:
            if key in self._footers:
                return
            self._footers[key] = footer
            self._bytes += _size(footer)
            while self._bytes > self._max_bytes and len(self._footers) > 1:
                _, dropped = self._footers.popitem(last=False)
                self._bytes -= _size(dropped)


def read_footers(files: Sequence[DataFile], read_tails: ReadTails) -> list[Footer | None]:
    """Read and parse footers; a second read fetches footers longer than the first guess."""
    tails = read_tails([(file.path, file.size, min(file.size, TAIL_BYTES)) for file in files])
    longer = [i for i, tail in enumerate(tails) if tail is not None and _footer_bytes(tail) > len(tail)]
    if longer:
        wanted = [(files[i].path, files[i].size, min(files[i].size, _footer_bytes(tails[i]))) for i in longer]  # type: ignore[arg-type]
        for i, tail in zip(longer, read_tails(wanted), strict=True):
            tails[i] = tail
    return [_parse(tail) for tail in tails]


def read_local_tails(wanted: Sequence[tuple[str, int, int]]) -> list[bytes | None]:
    """Read the ends of local files, several at a time."""
    if len(wanted) < 2 * _THREADS:
        return [_local_tail(item) for item in wanted]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="headgate-footers") as pool:
        return list(pool.map(_local_tail, wanted))


def local_path(path: str) -> str | None:
    """Return the path of a local file in the form the operating system knows, or None for another store."""
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        return None
    return path.removeprefix("file://").removeprefix("file:") if parts.scheme else path


def is_as_listed(file: DataFile) -> bool:
    """Whether a local file is still the one that was listed; other stores are trusted."""
    name = local_path(file.path)
    if name is None:
        return True
    try:
        status = os.stat(name)  # noqa: PTH116 - called for each file of each query, and Path costs more than the call
    except OSError:
        return False
    if file.stamp and file.stamp != f"{status.st_ino}:{status.st_ctime_ns}":
        return False
    return status.st_size == file.size and status.st_mtime_ns // 1_000_000 == file.modified


def _local_tail(item: tuple[str, int, int]) -> bytes | None:
    path, size, count = item
    name = local_path(path)
    if name is None:
        return None
    try:
        with Path(name).open("rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                return None
            file.seek(size - count)
            return file.read(count)
    except OSError:
        return None


def _footer_bytes(tail: bytes) -> int:
    """Return the bytes of the footer with its length and magic; 0 if the file is not Parquet."""
    if len(tail) < _MAGIC_BYTES or tail[-4:] != b"PAR1":
        return 0
    return int.from_bytes(tail[-8:-4], "little") + _MAGIC_BYTES + 4


def _parse(tail: bytes | None) -> Footer | None:
    if tail is None or not 0 < _footer_bytes(tail) <= len(tail) + 4:
        return None
    try:
        return Footer(pq.read_metadata(pa.BufferReader(tail)))
    except (pa.ArrowException, OSError, ValueError):
        return None


def _size(footer: Footer | None) -> int:
    return 64 if footer is None else int(footer.metadata.serialized_size)
