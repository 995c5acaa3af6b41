"""Changelogs for tests: files of changes that a stream takes one a batch, and what a changelog adds up to."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.stream.streams import aged

Row = tuple[Any, ...]
Change = tuple[str, Row]
COMES = ("+I", "+U")


@dataclass
class Changes:
    """A folder of changes, one file a batch, and the rows that are there after each of them."""

    folder: Path
    ddl: str
    schema: pa.Schema
    after: list[list[Row]] = field(default_factory=list)
    there: Counter[Row] = field(default_factory=Counter)

    @property
    def rows(self) -> list[Row]:
        """The rows that are there now."""
        return list(self.there.elements())

    def write(self, changes: Sequence[Change]) -> None:
        """Write the changes of the next batch."""
        number = len(self.after)
        for op, row in changes:
            self.there[row] += 1 if op in COMES else -1
        self.after.append(self.rows)
        columns = list(zip(*((op, *row) for op, row in changes), strict=True)) or [()] * (len(self.schema) + 1)
        schema = pa.schema([pa.field("_op", pa.string()), *self.schema])
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        self.folder.mkdir(parents=True, exist_ok=True)
        hidden = self.folder / f".{number:04}.parquet"
        pq.write_table(pa.table(arrays, schema=schema), hidden)
        aged(hidden, number)
        hidden.rename(self.folder / f"{number:04}.parquet")

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the stream of the changes, one file a batch."""
        self.folder.mkdir(parents=True, exist_ok=True)
        reader = spark.readStream.schema(f"_op string, {self.ddl}").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))

    def states(self, spark: SparkSession) -> DataFrame:
        """Return the rows after each batch, as a batch table with the number of the batch in `_batch`."""
        rows = [(number, *row) for number, state in enumerate(self.after) for row in state]
        columns = list(zip(*rows, strict=True)) or [()] * (len(self.schema) + 1)
        schema = pa.schema([pa.field("_batch", pa.int32()), *self.schema])
        arrays = [pa.array(column, each.type) for column, each in zip(columns, schema, strict=True)]
        path = self.folder.parent / f"{self.folder.name}-states.parquet"
        pq.write_table(pa.table(arrays, schema=schema), path)
        return spark.read.schema(f"_batch int, {self.ddl}").parquet(str(path))


def random_changes(
    draw: random.Random, changes: Changes, batches: int, make: Callable[[random.Random], Row], size: int = 60
) -> None:
    """Write batches of inserts, deletes and updates, in any order; the third from the end empties the table."""
    for number in range(batches):
        made: list[Change] = []
        rows = changes.rows
        draw.shuffle(rows)
        gone = len(rows) if number == batches - 3 else draw.randint(0, min(len(rows), size // 2))
        for row in rows[:gone]:
            if draw.random() < 0.4 and number != batches - 3:
                made += [("-U", row), ("+U", make(draw))]
            else:
                made.append(("-D", row))
        if number != batches - 3:
            made += [("+I", make(draw)) for _ in range(draw.randint(1, size))]
            passing = make(draw)
            made += [("+I", passing), ("-D", passing)]
        changes.write(_shuffled(draw, made))


def _shuffled(draw: random.Random, made: list[Change]) -> list[Change]:
    """Shuffle, and apply in an order in which nothing goes before it came."""
    came = [change for change in made if change[0] in COMES]
    went = [change for change in made if change[0] not in COMES]
    draw.shuffle(came)
    draw.shuffle(went)
    return came + went


@dataclass
class Told:
    """What a changelog has told: the changes of each batch."""

    batches: dict[int, list[Row]] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)  # rows of state after each batch

    def take(self, frame: DataFrame, number: int) -> None:
        """Remember a batch."""
        self.batches[number] = [comparable(row) for row in frame.collect()]

    def run(self, frame: DataFrame, checkpoint: Path) -> None:
        """Run a query over all files that are there."""
        query = frame.writeStream.foreachBatch(self.take).option("checkpointLocation", str(checkpoint)).start()
        finish(query)
        for each in query.recentProgress:
            self.kept[each["batchId"]] = sum(operator["numRowsTotal"] for operator in each["stateOperators"])

    def after(self, batches: int) -> list[Counter[Row]]:
        """Return the rows after each batch; whatever goes has to have come before."""
        rows: Counter[Row] = Counter()
        found = []
        for number in range(batches):
            for op, *row in self.batches.get(number, []):
                rows[tuple(row)] += 1 if op in COMES else -1
            assert min(rows.values(), default=0) >= 0, f"batch {number} took away what was not there"
            rows = +rows
            found.append(Counter(rows))
        return found


def finish(query: StreamingQuery) -> None:
    """Wait until a query has taken all that is there, and stop it."""
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def comparable(row: Iterable[Any]) -> Row:
    """Return a row whose equality is Spark's: NaN equals itself, and there is one zero."""
    return tuple(_comparable(value) for value in row)


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bytearray):
        return bytes(value)
    return comparable(value) if isinstance(value, list | tuple) else value


def by_batch(frame: DataFrame, batches: int) -> list[Counter[Row]]:
    """Return the rows of a batch table of states, by the `_batch` that is their first column."""
    found: list[Counter[Row]] = [Counter() for _ in range(batches)]
    for number, *row in frame.collect():
        found[number][comparable(row)] += 1
    return found
