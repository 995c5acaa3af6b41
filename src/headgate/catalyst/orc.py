"""Turn what `OrcFooters.java` says of ORC files into footers, with values as domains know them."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

from headgate.catalyst.wire import Literal, OrcFile, OrcFooters, decoded
from headgate.tables import OrcFooter


def read_orc_footers(document: bytes, columns: Sequence[tuple[str, str]]) -> list[OrcFooter | None]:
    """Return the footers of files, with what they say of these ``(name, type)`` columns."""
    return [None if file is None else _footer(file, columns) for file in decoded(document, OrcFooters).files]


def _footer(file: OrcFile, columns: Sequence[tuple[str, str]]) -> OrcFooter:
    known = [
        (_values(mins, type_name), _values(maxs, type_name), nulls)
        for (mins, maxs, nulls), (_, type_name) in zip(file.columns, columns, strict=True)
    ]
    return OrcFooter(file.starts, file.ends, file.rows, known)


def _values(values: Sequence[Literal], type_name: str) -> Sequence[Any]:
    if not type_name.startswith("decimal"):
        return values
    return [None if value is None else decimal.Decimal(str(value)) for value in values]
