"""Streams of JSON files, a sink that adds up the changelog, and what a checkpoint says: for tests of moving values."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

Row = Mapping[str, Any]


class Input:
    """A stream of files that a test writes one by one."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        self.spark, self.folder, self.schema, self.written = spark, folder, schema, 0
        folder.mkdir(parents=True)

    def write(self, rows: Iterable[Row]) -> None:
        """Write a file; a stream takes files in the order of their times."""
        path = self.folder / f"{self.written:04}.json"
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(hidden, (1_000_000 + self.written, 1_000_000 + self.written))
        hidden.rename(path)
        self.written += 1

    def read(self) -> DataFrame:
        return self.spark.readStream.schema(self.schema).json(str(self.folder))


class Told:
    """What a query has told: the changes of each batch as lists, and all of them added up."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.batches: dict[int, list[tuple]] = {}
        self.reruns: list[tuple[int, list[tuple], list[tuple]]] = []  # batch, what it told first, what it told again

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    @contextmanager
    def run(self, frame: DataFrame, **trigger: Any) -> Iterator[StreamingQuery]:
        """Run a query until the block ends."""
        writer = frame.writeStream.foreachBatch(self._keep)
        if trigger:
            writer = writer.trigger(**trigger)
        query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        try:
            yield query
        finally:
            query.stop()

    def finish(self, frame: DataFrame, **trigger: Any) -> StreamingQuery:
        """Run a query that ends by itself; return it."""
        with self.run(frame, **trigger) as query:
            query.awaitTermination()
        return query

    def _keep(self, frame: DataFrame, number: int) -> None:
        changes = sorted((tuple(row) for row in frame.collect()), key=repr)
        if number in self.batches:
            self.reruns.append((number, self.batches[number], changes))
        self.batches[number] = changes

    @property
    def last(self) -> list[tuple]:
        """The changes of the last batch."""
        return self.batches[max(self.batches)]

    def rows(self) -> Counter[tuple]:
        """The rows that are left of all changes, after each batch none less than once."""
        left: Counter[tuple] = Counter()
        for number in sorted(self.batches):
            for op, *row in self.batches[number]:
                left[tuple(row)] += 1 if op.startswith("+") else -1
            assert min(left.values(), default=0) >= 0, f"batch {number} took back what was not there: {left}"
        return +left

    def values(self, source: int) -> list[str]:
        """The values of one source in the offsets of each batch, from Spark's own log."""
        logs = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        return [json.loads(path.read_text().splitlines()[2 + source])["value"] for path in logs]

    def forget_last_commit(self) -> int:
        """Take the last batch back as a kill would: it was planned and run, and Spark does not know that it ended."""
        last = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
        return int(last.name)


def replaced(folder: Path, rows: Iterable[Row]) -> None:
    """Put other rows into a folder at once: whoever reads it meanwhile sees these or those, of the same length."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(row).ljust(40) for row in rows] or [" " * 40]
    hidden = folder / ".rows"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    hidden.replace(folder / "rows.json")
