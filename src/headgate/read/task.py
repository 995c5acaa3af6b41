"""Read fragments of a Lance table inside a task of Spark, as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.domain.arrays import Array
from headgate.domain.bitmap import IdBitmap
from headgate.errors import BadInput
from headgate.read.counts import LanceCounts
from headgate.read.predicate import mask_of, predicate_of, united
from headgate.read.types import cast_batches

ROW_ID = "_rowid"
_OPEN = 8  # tables that a process keeps open: opening one reads its manifest, and its indexes stay in memory


@dataclass(frozen=True, slots=True)
class Place:
    """Where a version of a table lies; ``options`` are those of its storage."""

    uri: str
    version: int
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment as planning saw it, by the names of its files, and how many rows it has."""

    id: int
    files: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Part:
    """What a task reads: some fragments, and at most so many rows of them."""

    fragments: tuple[Fragment, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows and columns of a table are wanted.

    ``ids`` are sets that columns have to be in, ``rows`` a set of row ids. ``schema`` has the types that Spark takes;
    ``row_id`` names a column of row ids, which then stands last in it.
    """

    columns: tuple[str, ...]
    schema: pa.Schema
    row_id: str | None = None
    ids: tuple[tuple[str, IdBitmap], ...] = ()
    rows: IdBitmap | None = None


def open_table(uri: str, version: int | None, options: tuple[tuple[str, str], ...] = ()) -> Any:
    """Open a table at a version, or at the newest one."""
    dataset = lance_module().dataset
    try:
        return dataset(uri, version=version, storage_options=dict(options) or None)
    except (OSError, ValueError) as error:
        which = "" if version is None else f" at version {version}"
        raise BadInput(
            f"there is no Lance table {uri!r}{which} that can be opened ({plain(error)}); give the folder of one, such "
            "as people.lance, and a version that lance.dataset(path).versions() lists"
        ) from error


def lance_module() -> Any:
    """Return pylance, or say how to get it."""
    try:
        import lance
        from lance.dataset import ScannerBuilder
    except ImportError as error:
        raise BadInput(
            "Lance tables are read with pylance, and it is not installed where this runs; every other table can be "
            "read without it: install it for the driver and the executors with pip install 'headgate[lance]'"
        ) from error
    if not hasattr(ScannerBuilder, "row_addr_prefilter"):
        raise BadInput(
            f"pylance {lance.__version__} takes no masks of row ids, and later versions do; bring it up to date with "
            "pip install --upgrade 'headgate[lance]'"
        )
    return lance


def fragments_of(table: Any) -> list[Fragment]:
    """Return the fragments of a table."""
    return [_seen(fragment) for fragment in table.get_fragments()]


def read_part(
    place: Place, part: Part, wanted: Wanted, count: Callable[[LanceCounts], None]
) -> Iterator[pa.RecordBatch]:
    """Yield the wanted rows of a part, and count what Lance read for them.

    Sets of ids are found first, in the columns of those ids alone; the other columns are read by row id then, so Lance
    reads no row of them that is not wanted.
    """
    table = _opened(place, part.fragments)
    scan = _Scan(table, [table.get_fragment(fragment.id) for fragment in part.fragments])
    rows = wanted.rows
    if wanted.ids:
        rows = _located(scan, wanted, part.limit)
        count(LanceCounts(rows_tested=scan.rows, bytes_read=scan.bytes))
    if rows is None or len(rows):
        mask = {} if rows is None else {"row_addr_allowlist": mask_of(rows)}
        yield from _read(scan, wanted, limit=part.limit, **mask)
        count(LanceCounts(rows_read=scan.rows, fragments_read=scan.fragments_read, bytes_read=scan.bytes))


def _located(scan: _Scan, wanted: Wanted, limit: int | None) -> IdBitmap:
    """Return the ids of the rows whose columns are in the sets."""
    columns = list(dict.fromkeys(name for name, _ in wanted.ids))
    if wanted.rows is None:
        kinds = scan.table.schema
        test = united([predicate_of(name, kinds.field(name).type, ids) for name, ids in wanted.ids])
        pushed: dict[str, Any] = {"filter": test.sql, "use_scalar_index": test.is_tight}
    else:  # rows that are known are tested below: no use in asking an index about all others
        pushed = {"row_addr_allowlist": mask_of(wanted.rows)}
    found: list[Array] = []
    for batch in scan.batches(columns=columns, with_row_id=True, **pushed):
        inside = np.ones(batch.num_rows, dtype=bool)
        for name, ids in wanted.ids:
            inside &= _contains(ids, batch.column(name))
        found.append(batch.column(ROW_ID).to_numpy()[inside].astype(np.int64))
    listed = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return IdBitmap.of(listed[:limit])


def _read(scan: _Scan, wanted: Wanted, **pushed: Any) -> Iterator[pa.RecordBatch]:
    columns, with_row_id = list(wanted.columns), wanted.row_id is not None
    names = [*columns, ROW_ID] if with_row_id else columns
    for batch in scan.batches(columns=columns, with_row_id=with_row_id, blob_handling="all_binary", **pushed):
        table = pa.Table.from_batches([batch]).select(names)
        yield from cast_batches(table.rename_columns(wanted.schema.names), wanted.schema)


class _Scan:
    """Scans some fragments of a table; what the last scan read is known when it is over."""

    def __init__(self, table: Any, fragments: list[Any]) -> None:
        self.table, self._fragments = table, fragments
        self.rows = self.fragments_read = self.bytes = 0

    def batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a scan."""
        told: list[Any] = []
        scanner = self.table.scanner(fragments=self._fragments, scan_stats_callback=told.append, **options)
        try:
            yield from scanner.to_batches()
        except (OSError, ValueError) as error:
            raise BadInput(
                f"Lance could not read version {self.table.version} of {self.table.uri} ({plain(error)}); if that "
                "version was cleaned up or the table written anew, make the DataFrame again"
            ) from error
        self.rows = sum(stats.all_counts.get("rows_scanned", 0) for stats in told)
        self.fragments_read = sum(stats.all_counts.get("fragments_scanned", 0) for stats in told)
        self.bytes = sum(stats.bytes_read for stats in told)


def plain(error: Exception) -> str:
    """Return what Lance says, without the places in its source."""
    return str(error).split(", /", 1)[0]


def _contains(ids: IdBitmap, column: pa.Array) -> Array:
    """Return for each value of a column whether it is in a set; NULL is in none.

    The set may be large and the column is one batch: what both have is small, and quick to ask.
    """
    if pa.types.is_uint64(column.type):  # what is above 2^63-1 is no id
        column = pc.if_else(pc.less_equal(column, pa.scalar(2**63 - 1, pa.uint64())), column, None)
    inside = np.asarray(column.is_valid())
    values = np.asarray(column.fill_null(0)).astype(np.int64)
    if ids.width == 32:  # a wider batch would have the whole set widened
        inside = inside & (values >= 0) & (values < 2**32)
    return inside & ids.intersect(IdBitmap.of(values[inside])).contains(values)


def _opened(place: Place, fragments: tuple[Fragment, ...]) -> Any:
    """Open a table, and make sure that it is the one that was planned for, not another at the same path."""
    for look in (_kept_open, open_table):
        table = look(place.uri, place.version, place.options)
        found = [table.get_fragment(fragment.id) for fragment in fragments]
        if all(has is not None and _seen(has) == planned for has, planned in zip(found, fragments, strict=True)):
            return table
        _kept_open.cache_clear()
    raise BadInput(
        f"version {place.version} of {place.uri} is not the one that the DataFrame was made from: the table was "
        "written anew under the same name; make the DataFrame again"
    )


@lru_cache(maxsize=_OPEN)
def _kept_open(uri: str, version: int, options: tuple[tuple[str, str], ...]) -> Any:
    return open_table(uri, version, options)


def _seen(fragment: Any) -> Fragment:
    files = [str(file.path) for file in fragment.metadata.files]
    return Fragment(fragment.fragment_id, (*files, str(fragment.deletion_file())), fragment.count_rows())
