"""Read the JSON of a scan's files, as `FileListing.java` writes it."""

from __future__ import annotations

import decimal
from typing import Any

import msgspec

from headgate.tables import DataFile, ListedFiles, Listing

_Value = bool | int | float | str | None


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    """Files are [partition, path, size, time, stamp]; the stamp may be missing."""

    files: list[list[int | str]]
    partition_columns: list[tuple[str, str]]
    partitions: list[list[_Value]]


def read_listing(document: bytes) -> Listing:
    """Return the files of a scan; they are decoded only when they are asked for, since most listings are known."""
    return Listing(document, _listed)


def _listed(document: bytes) -> ListedFiles:
    found = msgspec.json.decode(document, type=_Document)
    files = [DataFile(path, size, time, partition, *stamp) for partition, path, size, time, *stamp in found.files]  # type: ignore[arg-type]
    partitions = [
        [
            _partition_value(value, type_name)
            for value, (_, type_name) in zip(values, found.partition_columns, strict=True)
        ]
        for values in found.partitions
    ]
    return ListedFiles(files, found.partition_columns, partitions)


def _partition_value(value: _Value, type_name: str) -> Any:
    if value is None:
        return None
    if type_name.startswith("decimal"):
        return decimal.Decimal(str(value))
    return float(value) if type_name in ("float", "double") else value  # NaN and infinity come as text
