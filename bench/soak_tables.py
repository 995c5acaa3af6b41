"""The tables and queries of the soak: some tables stay as they are, others are written to while they are read.

still   a fact table (k, v, w) sorted by k with one key in fifty NULL, and a dimension (id, flag, grp); each is there as
        a table of the catalog and as a folder read by its path
live    the same in small, for one thread of queries; whatever is written to it is one file, so that a table has no
        state between the one before a write and the one after it, except where it is overwritten
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

COLUMNS = {"fact": ("k", "v", "w"), "dim": ("id", "flag", "grp")}
LAYOUTS = ("catalog", "path")
GROUPS = 4  # values of `grp`, one of which a query asks for
STILL_FILES, STILL_ROWS = 16, 4_000
LIVE_FILES, LIVE_ROWS = 5, 50
MOST_FILES = 8  # a live table with more of them is overwritten

_SOME = "(select * from {dim} where flag = 1 and grp = {group})"
QUERIES = {
    "inner": f"select f.k, f.v, d.id from {{fact}} f join {_SOME} d on f.k = d.id",
    "left": f"select d.id, f.v from {_SOME} d left join {{fact}} f on f.k = d.id",
    "semi": f"select f.k, f.w from {{fact}} f left semi join {_SOME} d on f.k = d.id",
    "anti": f"select d.id, d.grp from {_SOME} d left anti join {{fact}} f on f.k = d.id and f.w > 1",
    "null-safe": f"select f.k, f.v, d.id from {{fact}} f join {_SOME} d on f.k <=> d.id",
    "union": f"""select u.k, d.id from {_SOME} d left join
  (select k from {{fact}} union all select id + 1 from {{dim}}) u on u.k <=> d.id""",
    "self": f"""select a.k, b.w, count(*) from {{fact}} a join {{fact}} b on a.k = b.k
  join {_SOME} d on a.k = d.id group by a.k, b.w""",
    "subquery": f"select k, v from {{fact}} where k in (select id from {_SOME}) and v >= 0",
    "distinct": f"""select f.w, count(*), sum(f.v) from {{fact}} f
  join (select distinct id from {_SOME}) d on f.k = d.id group by f.w""",
    "two filters": f"""select f.k, d.id, e.flag from {{fact}} f join {_SOME} d on f.k = d.id
  join (select id w, min(flag) flag from {{dim}} group by id) e on f.w = e.w""",
}
# While somebody writes, a query that reads one table twice may see two states of it, also in Spark alone.
ONCE_EACH = ("inner", "left", "semi", "anti", "null-safe", "subquery", "distinct")

Rows = Sequence[tuple[int | None, int, int]]


def write_file(folder: Path, table: str, rows: Rows, row_group_size: int) -> Path:
    """Add a file of some rows, which is there all at once."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.stem) for path in folder.glob("[0-9]*.parquet")), default=0)
    columns = {name: pa.array([row[i] for row in rows], pa.int32()) for i, name in enumerate(COLUMNS[table])}
    hidden, path = folder / f".{number:06}", folder / f"{number:06}.parquet"
    pq.write_table(pa.table(columns), hidden, row_group_size=row_group_size)
    return hidden.rename(path)


def register(sessions: Iterable[SparkSession], name: str, table: str, folder: Path, layout: str) -> None:
    """Make a folder of files known under a name: to all sessions, or to each of these."""
    columns = ", ".join(f"{column} int" for column in COLUMNS[table])
    for session in sessions:
        if layout == "path":
            session.read.schema(columns).parquet(str(folder)).createOrReplaceTempView(name)
        else:
            session.sql(f"create table if not exists {name} ({columns}) using parquet location '{folder}'")


class StillTables:
    """The tables that nobody writes to."""

    def __init__(self, home: Path) -> None:
        self._home = home
        for number in range(STILL_FILES):
            keys = range(number * STILL_ROWS, (number + 1) * STILL_ROWS)
            rows: Rows = [(None if k % 50 == 49 else k, k * 3 % 1001, k % 40) for k in keys]
            write_file(home / "still_fact", "fact", rows, STILL_ROWS // 4)
        draw = np.random.default_rng(1)
        ids = draw.choice(STILL_FILES * STILL_ROWS, 200, replace=False).tolist()
        # each group has keys of its own part of the fact table, so that most files hold none of them
        dim = [(i, int(i % 3 > 0), i * GROUPS // (STILL_FILES * STILL_ROWS)) for i in ids]
        write_file(home / "still_dim", "dim", [*dim, *((i, 0, 0) for i in range(40)), (None, 1, 1), (-5, 1, 2)], 50)

    def register(self, sessions: Sequence[SparkSession]) -> None:
        """Make them known to sessions."""
        for layout in LAYOUTS:
            for table in COLUMNS:
                register(sessions, f"{layout}_{table}", table, self._home / f"still_{table}", layout)

    @staticmethod
    def query(shape: str, layout: str, group: int) -> str:
        """Return one query over them."""
        return QUERIES[shape].format(fact=f"{layout}_fact", dim=f"{layout}_dim", group=group)


class LiveTables:
    """The tables that are written to while one thread reads them: `writer` is another session than those that read."""

    def __init__(
        self, home: Path, writer: SparkSession, readers: Sequence[SparkSession], name: str, layout: str
    ) -> None:
        self._writer, self._readers, self.layout = writer, readers, layout
        self._names = {table: f"{name}_{layout}_{table}" for table in COLUMNS}
        self._folders = {table: home / self._names[table] for table in COLUMNS}
        for number in range(LIVE_FILES):
            write_file(self._folders["fact"], "fact", _fact_rows(number * LIVE_ROWS), LIVE_ROWS // 5)
        for _ in range(2):
            write_file(self._folders["dim"], "dim", _dim_rows(Random(_), 12), 6)
        for table in COLUMNS:
            register(readers, self._names[table], table, self._folders[table], layout)

    def query(self, shape: str, group: int) -> str:
        """Return one query over them."""
        return QUERIES[shape].format(fact=self._names["fact"], dim=self._names["dim"], group=group)

    def write(self, kind: str, table: str, random: Random) -> None:
        """Append a file, overwrite all of them, rewrite one with other rows, or delete one."""
        folder = self._folders[table]
        files = sorted(folder.glob("*.parquet"))
        crowded = len(files) > MOST_FILES
        try:
            if kind == "overwrite" or (crowded and kind != "append"):
                self._overwrite(table, files, random)
            elif kind == "append" and self.layout == "catalog":
                self._insert("into", table, _rows(table, random))
            else:
                if kind in ("rewrite", "delete") and files:
                    random.choice(files).unlink()
                if kind != "delete":
                    write_file(folder, table, _rows(table, random), 7)
        finally:
            for session in self._readers:
                session.sql(f"refresh table {self._names[table]}")

    def is_crowded(self, table: str) -> bool:
        """Whether it is time to overwrite a table."""
        return len(list(self._folders[table].glob("*.parquet"))) > MOST_FILES

    def _overwrite(self, table: str, files: Iterable[Path], random: Random) -> None:
        rows = [row for _ in range(3) for row in _rows(table, random)]
        if self.layout == "catalog":
            self._insert("overwrite", table, rows)
            return
        for path in files:
            path.unlink()
        write_file(self._folders[table], table, rows, 7)

    def _insert(self, how: str, table: str, rows: Rows) -> None:
        values = ", ".join(str(row).replace("None", "null") for row in rows)
        # the hint makes one file of it, so that a query sees all of it or nothing
        self._writer.sql(f"insert {how} {self._names[table]} select /*+ coalesce(1) */ * from values {values}")

    def clear(self) -> None:
        """Remove the files."""
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _rows(table: str, random: Random) -> Rows:
    if table == "dim":
        return _dim_rows(random, 5)
    return _fact_rows(random.randrange(LIVE_FILES) * LIVE_ROWS, random.choice((5, 20)))


def _fact_rows(first: int, count: int = LIVE_ROWS) -> Rows:
    return [(None if k % 25 == 24 else k, k * 3 % 101, k % 10) for k in range(first, first + count)]


def _dim_rows(random: Random, count: int) -> Rows:
    keys = [random.randrange(LIVE_FILES * LIVE_ROWS + 30) for _ in range(count)]
    return [(None if k % 20 == 0 else k, int(k % 3 > 0), k % GROUPS) for k in keys]
