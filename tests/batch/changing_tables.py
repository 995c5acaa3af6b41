"""A fact table and a dimension that are written to while DataFrames over them live.

fact    80 rows (k, v, p) with p = k div 10, in 8 files, one for each p
dim     4 rows (id, flag, grp) with grp = id div 10, in 2 files; 5 and 6 have the flag, 7 has it in the second file

Three layouts: a table of the catalog, a partitioned one, and a folder read by its path. Both tables are written with
Arrow, so that a test can make many of them; whatever changes them later is a command of Spark where there is one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import Answer, outcome

COLUMNS = {"fact": ("k", "v", "p"), "dim": ("id", "flag", "grp")}
FACT = [(k, k * 10, k // 10) for k in range(80)]
DIM = [(5, 1, 0), (6, 1, 0), (45, 0, 4), (7, 1, 0)]

Rows = Sequence[tuple[int, int, int]]


class ChangingTables:
    """Both tables, made afresh under the names `live_fact` and `live_dim`."""

    def __init__(self, spark: SparkSession, home: Path, layout: str) -> None:
        self.spark, self.home, self.layout = spark, home, layout
        shutil.rmtree(home, ignore_errors=True)
        self.create("fact", [FACT[i : i + 10] for i in range(0, 80, 10)])
        self.create("dim", [DIM[:3], DIM[3:]])

    def create(self, table: str, files: Sequence[Rows]) -> None:
        """Make a table of some files, in the place of one of that name."""
        self._files = 0
        self.drop(table)
        for rows in files:
            self.add_file(table, rows)
        columns = ", ".join(f"{name} int" for name in COLUMNS[table])
        by = f"partitioned by ({COLUMNS[table][-1]})" if self.layout == "partitioned" else ""
        if self.layout == "path":
            frame = self.spark.read.schema(columns).parquet(str(self.home / table))
            frame.createOrReplaceTempView(f"live_{table}")
        else:
            self.spark.sql(f"create table live_{table} ({columns}) using parquet {by} location '{self.home / table}'")
            if by:
                self.spark.sql(f"alter table live_{table} recover partitions")

    def drop(self, table: str) -> None:
        """Remove a table and its files."""
        self.spark.catalog.dropTempView(f"live_{table}")
        self.spark.sql(f"drop table if exists live_{table}")
        shutil.rmtree(self.home / table, ignore_errors=True)

    def drop_all(self) -> None:
        for table in COLUMNS:
            self.drop(table)

    def add_file(self, table: str, rows: Rows) -> None:
        """Write files that nobody is told of: one, or one for each partition."""
        names = COLUMNS[table]
        for part in sorted({row[2] for row in rows}) if self.layout == "partitioned" else [None]:
            held = [row for row in rows if part is None or row[2] == part]
            folder = self.home / table if part is None else self.home / table / f"{names[2]}={part}"
            folder.mkdir(parents=True, exist_ok=True)
            written = names if part is None else names[:2]
            columns = {name: pa.array([row[i] for row in held], pa.int32()) for i, name in enumerate(written)}
            pq.write_table(pa.table(columns), folder / f"{self._files:03d}.parquet", row_group_size=5)
            self._files += 1

    def files(self, table: str) -> list[Path]:
        """Return the data files of a table, in order."""
        return sorted((self.home / table).rglob("*.parquet"))

    def refresh(self, table: str) -> None:
        self.spark.sql(f"refresh table live_{table}")

    def insert(self, table: str, rows: Rows) -> None:
        """Add rows, as a user does who has a table of this kind."""
        if self.layout == "path":
            self.add_file(table, rows)
            self.refresh(table)
        else:
            self.spark.sql(f"insert into live_{table} values {_listed(rows)}")

    def overwrite(self, table: str, rows: Rows) -> None:
        """Put rows in the place of all that are there."""
        if self.layout == "path":
            for path in self.files(table):
                path.unlink()
            self.insert(table, rows)
        else:
            self.spark.sql(f"insert overwrite live_{table} values {_listed(rows)}")

    def remove(self, table: str, holding: int) -> None:
        """Delete the files in which a value stands in the first column."""
        first = COLUMNS[table][0]
        for path in self.files(table):
            if holding in pq.ParquetFile(path).read([first])[first].to_pylist():
                path.unlink()
        self.refresh(table)


def _listed(rows: Rows) -> str:
    return ", ".join(str(row) for row in rows)


# --- queries and what is done with them -------------------------------------------------------------------------------

FLAGGED = "(select * from live_dim where flag = 1)"
QUERIES = {
    "inner": f"select f.k, f.v, d.id from live_fact f join {FLAGGED} d on {{on}}",
    "left": f"select d.id, f.v from {FLAGGED} d left join live_fact f on {{on}}",
    "anti": f"select d.id from {FLAGGED} d left anti join live_fact f on {{on}}",
    "union": f"select u.k, d.id from {FLAGGED} d left join (select k, p from live_fact union all select id + 1, grp from "
    "live_dim) u(k, p) on {nullsafe}",
    "self": "select a.id, b.flag from (select * from live_dim where flag = 1) a left join live_dim b on {same}",
}


def queries(layout: str) -> dict[str, str]:
    """Return the queries by name, joined by the partition column where there is one."""
    left, right = ("p", "grp") if layout == "partitioned" else ("k", "id")
    clauses = {
        "on": f"f.{left} = d.{right}",
        "nullsafe": f"u.{left} <=> d.{right}",
        "same": f"a.{right} = b.{right}",
    }
    return {name: query.format(**clauses) for name, query in QUERIES.items()}


def explained(frame: DataFrame) -> None:
    with redirect_stdout(StringIO()):
        frame.explain()


def planned(frame: DataFrame) -> None:
    frame._jdf.queryExecution().executedPlan()


PLANNERS: tuple[Callable[[DataFrame], object], ...] = (explained, lambda frame: frame.inputFiles(), planned)


def both_grow(tables: ChangingTables) -> None:
    for table in COLUMNS:
        tables.insert(table, [(600, 1, 60)])


CHANGES: dict[str, Callable[[ChangingTables], None]] = {
    "dim grows": lambda t: t.insert("dim", [(55, 1, 5)]),
    "dim is overwritten": lambda t: t.overwrite("dim", [(25, 1, 2), (77, 1, 7), (300, 1, 30)]),
    "dim shrinks": lambda t: t.remove("dim", 7),
    "fact grows": lambda t: t.insert("fact", [(5, 1, 0), (7, 2, 0)]),
    "fact is overwritten": lambda t: t.overwrite("fact", [(5, 5, 0), (25, 6, 2), (75, 7, 7)]),
    "fact shrinks": lambda t: t.remove("fact", 5),
    "both grow": both_grow,
}


def actions(frames: dict[str, DataFrame]) -> dict[str, Answer]:
    """Run each frame twice, and one of them once more as part of another query."""
    told: dict[str, Answer] = {f"{name}: rows": outcome(lambda f=frame: f) for name, frame in frames.items()}
    told["left: count"] = outcome(lambda: frames["left"].groupBy().count())
    return told | {f"{name}: rows again": outcome(lambda f=frame: f) for name, frame in frames.items()}
