"""Write small Lance tables of every kind: row ids stable or not, rows deleted, changed and appended, with an index."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from headgate.domain.bitmap import IdBitmap
from headgate.graph import Frontier
from headgate.read.counts import LanceCounts
from headgate.read.task import Part, Place, Wanted, fragments_of, read_part
from headgate.read.types import readable_schema

Row = tuple[int | None, int | None, int]
NAMES = ("src", "dst", "w")


@dataclass(frozen=True)
class Kind:
    """How a table came to be what it is."""

    stable: bool
    indexed: bool
    changed: bool

    def __str__(self) -> str:
        words = {"stable": self.stable, "indexed": self.indexed, "changed": self.changed}
        return "-".join(word for word, is_so in words.items() if is_so) or "plain"


KINDS = [Kind(*flags) for flags in product((False, True), repeat=3)]


def edges_table(rows: list[Row], kind: pa.DataType | None = None) -> pa.Table:
    types = (kind or pa.int64(), kind or pa.int64(), pa.int64())
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(NAMES)})


def write(path: Path, table: pa.Table, kind: Kind) -> Any:
    """Write a table in several fragments; a changed one loses and moves rows, and gains a fragment after its index."""
    most = max(table.num_rows // 3, 1)
    made = lance.write_dataset(table, str(path), max_rows_per_file=most, enable_stable_row_ids=kind.stable)
    if kind.indexed and table.num_rows:
        made.create_scalar_index("src", "BTREE")
    if kind.changed:
        made.delete("w % 5 = 0")
        made.update({"w": "w + 1000"}, where="w % 5 = 1")
        lance.write_dataset(table.slice(0, most), str(path), mode="append")
    return lance.dataset(str(path))


def read_here(table: Any, **wanted: Any) -> tuple[pa.Table, LanceCounts]:
    """Read a table as the tasks of Spark do, in this process."""
    columns = wanted.pop("columns", tuple(table.schema.names))
    schema = readable_schema(pa.schema([table.schema.field(name) for name in columns]), "the table")
    row_id = wanted.get("row_id")
    if row_id is not None:
        schema = schema.append(pa.field(row_id, pa.int64()))
    sets = tuple((name, Frontier.of(ids).ids) for name, ids in wanted.pop("ids", {}).items())
    rows, limit = wanted.pop("rows", None), wanted.pop("limit", None)
    asked = Wanted(columns, schema, ids=sets, rows=None if rows is None else bitmap(rows), **wanted)
    counts: list[LanceCounts] = []
    place = Place(table.uri, table.version)
    batches = list(read_part(place, Part(tuple(fragments_of(table)), limit), asked, counts.append))
    return pa.Table.from_batches(batches, schema), sum(counts, LanceCounts())


def bitmap(ids: Any) -> IdBitmap:
    return Frontier.of(ids).ids


def listed(table: pa.Table) -> list[tuple]:
    """The rows in an order that does not depend on how they were read; NULLs first."""
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, value or 0) for value in row])
