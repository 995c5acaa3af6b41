"""Time graph operations against plain joins, a recursive query of DuckDB and other forms of the filter, interleaved.

headgate    headgate.graph over a table that headgate.graph.cluster wrote
spark       the same question as self joins over the same table, Headgate off
duckdb      the same question in SQL over the same files, recursive where it has to be

Every variant of a round gets the same vertices, and all answers are compared. Figures are medians, and ratios of them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from pyroaring import BitMap
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.console import Console
from rich.table import Table

import headgate
from headgate.catalyst.ids import collect_ids, in_ids
from headgate.domain import Domain, Limits
from headgate.domain.limits import cheaper
from headgate.graph import Frontier, Graph, cluster
from headgate.graph.walk import Side, Walk

HOME = Path(".bench")
WARM_UP = 1
Run = Callable[[], Any]


@dataclass
class Timing:
    """What one question took, by variant; the bar says how many times as fast as another variant Headgate has to be."""

    question: str
    bar: float | None = None
    against: str = "spark"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def median(self, variant: str) -> float:
        """Return the median of the rounds that count."""
        return statistics.median(self.seconds[variant][WARM_UP:])

    @property
    def ratio(self) -> float:
        """How many times as fast Headgate is."""
        return self.median(self.against) / self.median("headgate")


def session() -> SparkSession:
    """Return a quiet session with two cores."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def made_graph(spark: SparkSession, edges: int) -> tuple[Graph, Path]:
    """Return a graph with a few large vertices and many small ones, written the first time."""
    home, vertices = HOME / f"graph-{edges}", max(edges // 20, 10)
    if not (home / "by_dst" / "_SUCCESS").exists():
        skewed = f"cast(pow(pmod(xxhash64(id, 7), 1000003) / 1000003.0, 2) * {vertices} as bigint)"
        drawn = spark.range(edges).selectExpr(
            f"pmod(xxhash64(id), {vertices}) as src", f"{skewed} as dst", "cast(pmod(hash(id), 1000) as int) as amount"
        )
        began = time.perf_counter()
        cluster(drawn, str(home), files=16, progress=print)
        print(f"written in {time.perf_counter() - began:.0f} s")
    tables = [spark.read.parquet(str(home / name)) for name in ("by_src", "by_dst")]
    return Graph(tables[0], reverse=tables[1]), home


def interleaved(timing: Timing, variants: dict[str, Run]) -> None:
    """Run each variant once, in random order, and compare what they answer."""
    answers = {}
    for name in random.sample(list(variants), len(variants)):
        began = time.perf_counter()
        answers[name] = variants[name]()
        timing.seconds.setdefault(name, []).append(time.perf_counter() - began)
    if len(set(map(repr, answers.values()))) > 1:
        sys.exit(f"{timing.question}: the variants disagree: {answers}")


class Bench:
    """The questions, each asked of all variants in turn."""

    def __init__(self, spark: SparkSession, graph: Graph, home: Path, rounds: int) -> None:
        self._spark, self._graph, self._rounds = spark, graph, rounds
        self._plain = spark.read.parquet(str(home / "by_src"))
        self._files = f"read_parquet('{home}/by_src/*.parquet')"
        self._duck = duckdb.connect()
        self._vertices = int(self._plain.agg(sf.max("src")).first()[0])  # type: ignore[index]

    def _some(self, count: int) -> list[int]:
        return random.sample(range(self._vertices // 2, self._vertices), count)

    def three_hops(self) -> Timing:
        """Expand 10 vertices by 3 hops."""
        timing = Timing("3 hops from 10 vertices", 5.0)
        for _ in range(self._rounds + WARM_UP):
            seeds = self._some(10)
            interleaved(
                timing,
                {
                    "headgate": partial(self._expanded, seeds, 3),
                    "spark": partial(self._chain, seeds, 3),
                    "duckdb": partial(self._recursive, seeds, 3),
                },
            )
        self._graph.expand(self._some(10), 3)
        timing.notes = str(self._graph.last).splitlines()[1:]
        first = self._graph.last.steps[0]
        share = first.row_groups_read / max(first.row_groups_total, 1)
        timing.notes.append(f"hop 1 reads {share:.1%} of the row groups (bar: under 10%)")
        return timing

    def _expanded(self, seeds: list[int], hops: int) -> int:
        return self._graph.expand(seeds, hops).count()

    def _chain(self, seeds: list[int], hops: int, end: int | None = None) -> int:
        edges = self._plain.select(sf.col("src").alias("from"), sf.col("dst").alias("to"))
        level = self._spark.createDataFrame([(seed,) for seed in seeds], "v bigint")
        found = level
        for _ in range(hops):
            level = level.join(edges, sf.col("v") == sf.col("from")).select(sf.col("to").alias("v")).distinct()
            found = found.union(level)
        return found.where("true" if end is None else f"v = {end}").distinct().count()

    def _recursive(self, seeds: list[int], hops: int) -> int:
        listed = ", ".join(f"({seed})" for seed in seeds)
        sql = f"""with recursive reached(v, hop) as (select v, 0 from (values {listed}) s(v) union
          select e.dst, hop + 1 from reached join {self._files} e on e.src = v where hop < {hops})
          select count(distinct v) from reached"""
        return int(self._duck.sql(sql).fetchone()[0])  # type: ignore[index]

    def triangles(self) -> Timing:
        """Find the triangles through one vertex."""
        timing = Timing("triangles through a vertex", 5.0)
        for _ in range(self._rounds + WARM_UP):
            at = random.randrange(self._vertices // 1000)  # one of those that many edges lead to
            interleaved(
                timing,
                {
                    "headgate": partial(self._rings, at),
                    "spark": partial(self._triangles, at),
                    "duckdb": partial(self._duck_triangles, at),
                },
            )
        timing.notes = str(self._graph.last).splitlines()[1:]
        return timing

    def _rings(self, at: int) -> int:
        return self._graph.triangles(at).count()

    def _triangles(self, at: int) -> int:
        ends = [self._plain.select(sf.col("src").alias(a), sf.col("dst").alias(b)) for a, b in ("ab", "bc", "ca")]
        found = ends[0].where(sf.col("a") == at).join(ends[1], "b").join(ends[2].where(sf.col("a") == at), ["c", "a"])
        return found.where("a <> b and b <> c and c <> a").select("b", "c").distinct().count()

    def _duck_triangles(self, at: int) -> int:
        sql = f"""select count(*) from (select distinct x.dst, y.dst from {self._files} x join {self._files} y
          on x.dst = y.src join {self._files} z on y.dst = z.src where x.src = {at} and z.dst = {at}
          and x.dst <> {at} and y.dst <> {at} and x.dst <> y.dst)"""
        return int(self._duck.sql(sql).fetchone()[0])  # type: ignore[index]

    def path(self) -> Timing:
        """Ask whether one vertex leads to another from both ends, from one end, and as self joins from one end."""
        timing = Timing("whether one vertex leads to another", 10.0, against="one-sided")
        for _ in range(self._rounds + WARM_UP):
            a, b = self._some(2)
            while (hops := self._one_sided(a, b)) < 1:  # a vertex without edges to it is reached by nobody
                a, b = self._some(2)
            interleaved(
                timing,
                {
                    "headgate": partial(self._connected, a, b),
                    "one-sided": partial(self._in_hops, a, b, hops),
                    "spark": partial(self._joined, a, b, hops),
                },
            )
        timing.notes = str(self._graph.last).splitlines()[1:]
        return timing

    def _in_hops(self, a: int, b: int, hops: int) -> bool:
        return self._one_sided(a, b) == hops

    def _joined(self, a: int, b: int, hops: int) -> bool:
        return self._chain([a], hops, b) == 1

    def _connected(self, a: int, b: int) -> bool:
        return self._graph.connected_to(a, b)

    def _one_sided(self, a: int, b: int) -> int:
        """Go on from one vertex, hop by hop, with the same steps, until the other one is reached."""
        walk, sides = Walk("one-sided"), [Side("out", self._graph.edges, "src", "dst")]
        seen = level = Frontier([a])
        hops = 0
        while b not in level and len(level):
            hops += 1
            level = walk.step(sides, level, f"hop {hops}") - seen
            seen |= level
        return hops if len(level) else -1

    def forms(self) -> Timing:
        """Read the edges of 100,000 vertices in a tenth of the table, the filter pushed in several forms."""
        low = self._vertices // 3
        ids = Frontier(np.unique(np.random.default_rng(7).integers(low, low + self._vertices // 10, 100_000)))
        timing = Timing(f"edges of {len(ids):,} vertices", None, against="IN list")
        bloom = Domain(cheaper(Domain.bitmap("bigint", ids.ids.ids()).values, Limits(max_bytes=1 << 20)))
        forms = {"headgate": ids.domain("bigint"), "bloom": bloom}
        for _ in range(self._rounds + WARM_UP):
            runs: dict[str, Run] = {name: partial(self._published, domain, ids) for name, domain in forms.items()}
            runs["IN list"] = partial(self._listed, ids)
            interleaved(timing, runs)
        timing.notes = [f"{name}: {domain.nbytes:,} bytes" for name, domain in forms.items()]
        timing.notes.append(f"IN list: {len(ids) * 8:,} bytes; bitmap as bytes: {len(ids.to_bytes()):,}")
        return timing

    def _published(self, domain: Domain, ids: Frontier) -> int:
        publisher = headgate.publish(self._plain, "src", rows=False)
        publisher.complete(domain)
        frame = publisher.frame
        return frame.where(in_ids(frame, "src", ids.ids)).count()

    def _listed(self, ids: Frontier) -> int:
        frame: DataFrame = self._plain
        return frame.where(sf.col("src").isin(list(ids))).count()


def small_costs(spark: SparkSession) -> Iterator[str]:
    """Say what a row test and a merge cost, against the bars of the design."""
    rows, ids = 20_000_000, Frontier(range(0, 30_000_000, 3))
    frame = spark.range(0, rows, 1, 1)
    took = {}
    for name in ("without", "with", "without", "with"):
        tested = frame.where(in_ids(frame, "id", ids.ids)) if name == "with" else frame.where("id % 3 = 0")
        began = time.perf_counter()
        tested.agg(sf.sum("id")).collect()
        took[name] = time.perf_counter() - began
    each = (took["with"] - took["without"]) / rows * 1e6
    yield f"row test in a bitmap of {len(ids):,} ids: {each:.4f} µs more than a remainder (bar: 0.1)"
    parts = [BitMap(range(i * 10_000, i * 10_000 + 1_000_000)) for i in range(100)]
    began = time.perf_counter()
    BitMap.union(*parts)
    yield f"merge of 100 bitmaps of 1M ids in C: {(time.perf_counter() - began) * 1000:.0f} ms (bar: 200)"
    began = time.perf_counter()
    found = collect_ids(spark.range(0, 100_000_000, 1, 100), max_ids=10**9, max_bytes=64 << 20, description="merge")
    took_all = time.perf_counter() - began
    size = len(found.sets[0].to_bytes())
    yield f"100M dense ids of 100 tasks: {took_all:.1f} s, {size:,} bytes on the driver (bar: 64 MB)"


def main() -> int:
    """Run the questions; return 1 if a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("three_hops", "triangles", "path", "forms"), help="ask one question")
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    console, spark = Console(width=140), session()
    graph, home = made_graph(spark, chosen.edges)
    console.print(f"{chosen.edges:,} edges; {graph.advise() or 'clustered both ways'}")
    bench = Bench(spark, graph, home, chosen.rounds)
    missed = 0
    questions = {ask.__name__: ask for ask in (bench.three_hops, bench.triangles, bench.path, bench.forms)}
    for timing in (ask() for name, ask in questions.items() if chosen.only in (None, name)):
        table = Table("variant", "median s", "times Headgate", title=timing.question, title_justify="left")
        for name in timing.seconds:
            table.add_row(name, f"{timing.median(name):.2f}", f"{timing.median(name) / timing.median('headgate'):.1f}")
        console.print(table)
        console.print("\n".join(timing.notes), highlight=False)
        if timing.bar is not None:
            met = timing.ratio >= timing.bar
            missed += not met
            told = f"{timing.ratio:.1f} times as fast as {timing.against}; the bar is {timing.bar}"
            console.print(f"{told}: {'met' if met else 'MISSED'}\n")
    for line in small_costs(spark) if chosen.only is None else ():
        console.print(line)
    spark.stop()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
