"""Run operators over changelogs epoch by epoch, and add up what they tell.

All rows of an epoch, of both sides, stand in one file; a micro-batch takes one file. Several operators run in one
query, since a micro-batch costs more than an operator: each row says which operator told it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

Told = tuple[Any, ...]  # op, k, v, note
Operator = Callable[[DataFrame, DataFrame], DataFrame]

TYPES = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(38,10)": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}


@dataclass(frozen=True)
class Epoch:
    """What arrives in one epoch: left rows (op, id, v, note), and right rows (op or order, value)."""

    left: Sequence[tuple[str, int, Any, str | None]] = ()
    right: Sequence[tuple[str | int, Any]] = ()


def left(*changes: tuple[str, int] | tuple[str, int, Any]) -> Epoch:
    """Return an epoch of left rows: op, id, and the value, which is the id where it is not given."""
    return Epoch(left=[(change[0], change[1], change[-1], None) for change in changes])


def right(*values: Any) -> Epoch:
    """Return an epoch of right values, the last of which counts."""
    return Epoch(right=list(enumerate(values)))


@dataclass
class Driver:
    """One query with one or more operators over the two sides; it may be run, fed and run again."""

    spark: SparkSession
    home: Path
    operators: Mapping[str, Operator]
    type: str = "bigint"
    right_type: str = ""
    changelog: bool = False  # the right side is one
    fed: int = 0
    told: dict[str, list[list[Told]]] = field(default_factory=dict)
    query_id: str = ""
    runs: int = 0

    def feed(self, epochs: Sequence[Epoch]) -> None:
        """Write a file for each epoch."""
        (self.home / "input").mkdir(parents=True, exist_ok=True)
        for epoch in epochs:
            rows = [{"side": "left", "_op": op, "id": k, "v": v, "note": note} for op, k, v, note in epoch.left]
            for at, value in epoch.right:
                where = {"_op": at} if self.changelog else {"at": self.fed * 1000 + int(at)}
                rows.append({"side": "right", "m": value, **where})
            path = self.home / "input" / f"{self.fed:04}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema=self._arrow()), path)
            os.utime(path, (1_000_000 + self.fed, 1_000_000 + self.fed))
            self.fed += 1

    def run(self) -> None:
        """Take all that was fed, from where the last run ended; keep what each epoch tells."""
        collected: dict[int, list[tuple[str, Told]]] = {}

        def keep(rows: DataFrame, number: int) -> None:
            collected[number] = [(row[0], tuple(row[1:])) for row in rows.collect()]

        writer = self._frame().writeStream.foreachBatch(keep).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.home / "checkpoint")).start()
        self.query_id = str(query.id)
        query.awaitTermination()
        for _, rows in sorted(collected.items()):
            for name in self.operators:
                self.told.setdefault(name, []).append([told for which, told in rows if which == name])

    def after_each_epoch(self, name: str) -> list[Counter[Told]]:
        """Return which rows are there after each epoch, and how often."""
        there: Counter[Told] = Counter()
        states = []
        for changes in self.told[name]:
            for op, *row in changes:
                there[tuple(row)] += 1 if op in ("+I", "+U") else -1
            states.append(Counter({row: count for row, count in there.items() if count}))
        return states

    def _frame(self) -> DataFrame:
        schema = f"side string, _op string, id bigint, v {self.type}, note string, at bigint, m {self._right_type}"
        source = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.home / "input"))
        sides = (
            source.where("side = 'left'").select("_op", "id", "v", "note"),
            source.where("side = 'right'").select("_op" if self.changelog else "at", "m"),
        )
        made = [operator(*sides).select(sf.lit(name), "*") for name, operator in self.operators.items()]
        return reduce(DataFrame.union, made)

    def _arrow(self) -> pa.Schema:
        names = {"side": "string", "_op": "string", "id": "bigint", "v": self.type, "note": "string", "at": "bigint"}
        return pa.schema([(name, TYPES[kind]) for name, kind in {**names, "m": self._right_type}.items()])

    @property
    def _right_type(self) -> str:
        return self.right_type or self.type
