"""Random graphs, written as tables of edges that leave something to prune, and the same graphs in networkx."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.graph import Graph
from tests.batch.tables import write_table

# how small numbers become ids: 32 bits, negative ones, and ids all over 64 bits
IDS: dict[str, Callable[[int], int]] = {
    "small": lambda i: i,
    "negative": lambda i: i - 20,
    "wide": lambda i: (i * 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63,
}
KINDS = ("scale-free", "blocks", "grid", "multigraph")


@dataclass(frozen=True)
class Sample:
    """A graph twice: as tables, and in networkx with the weight of each edge."""

    graph: Graph
    edges: DataFrame
    known: Any


def drawn(kind: str, seed: int, ids: str) -> list[tuple[int, int, int]]:
    """Return the edges of a random graph: source, target, weight."""
    rng = random.Random(seed)
    match kind:
        case "scale-free":
            pairs = [
                (a, b) if rng.random() < 0.5 else (b, a) for a, b in nx.barabasi_albert_graph(60, 2, seed=seed).edges
            ]
        case "blocks":
            sizes, share = [20, 20, 10], [[0.2, 0.02, 0.0], [0.02, 0.2, 0.02], [0.0, 0.02, 0.3]]
            pairs = list(nx.stochastic_block_model(sizes, share, seed=seed, directed=True).edges)
        case "grid":
            pairs = [(a * 7 + b, c * 7 + d) for (a, b), (c, d) in nx.grid_2d_graph(7, 7).edges]
        case _:
            pairs = [(rng.randrange(30), rng.randrange(30)) for _ in range(90)]
            pairs += [*rng.choices(pairs, k=10), (5, 5), (7, 7)]
    make = IDS[ids]
    return [(make(a), make(b), rng.randrange(9)) for a, b in pairs]


def sample(spark: SparkSession, folder: Path, edges: list[tuple[int, int, int]], *, twin: bool = True) -> Sample:
    """Write edges sorted by source, with a few that lead nowhere, and a twin sorted by target."""
    known = nx.MultiDiGraph()
    for a, b, weight in edges:
        known.add_edge(a, b, weight=weight)
    rows: list[tuple[int | None, int | None, int]] = [*edges, (None, edges[0][1], 1), (edges[0][0], None, 1)]
    frames = []
    for name, at in (("by_src", 0), ("by_dst", 1)):
        ordered = sorted(rows, key=lambda row: (row[at] is not None, row[at] or 0))
        columns = {
            field: pa.array([row[i] for row in ordered], pa.int64()) for i, field in enumerate(("src", "dst", "w"))
        }
        write_table(folder / name, pa.table(columns), files=4, groups=2)
        frames.append(spark.read.parquet(str(folder / name)))
    return Sample(Graph(frames[0], reverse=frames[1] if twin else None), frames[0], known)
