"""Real Catalyst plans are read into nodes that say what the rules need to know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.catalyst import SparkBridge
from headgate.config import SETTINGS
from headgate.plan import nodes
from headgate.plan.kinds import Can
from headgate.plan.nodes import Node
from tests.batch.differential import settings

Read = Callable[[DataFrame | str], Node]
Kind = TypeVar("Kind", bound=Node)


@pytest.fixture
def read(spark: SparkSession, pair: Path, bridge: SparkBridge) -> Read:
    """Return the nodes of a query, optimized by Spark alone."""

    def nodes_of(query: DataFrame | str) -> Node:
        frame = spark.sql(query) if isinstance(query, str) else query
        root, _ = bridge.query_of(frame).read()
        assert [node.id for node in root.walk()] == list(range(len(list(root.walk()))))
        return root

    return nodes_of


def one(root: Node, kind: type[Kind]) -> Kind:
    """Return the only node of a kind."""
    (found,) = [node for node in root.walk() if isinstance(node, kind)]
    return found


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("join", "INNER"),
        ("left join", "LEFT OUTER"),
        ("right join", "RIGHT OUTER"),
        ("full join", "FULL OUTER"),
        ("left semi join", "LEFT SEMI"),
        ("left anti join", "LEFT ANTI"),
    ],
)
def test_joins(read: Read, sql: str, kind: str) -> None:
    """A join has its type, and its clause names the columns of its two sides by expression id."""
    join = one(read(f"select 1 from cat_fact {sql} cat_dim on k = id"), nodes.Join)

    assert join.type == kind
    (clause,) = join.conjuncts
    assert clause.op == "="
    assert clause.left is not None
    assert clause.right is not None
    left, right = join.left.find_column(clause.left.column or 0), join.right.find_column(clause.right.column or 0)
    assert left is not None
    assert right is not None
    assert [(left.name, left.type), (right.name, right.type)] == [("k", "int"), ("id", "int")]


def test_existence_joins_are_named(read: Read) -> None:
    """`IN` under `OR` becomes a join that keeps every row: none of the types that rules know."""
    join = one(read("select k from cat_fact where v = 1 or k in (select id from cat_dim)"), nodes.Join)

    assert join.type == "EXISTENCE"


@pytest.mark.parametrize("op", ["=", "<=>", "<", "<=", ">", ">="])
def test_comparisons(read: Read, op: str) -> None:
    """Each comparison is read with its operator, one conjunct for each."""
    join = one(read(f"select 1 from cat_fact join cat_dim on k {op} id and v + 1 < grp"), nodes.Join)

    assert sorted(c.op for c in join.conjuncts) == sorted([op, "<"])


def test_casts_and_computed_columns(read: Read) -> None:
    """A widened key is a cast over a plain column; anything else is its SQL and what it refers to."""
    join = one(read("select 1 from cat_fact join cat_dim on v = id and x = id + grp"), nodes.Join)
    casts = [side for c in join.conjuncts for side in (c.left, c.right) if side is not None and side.cast is not None]

    inner, steps = next(c.unwrapped() for c in casts if c.unwrapped()[0].column is not None)
    assert (join.right.find_column(inner.column or 0) or join).name == "id"
    assert steps == ("bigint",)
    calculated = next(c.unwrapped()[0] for c in casts if c.unwrapped()[0].column is None)
    assert "grp" in calculated.sql
    assert len(calculated.references) == 2


def test_scans_of_parquet(read: Read, pair: Path) -> None:
    """A scan says where its files are and how large they are."""
    scan = one(read("select k from cat_fact"), nodes.Scan)

    assert (scan.source, scan.format, scan.table) == ("parquet", "Parquet", "cat_fact")
    assert scan.path == f"file:{pair}/cat_fact"
    assert scan.bytes == sum(file.stat().st_size for file in (pair / "cat_fact").glob("*.parquet"))
    assert scan.partition_columns == frozenset()


def test_partition_columns(read: Read, spark: SparkSession, tmp_path: Path) -> None:
    """Columns that are folders are told apart."""
    spark.range(4).selectExpr("id", "id % 2 as p").write.partitionBy("p").parquet(str(tmp_path / "t"))

    assert one(read(spark.read.parquet(str(tmp_path / "t"))), nodes.Scan).partition_columns == {"p"}


def test_other_sources(read: Read, spark: SparkSession, tmp_path: Path) -> None:
    """Each kind of leaf has its name, so that rules know which are stable."""
    spark.range(3).write.json(str(tmp_path / "json"))
    cached = spark.range(5).selectExpr("id + 1 as a").cache()
    cached.count()
    not_loaded = spark.range(5).selectExpr("id + 2 as a").cache()
    frames = {
        "files": spark.read.schema("id int").json(str(tmp_path / "json")),
        "local": spark.sql("select * from values 1, 2"),
        "range": spark.range(5),
        "cached": cached,
        "cache": not_loaded,
        "rdd": spark.createDataFrame(spark.sparkContext.parallelize([(1,)]), "a int"),
        "checkpoint": spark.range(5).localCheckpoint(),
    }
    try:
        scans = {
            name: next(n for n in read(frame).walk() if isinstance(n, nodes.Scan)) for name, frame in frames.items()
        }
    finally:
        cached.unpersist()
        not_loaded.unpersist()

    assert {name: scan.source for name, scan in scans.items()} == {name: name for name in frames}
    assert {name for name, scan in scans.items() if Can.REREAD not in scan.can} == {"cache", "rdd"}


@pytest.mark.parametrize(
    ("columns", "repeatable"),
    [("count(*)", True), ("max(x)", True), ("sum(v)", True), ("sum(x)", False), ("first(v)", False)],
)
def test_aggregates(read: Read, columns: str, repeatable: bool) -> None:
    """Keys are told, and whether a second run gives the very same values."""
    aggregate = one(read(f"select k, {columns} from cat_fact group by k"), nodes.Aggregate)
    (key,) = aggregate.keys

    assert (aggregate.children[0].find_column(key.column or 0) or aggregate).name == "k"
    assert aggregate.repeatable is repeatable
    assert [number for number, _ in aggregate.columns] == [column.id for column in aggregate.output]


def test_windows(read: Read) -> None:
    """A window has its partition keys."""
    window = one(read("select k, rank() over (partition by v order by x) from cat_fact"), nodes.Window)

    assert [window.children[0].find_column(key.column or 0).name for key in window.keys] == ["v"]


def test_shapes(read: Read, spark: SparkSession) -> None:
    """Unions, limits, sorts and repartitions are nodes of their own; other nodes keep Spark's name."""
    assert len(one(read("select k from cat_fact union all select id from cat_dim"), nodes.Union).children) == 2
    assert any(isinstance(node, nodes.Limit) for node in read("select k from cat_fact limit 3").walk())
    assert any(isinstance(node, nodes.Sort) for node in read("select k from cat_fact order by v").walk())
    assert one(read(spark.table("cat_fact").repartition(3)), nodes.Repartition) is not None
    assert one(read(spark.table("cat_fact").sample(fraction=0.5, seed=1)), nodes.Other).name == "Sample"
    assert one(read("select k, explode(array(k, v)) from cat_fact"), nodes.Other).name == "Generate"


def test_what_is_not_deterministic_is_said_of_every_node_above(read: Read, spark: SparkSession) -> None:
    """A random number marks its node and all above it, and not the scan below it."""
    root = read(spark.table("cat_fact").where(sf.rand(1) < 0.5).repartition(2))

    assert [node.deterministic for node in root.walk()] == [False, False, True]


def test_subqueries_are_told(read: Read) -> None:
    """A node with a subquery in its condition says so."""
    root = read("select k from cat_fact where v < (select max(grp) from cat_dim)")

    assert [node.has_subquery for node in root.walk() if isinstance(node, nodes.Filter)] == [True]


def test_not_null_tests_are_told_from_others(read: Read) -> None:
    """Spark adds IS NOT NULL to join keys: such a conjunct removes no key."""
    root = read("select 1 from cat_fact join (select * from cat_dim where grp > 3) d on k = id")
    ops = {c.op for node in root.walk() if isinstance(node, nodes.Filter) for c in node.conjuncts}

    assert ops == {"is not null", ">"}


def test_settings_come_with_the_plan(spark: SparkSession, pair: Path, bridge: SparkBridge) -> None:
    """One call brings the plan and what rules need to know of the session."""
    texts = {"spark_headgate_strategy": "always", "spark_sql_autoBroadcastJoinThreshold": "77b"}
    with settings(spark, **texts, spark_sql_caseSensitive="true"):
        _, found = bridge.query_of(spark.table("cat_fact")).read()

    assert (found.broadcast_bytes, found.case_sensitive) == (77, True)
    assert found.settings["spark.headgate.strategy"] == "always"
    assert set(found.settings) <= {setting.key for setting in SETTINGS}
