"""What a suite is measured against besides Spark alone: a lowered Spark, the hand-written limit, DuckDB, DataFusion.

An anchor that is not installed is left out; a query that an anchor cannot run is named with its reason. Anchors run
over the same files as Spark, after Spark's own runs of the query; those that are Spark themselves leave out what takes
Spark more than ten seconds. DuckDB and DataFusion get 6 GB each beside Spark, and may spill.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headgate.suites.data import connect

# Spark's own dynamic pruning and bloom filters, let loose on everything
LOWERED = {
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "1b",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1g",
}
_CHRISTMAS = "d_moy = 11 AND d_year = {}"
_SPRING = "d_date BETWEEN DATE '1999-02-22' AND DATE '1999-03-24'"
# the selective subset: query -> the fact table, its date key, and which dates the query wants
LIMITS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "tpcds": {
        "q03": ("store_sales", "ss_sold_date_sk", "d_moy = 11"),
        "q07": ("store_sales", "ss_sold_date_sk", "d_year = 2000"),
        "q12": ("web_sales", "ws_sold_date_sk", _SPRING),
        "q19": ("store_sales", "ss_sold_date_sk", _CHRISTMAS.format(1998)),
        "q20": ("catalog_sales", "cs_sold_date_sk", _SPRING),
        "q26": ("catalog_sales", "cs_sold_date_sk", "d_year = 2000"),
        "q42": ("store_sales", "ss_sold_date_sk", _CHRISTMAS.format(2000)),
        "q52": ("store_sales", "ss_sold_date_sk", _CHRISTMAS.format(2000)),
        "q55": ("store_sales", "ss_sold_date_sk", _CHRISTMAS.format(1999)),
        "q98": ("store_sales", "ss_sold_date_sk", _SPRING),
    }
}
_SHORT = 2.0
_MEMORY_BYTES = 6 << 30
Runner = Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name and a way to run one query of a suite, given its name and its text."""

    name: str
    run: Runner
    is_spark: bool = False
    prepare: Callable[[str], Any] = str  # what a query needs beforehand; its time does not count

    def timed(self, name: str, text: str) -> tuple[float, str]:
        """Return the seconds of a query, or the reason why there are none; a short one is run twice to be warm."""
        seconds = 0.0
        try:
            self.prepare(name)
            for _ in range(2):
                started = time.perf_counter()
                if self.run(name, text) is None:
                    return 0.0, ""
                seconds = time.perf_counter() - started
                if seconds > _SHORT:
                    break
            return seconds, ""
        except Exception as error:  # noqa: BLE001 - whatever another engine says is the reason
            return 0.0, " ".join(str(error).split())[:160]


def anchors(spark: Any, folder: Path, suite: str, originals: Mapping[str, str]) -> list[Anchor]:
    """Return the anchors that can be run here; ``originals`` are the queries in DuckDB's dialect."""
    found = [Anchor("lowered", lambda _, text: _lowered(spark, text), is_spark=True)]
    if LIMITS.get(suite):
        prepare, run = _limit(spark, folder, LIMITS[suite])
        found.append(Anchor("limit", run, is_spark=True, prepare=prepare))
    if find_spec("duckdb"):
        found.append(Anchor("duckdb", _duckdb(folder, originals)))
    if find_spec("datafusion"):
        found.append(Anchor("datafusion", _datafusion(folder, originals)))
    return found


def _lowered(spark: Any, text: str) -> list[Any]:
    with _settings(spark, LOWERED):
        rows: list[Any] = spark.sql(text).collect()
    return rows


@contextmanager
def _settings(spark: Any, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value) if value is not None else spark.conf.unset(key)


def _limit(
    spark: Any, folder: Path, limits: Mapping[str, tuple[str, str, str]]
) -> tuple[Callable[[str], None], Runner]:
    """The query over only the files that hold matching dates, with the dates written as literals."""
    sessions: dict[str, Any] = {}

    def prepare(name: str) -> None:
        if name in limits and name not in sessions:
            sessions[name] = _limited_session(spark, folder, *limits[name])

    def run(name: str, text: str) -> Any:
        return sessions[name].sql(text).collect() if name in sessions else None

    return prepare, run


def _limited_session(spark: Any, folder: Path, fact: str, key: str, dates: str) -> Any:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    for table in _tables(folder):
        session.read.parquet(str(table)).createOrReplaceTempView(table.name)
    connection = connect()
    wanted = f"SELECT d_date_sk FROM '{folder}/date_dim/*.parquet' WHERE {dates}"
    keys = sorted(key for (key,) in connection.execute(wanted).fetchall())
    source = f"read_parquet('{folder}/{fact}/**/*.parquet', filename = true)"
    listed = ", ".join(map(str, keys))
    found = connection.execute(f"SELECT DISTINCT filename FROM {source} WHERE {key} IN ({listed})").fetchall()
    connection.close()
    reader = session.read.option("basePath", str(folder / fact))
    test = f"{key} BETWEEN {keys[0]} AND {keys[-1]}" if keys[-1] - keys[0] == len(keys) - 1 else f"{key} IN ({listed})"
    reader.parquet(*sorted(path for (path,) in found)).where(test).createOrReplaceTempView(fact)
    return session


def _duckdb(folder: Path, originals: Mapping[str, str]) -> Runner:
    connection = connect()
    connection.execute(f"SET memory_limit = '{_MEMORY_BYTES}B'")
    for table in _tables(folder):
        source = f"read_parquet('{table}/**/*.parquet', hive_partitioning = true)"
        connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM {source}")
    return lambda name, text: connection.execute(originals.get(name, text)).fetchall()


def _datafusion(folder: Path, originals: Mapping[str, str]) -> Runner:
    import pyarrow as pa
    from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

    runtime = RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(_MEMORY_BYTES)
    context = SessionContext(SessionConfig(), runtime)
    for table in _tables(folder):
        keys = {path.name.split("=")[0] for path in table.iterdir() if "=" in path.name}
        parts = [(key, pa.date32() if key.endswith("date") else pa.int64()) for key in sorted(keys)]
        context.register_parquet(table.name, str(table), table_partition_cols=parts)
    return lambda name, text: context.sql(originals.get(name, text)).collect()


def _tables(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())
