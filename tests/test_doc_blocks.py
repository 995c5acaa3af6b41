"""The code of pages in docs/ runs as it stands, from top to bottom of each page."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headgate
from headgate import cli
from tests.stream.conftest import as_before
from tests.test_readme import blocks_of, run_blocks

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def home(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A folder for what the pages write and read; queries that they start are stopped."""
    with as_before(spark):
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        yield tmp_path
        for query in spark.streams.active:
            query.stop()


def run(block: str, home: Path, names: dict[str, Any]) -> None:
    """Run a block, with the folders of the page below a temporary one."""
    exec(re.sub(r'"/(data|tables)/', rf'"{home}/\1/', block), names)


def test_streams(spark: SparkSession, home: Path) -> None:
    """Each block with the streams that the page takes for granted, and what the page says of it."""

    def stream(name: str, sql: str) -> Any:
        frame = spark.sql(sql)
        frame.write.parquet(str(home / "data" / name))
        return spark.readStream.schema(frame.schema).parquet(str(home / "data" / name))

    orders = stream("orders", "select id, 10 * id amount, timestamp'2024-03-01 00:30:00Z' ts from range(1, 5)")
    spark.sql("select 1 at, 25 threshold").write.parquet(str(home / "data" / "limits"))
    names: dict[str, Any] = {
        "spark": spark,
        "orders": orders,
        "thresholds": stream("thresholds", "select 1 at, 25 threshold"),
        "partsupp": stream(
            "partsupp", "select id ps_partkey, 7 ps_suppkey, 2 ps_supplycost, id ps_availqty from range(3)"
        ),
        "german_suppliers": spark.sql("select 7 s_suppkey"),
    }
    threshold, clock, manual, batch, after = blocks("streams.md")
    for block in (threshold, clock, batch):
        run(block, home, names)
    told = names["above"].writeStream.format("memory").queryName("above").trigger(availableNow=True).start()
    told.awaitTermination()
    assert sorted(row.amount for row in spark.table("above").where("_op = '+I'").collect()) == [30, 40]
    run(manual, home, names)
    assert spark.table("recent").count() == 4
    kept, started, shown = after.partition("query = ")
    run(kept + started + shown.partition("\n\n")[0], home, names)
    names["query"].processAllAvailable()
    assert names["read_materialized"](spark, str(home / "tables" / "important_stock")).count() == 2
    run(shown.partition("\n\n")[2], home, names)


def test_graph(spark: SparkSession, home: Path) -> None:
    """The whole page; the tables that its blocks read are there."""
    lance = pytest.importorskip("lance")
    transfers = spark.sql(
        "select * from values (4711, 12, 950, 'paid', '2024-01-05'), (12, 815, 990, 'owes', '2024-01-06'), "
        "(815, 4711, 10, 'paid', '2024-03-01') as t(sender, receiver, amount, kind, at)"
    )
    (home / "data").mkdir()
    lance.write_dataset(transfers.toArrow(), str(home / "data" / "transfers.lance"))
    people = pa.table({"name": ["a", "b"]})
    lance.write_dataset(people, str(home / "data" / "people.lance"), enable_stable_row_ids=True)
    names: dict[str, Any] = {"spark": spark, "transfers": transfers.coalesce(1)}
    for block in blocks("graph.md"):
        run(block, home, names)
    assert names["graph"].shortest_path(4711, 815) == [4711, 12, 815]
    found = names["kinds"].match("(a)-[:paid]->(b)-[:owes]->(c)", start={"a": 4711})
    assert [tuple(row) for row in found.collect()] == [(4711, 12, 815)]


@pytest.mark.slow
def test_quickstart(spark: SparkSession, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the page prints what it says, and its commands run; then the pages that go on from its tables."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("COLUMNS", "200")
    # the JVM does not follow this process into the folder, so what Spark reads is given its whole path
    text = re.sub(r'(parquet\("|--table \w+=)', rf"\g<1>{home}/", (DOCS / "quickstart.md").read_text())
    page = blocks_of(text)
    names: dict[str, Any] = {"__name__": "__quickstart__"}
    run_blocks(page, names, "quickstart.md")
    lines = [line for block in page if block.language == "sh" for line in block.text.splitlines()]
    for line in lines:
        command, *arguments = shlex.split(line)
        if command == "echo":
            subprocess.run(line, shell=True, check=True)
        elif command == "headgate" and arguments[0] not in ("ui", "demo"):  # one never ends, the other takes minutes
            with pytest.raises(SystemExit) as ended:
                cli.main(arguments)
            assert not ended.value.code, line
    assert Path("headgate.html").stat().st_size > 10_000
    names = {"spark": spark, "headgate": headgate, "SparkSession": SparkSession, "Path": Path}
    for block in (*blocks("from-in-lists.md"), *blocks("running.md")):
        run(block, home, names)
    assert names["by_hand"] == names["joined"]
    assert names["wanted"] == 14_993
    names["gate"] = headgate.enable(spark)
    for block in blocks("observing.md"):
        run(block, home, names)
    assert Path("headgate.token").read_text() == names["gate"].token
