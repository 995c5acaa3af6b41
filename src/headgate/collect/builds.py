"""Run build sides in Spark and merge what their tasks report into one domain for each key.

Each task keeps a bounded partial domain of each key, and its rows while they are few (BuildTask.java). The merger
unions the partials; nothing is published before all have reported, which a finished job guarantees. A build whose
rows fit the broadcast limit comes back as rows too: they take the place of the build side, so it runs once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from headgate.catalyst.bridge import Query
from headgate.domain import Domain, Limits, TupleDomain, ValueType, value_type
from headgate.domain.bitmap import IdBitmap
from headgate.domain.types import BINARY, STRING, from_axis
from headgate.domain.values import from_ids
from headgate.filters import DynamicFilter, FilterMerger

_BUILD = struct.Struct(">iq?qqi")


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A build side to run: its node, the columns whose domains are wanted, and how many bytes of rows may come back."""

    node: int
    columns: tuple[int, ...]
    ordinals: tuple[int, ...]
    types: tuple[str, ...]
    row_bytes: int
    edits: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build gave: its number, whether its rows are held, and the domain of each wanted column."""

    number: int
    rows: int
    has_rows: bool
    row_bytes: int
    millis: int
    error: str
    domains: dict[int, Domain]


class RunningWave:
    """Build sides of one wave that run side by side."""

    def __init__(self, query: Query, requests: Sequence[BuildRequest], limits: Limits) -> None:
        self._requests, self._limits = requests, limits
        request: dict[str, Any] = {
            "limits": {"maxDistinct": limits.max_distinct, "maxBytes": limits.max_bytes},
            "builds": [
                {"node": r.node, "keys": list(r.ordinals), "rowBytes": r.row_bytes, "edits": r.edits} for r in requests
            ],
        }
        self._running = query.start_builds(msgspec.json.encode(request).decode())

    def cancel(self) -> None:
        """End the builds that still run."""
        self._running.cancel()

    def wait(self, seconds: float | None = None) -> list[BuildResult] | None:
        """Return the results, or None when the builds still run after so many seconds."""
        packed = self._running.wait(seconds)
        return None if packed is None else _unpack(packed, self._requests, self._limits)


def _unpack(packed: bytes, requests: Sequence[BuildRequest], limits: Limits) -> list[BuildResult]:
    results, at = [], 4
    for request in requests:
        number, rows, has_rows, row_bytes, millis, error_length = _BUILD.unpack_from(packed, at)
        at += _BUILD.size
        error = packed[at : at + error_length].decode()
        at += error_length
        keys, partitions = struct.unpack_from(">ii", packed, at)
        at += 8
        parts: list[list[bytes]] = []
        for _ in range(partitions):
            row = []
            for _ in range(keys):
                (length,) = struct.unpack_from(">i", packed, at)
                row.append(packed[at + 4 : at + 4 + length])
                at += 4 + length
            parts.append(row)
        domains = {} if error else _merged(request, parts, limits)
        results.append(BuildResult(number, rows, has_rows, row_bytes, millis, error, domains))
    return results


def tapped_domain(packed: bytes, type: str, limits: Limits) -> Domain:
    """Return the domain of a key that the tasks of a tapped stage have told."""
    return _united([_partial(value_type(type), part) for part in _texts(packed)], type, limits)


def _merged(request: BuildRequest, parts: list[list[bytes]], limits: Limits) -> dict[int, Domain]:
    """Union the partial domains of each key; each is merged on its own, so one that is all NULL empties no other."""
    domains = {}
    for position, (column, name) in enumerate(zip(request.columns, request.types, strict=True)):
        domains[column] = _united([_partial(value_type(name), part[position]) for part in parts], name, limits)
    return domains


def _united(parts: list[Domain], type: str, limits: Limits) -> Domain:
    published = DynamicFilter("key", ["key"])
    merger = FilterMerger(published, len(parts), limits=limits)
    for number, part in enumerate(parts):
        merger.report(number, TupleDomain({"key": part}))
    state = published.current()
    held = Domain.none(value_type(type)) if state.is_none else state.find("key")
    return Domain.all(value_type(type)) if held is None else held


def _partial(kind: ValueType, packed: bytes) -> Domain:
    """Read one task's domain of one key; a string that is not UTF-8 has no place in a domain, so then all may match."""
    try:
        return _read_partial(kind, packed)
    except UnicodeDecodeError:
        return Domain.all(kind)


def _read_partial(kind: ValueType, packed: bytes) -> Domain:
    form, has_null, body = packed[0], bool(packed[1]), packed[2:]
    match form:
        case 0:
            return Domain.of_array(kind, _numbers(kind, body)).with_null(has_null)
        case 1:
            return Domain(from_ids(kind, IdBitmap.from_bytes(body, 32)), has_null)
        case 2:
            low, high = (_python(kind, value) for value in _numbers(kind, body).tolist())
            return Domain.range(kind, low, high, null_allowed=has_null)
        case 3:
            return Domain.of(kind, [_text(kind, raw) for raw in _texts(body)], null_allowed=has_null)
        case 4:
            low, high = (_text(kind, raw) for raw in _texts(body))
            return Domain.range(kind, low, high, null_allowed=has_null)
    return Domain.all(kind)


def _numbers(kind: ValueType, body: bytes) -> Any:
    raw = np.frombuffer(body, dtype=">i8").astype(np.int64)
    if kind.is_float:
        return raw.view(np.float64)
    if kind.name == "boolean":
        return raw.astype(bool)
    if kind.is_decimal:
        return np.array([_python(kind, value) for value in raw.tolist()], dtype=object)
    return raw


def _python(kind: ValueType, value: Any) -> Any:
    return from_axis(kind, value) if kind.is_decimal and isinstance(value, int) else value


def _texts(body: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(body):
        (length,) = struct.unpack_from(">i", body, at)
        found.append(body[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def _text(kind: ValueType, raw: bytes) -> Any:
    if kind is STRING:
        return raw.decode()
    if kind is BINARY:
        return raw
    return _python(kind, int.from_bytes(raw, "big", signed=True))
