"""Read Lance tables into Spark: only the columns, the ids and the row ids that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark import Accumulator
from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.ids import collect_ids
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.tables import Start, frontier_of
from headgate.graph.walk import MOST, MOST_BYTES
from headgate.read.counts import CountsParam, LanceCounts
from headgate.read.predicate import id_limits
from headgate.read.task import Fragment, Part, Place, Wanted, fragments_of, open_table, read_part
from headgate.read.types import readable_schema, spark_schema

_TASKS_PER_CORE = 4  # a table of many small fragments is read by few tasks


@dataclass(frozen=True, slots=True)
class LanceRead:
    """One read of a Lance table: its DataFrame, and what Lance has read for it by now."""

    frame: DataFrame
    _counted: Accumulator[LanceCounts] = field(repr=False)

    @property
    def counts(self) -> LanceCounts:
        """What Lance has read in all runs of the DataFrame, by its own counters."""
        return self._counted.value

    @property
    def rows_read(self) -> int:
        """How many rows were read, whether to be tested or to be given."""
        return self.counts.rows_tested + self.counts.rows_read

    @property
    def parts_read(self) -> int:
        """How many fragments rows were read from."""
        return self.counts.fragments_read


class LanceTable:
    """A Lance table at one version: what is written to it later is not seen, and does not disturb.

    It can be the edges of a `Graph`: each step pushes its frontier into Lance's scanner. Without ``version`` it is the
    newest one; ``columns`` are those that it has, all if none are named.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        *,
        columns: Sequence[str] | None = None,
        version: int | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        options = tuple(sorted((storage_options or {}).items()))
        table = open_table(str(path), version, options)
        self._spark = spark
        self._place = Place(table.uri, table.version, options)
        self._fragments = fragments_of(table)
        self._stored: pa.Schema = table.schema
        self.has_stable_row_ids: bool = table.has_stable_row_ids
        self.row_count: int = table.count_rows()
        self._indexed = {
            name: index.num_rows_indexed for index in table.describe_indices() for name in index.field_names
        }
        names = self._checked(self._stored.names if columns is None else columns, self._stored.names)
        self._schema = readable_schema(pa.schema([self._stored.field(name) for name in names]), str(self))

    def __str__(self) -> str:
        return f"version {self.version} of {self._place.uri}"

    @property
    def path(self) -> str:
        """Where the table lies."""
        return self._place.uri

    @property
    def version(self) -> int:
        """The version that is read."""
        return self._place.version

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    @property
    def part_count(self) -> int:
        """How many fragments the table has."""
        return len(self._fragments)

    @property
    def frame(self) -> DataFrame:
        """All rows."""
        return self.read().frame

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        ids: Mapping[str, Start] | None = None,
        rows: Start | None = None,
        row_id: str | None = None,
        limit: int | None = None,
    ) -> LanceRead:
        """Read some columns of the rows whose columns are in the sets ``ids`` and whose row ids are in ``rows``.

        ``row_id`` adds a column of that name with the row ids. They stay the same from version to version where the
        table has stable row ids; elsewhere they are good for this version only. With ``limit`` no more rows than that
        are given; each task reads no more than that of the columns.
        """
        names = self._checked(self.columns if columns is None else columns, self.columns)
        kept = [self._schema.field(name) for name in names]
        if row_id is not None:
            if row_id in names:
                raise BadInput(f"there is a column {row_id!r} already; give the column of row ids another name")
            kept.append(pa.field(row_id, pa.int64()))
        if not kept:
            raise BadInput(f"no column of {self} is asked for; name one of {', '.join(self.columns)}, or row_id=")
        if limit is not None and limit < 0:
            raise BadInput(f"limit={limit!r} is no number of rows; give 0 or more, or None for all")
        sets = tuple((self._id_column(name), frontier_of(one, MOST).ids) for name, one in (ids or {}).items())
        wanted = Wanted(
            tuple(names),
            pa.schema(kept),
            row_id,
            sets,
            None if rows is None else frontier_of(rows, MOST).ids,
        )
        return self._read(wanted, limit)

    def within(self, ids: Mapping[str, Frontier], columns: Sequence[str] | None = None) -> LanceRead:
        """Return the rows whose columns are in the sets, as a step of a graph asks for them."""
        return self.read(columns, ids=ids)

    def row_ids(self, ids: Mapping[str, Start], most: int = MOST) -> Frontier:
        """Return the row ids of the rows whose columns are in the sets: to be read by ``rows=`` then, or again."""
        frame = self.read([], ids=ids, row_id="row").frame
        found = collect_ids(frame, max_ids=most, max_bytes=MOST_BYTES, description=f"headgate: row ids of {self}")
        if not found.is_complete:
            raise BadInput(f"more than most={most:,} rows of {self} are in the sets; ask for fewer, or raise most")
        return Frontier(found.sets[0]) if found.sets else Frontier()

    def advice(self, column: str) -> str:
        """Say in a sentence what makes sets of a column's ids cheaper to find, or nothing."""
        unindexed = self.row_count - self._indexed.get(column, 0)
        if unindexed <= self.row_count // 2:
            return ""
        return (
            f"{unindexed:,} of {self.row_count:,} rows of {self} are in no index of {column}, so each step reads that "
            f"column of them whole; make one with lance.dataset(path).create_scalar_index({column!r}, 'BTREE'), and "
            "bring it up to date with optimize.optimize_indices()"
        )

    def _read(self, wanted: Wanted, limit: int | None) -> LanceRead:
        counted = self._spark.sparkContext.accumulator(LanceCounts(), CountsParam())
        parts, schema = self._parts(wanted, limit), spark_schema(wanted.schema)
        if not parts:
            return LanceRead(self._spark.createDataFrame([], schema), counted)
        numbers = self._spark.range(0, len(parts), 1, len(parts))
        frame = numbers.mapInArrow(_task(self._place, parts, wanted, counted), schema)
        # where parts may give more rows than are asked for together, Spark cuts off the rest
        given = sum(part.limit or 0 for part in parts)
        return LanceRead(frame.limit(limit) if limit is not None and given > limit else frame, counted)

    def _parts(self, wanted: Wanted, limit: int | None) -> list[Part]:
        """Divide the fragments that may have wanted rows among tasks."""
        fragments = self._fragments
        sets = [ids for _, ids in wanted.ids] + ([] if wanted.rows is None else [wanted.rows])
        if limit == 0 or any(not len(ids) for ids in sets):
            return []
        if limit is not None and not sets:
            return _first_rows(fragments, limit)
        if wanted.rows is not None and not self.has_stable_row_ids:
            # such a row id is an address: its upper half is the number of the fragment
            lows = np.array([fragment.id << 32 for fragment in fragments], dtype=np.int64)
            named = wanted.rows.count_between(lows, lows + 0xFFFFFFFF).tolist()
            fragments = [fragment for fragment, count in zip(fragments, named, strict=True) if count]
        tasks = min(len(fragments), self._spark.sparkContext.defaultParallelism * _TASKS_PER_CORE)
        return [Part(tuple(fragments[number::tasks]), limit) for number in range(tasks)]

    def _checked(self, asked: Sequence[str], known: Sequence[str]) -> list[str]:
        names = [asked] if isinstance(asked, str) else list(asked)
        unknown = [name for name in names if name not in known]
        if unknown or len(set(names)) < len(names):
            what = f"has no column {unknown[0]!r}" if unknown else "gives each column once"
            raise BadInput(f"{self} {what}; its columns are {', '.join(known)}")
        return names

    def _id_column(self, name: str) -> str:
        (found,) = self._checked([name], self._stored.names)
        kind = self._stored.field(found).type
        if id_limits(kind) is None:
            raise BadInput(
                f"column {name!r} of {self} is {kind}, and ids are whole numbers; name a column of whole numbers in ids"
            )
        return found


def lance(
    spark: SparkSession,
    path: str,
    columns: Sequence[str] | None = None,
    *,
    version: int | None = None,
    ids: Mapping[str, Start] | None = None,
    rows: Start | None = None,
    row_id: str | None = None,
    limit: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Read a Lance table as a DataFrame: its fragments in parallel, as Arrow batches, at one version.

    Lance reads only the ``columns`` that are named, only rows whose columns are in the sets ``ids`` (a mapping from
    column to ids), only rows whose row ids are in ``rows``, and at most ``limit`` rows.
    """
    table = LanceTable(spark, path, columns=columns, version=version, storage_options=storage_options)
    return table.read(ids=ids, rows=rows, row_id=row_id, limit=limit).frame


def _first_rows(fragments: Sequence[Fragment], limit: int) -> list[Part]:
    """Return the first fragments that have so many rows together, and no more rows of them than that."""
    parts, left = [], limit
    for fragment in fragments:
        if left > 0 and fragment.rows:
            parts.append(Part((fragment,), min(left, fragment.rows)))
            left -= fragment.rows
    return parts


def _task(
    place: Place, parts: Sequence[Part], wanted: Wanted, counted: Accumulator[LanceCounts]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what a task runs: it is given the numbers of its parts."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_part(place, parts[number], wanted, counted.add)

    return run
