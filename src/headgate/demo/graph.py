"""Three hops from ten accounts in a table of transfers: each hop reads what the one before has found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import headgate.api as api
from headgate.demo.shown import Shown, Tell, best_of_two
from headgate.graph import Graph

STARTS = tuple(range(1_000, 1_010))
HOPS, FILES, NEAR = 3, 8, 50


def show(spark: SparkSession, home: Path, rows: int, tell: Tell) -> Shown:
    """Walk with joins, and walk with frontiers."""
    tell("writing transfers")
    _write(home / "transfers", rows)
    edges = spark.read.parquet(str(home / "transfers"))
    tell("three hops in a graph, as joins")
    api.disable(spark)
    edges.createOrReplaceTempView("demo_edges")
    off, expected = best_of_two(lambda: _joined(spark))
    tell("three hops in a graph, with frontiers")
    api.enable(spark)
    graph = Graph(edges)
    on, reached = best_of_two(lambda: {row.vertex for row in graph.expand(STARTS, HOPS).collect()})
    groups = sum(step.row_groups_read for step in graph.last.steps)
    total = sum(step.row_groups_total for step in graph.last.steps)
    return Shown(off, on, f"{total} row groups", f"{groups} row groups", reached == expected)


def _joined(spark: SparkSession) -> set[int]:
    """Reach the same vertices with a join for each hop, as people write it in Spark."""
    reached = spark.createDataFrame([(start,) for start in STARTS], "vertex bigint")
    frontier = reached
    edges = spark.table("demo_edges")
    for _ in range(HOPS):
        frontier = frontier.join(edges, sf.expr("vertex = src")).selectExpr("dst AS vertex").distinct()
        reached = reached.union(frontier)
    return {row.vertex for row in reached.distinct().collect()}


def _write(folder: Path, rows: int) -> None:
    """Write transfers in the order of their senders; most stay near, as they do between neighbours."""
    folder.mkdir(parents=True)
    draw, accounts = np.random.default_rng(5), max(rows // 10, 2_000)
    src = np.sort(draw.integers(0, accounts, rows))
    dst = np.clip(src + draw.integers(-NEAR, NEAR + 1, rows), 0, accounts - 1)
    table = pa.table({"src": src, "dst": dst})
    each = -(-rows // FILES)
    for number in range(FILES):
        pq.write_table(table.slice(number * each, each), folder / f"{number}.parquet", row_group_size=20_000)
