"""A graph that is written anew is sorted both ways; one that is not says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headgate.errors import BadInput
from headgate.graph import Graph, cluster


def test_a_clustered_graph_reads_little(spark: SparkSession, tmp_path: Path) -> None:
    """Edges all over the table; written anew, a step reads one row group of many, either way."""
    spark.range(0, 40_000, 1, 4).selectExpr(
        "cast(pmod(hash(id), 3000) as int) as s", "pmod(xxhash64(id), 3000) - 1500 as d", "id as amount"
    ).write.parquet(str(tmp_path / "raw"))
    raw = Graph(spark.read.parquet(str(tmp_path / "raw")), "s", "d")
    assert raw.advise().startswith(
        "the table that steps out read is not clustered by s (an average row group overlaps 100%"
    )
    said: list[str] = []
    graph = cluster(raw.edges, str(tmp_path / "new"), "s", "d", files=4, row_group_bytes=50_000, progress=said.append)
    assert graph.advise() == ""
    assert [line.partition(", to ")[0] for line in said] == [
        "table 1 of 2: the edges sorted by s",
        "table 2 of 2: the edges sorted by d",
    ]
    assert graph.edges.schema == raw.edges.schema
    for direction, start in (("out", 77), ("in", -77)):
        rows = sorted(raw.expand([start], 2, direction).collect())  # type: ignore[arg-type]
        assert sorted(graph.expand([start], 2, direction).collect()) == rows  # type: ignore[arg-type]
        first = graph.last.steps[0]
        assert first.row_groups_read <= 2 < 8 <= first.row_groups_total
    groups = [pq.ParquetFile(file).metadata.num_row_groups for file in (tmp_path / "new").rglob("*.parquet")]
    assert sum(groups) > 16
    with pytest.raises(BadInput, match="by_src is there already, and is not written over"):
        cluster(raw.edges, str(tmp_path / "new"), "s", "d")


def test_a_graph_without_a_twin_is_told_so(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 20_000, 1, 1).selectExpr("pmod(hash(id), 900) src", "pmod(hash(id, 1), 900) dst").orderBy(
        "src"
    ).write.option("parquet.block.size", 20_000).parquet(str(tmp_path / "one"))
    graph = Graph(spark.read.parquet(str(tmp_path / "one")))
    assert graph.advise().startswith("the table that steps in read is not clustered by dst")


def test_what_lies_in_no_table_has_no_clusters(spark: SparkSession) -> None:
    """A frame that is computed can be walked, and is read whole."""
    graph = Graph(spark.range(0, 100).selectExpr("id as src", "id + 1 as dst"))
    assert "come from no table with statistics" in graph.advise()
    assert graph.shortest_path(3, 8) == [3, 4, 5, 6, 7, 8]
    assert {step.cells()[3] for step in graph.last.steps} == {"all"}
