"""TPC-H Q11 and Q22 as streams: totals, a moving threshold and a join, equal to the batch query after every batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.stream import aggregate, dynamic_filter, join
from headgate.suites.data import connect
from tests.stream.changelogs import Changes, Row, Told, by_batch

pytestmark = pytest.mark.turns(2)

BATCHES = 20
SCALE = 0.01
COST = "sum(ps_supplycost * ps_availqty)"
SHARE = "0.005"  # at the scale of these tables as many rows pass as do in the suite
CODES = "('13', '31', '23', '29', '30', '18', '17')"


@pytest.fixture(autouse=True)
def _one_task(stateful: SparkSession) -> None:
    """Each operator keeps its state in one store: these tests have the most operators and batches of all."""
    stateful.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.fixture(scope="module")
def tpch() -> Iterator[Any]:
    connection = connect("tpch")
    connection.execute(f"CALL dbgen(sf = {SCALE})")
    yield connection
    connection.close()


def in_batches(changes: Changes, rows: list[Row], changed: Callable[[random.Random, Row], Row]) -> None:
    """Let the rows arrive, with updates of rows that are there and deletes, in all batches."""
    draw = random.Random(11)
    draw.shuffle(rows)
    there: list[Row] = []
    for number in range(BATCHES):
        new = rows[number * len(rows) // BATCHES : (number + 1) * len(rows) // BATCHES]
        draw.shuffle(there)
        count = len(there) // 12
        updates = [(row, changed(draw, row)) for row in there[:count]]
        gone = there[count : count + count // 2]
        made = [("+I", row) for row in new] + [("-D", row) for row in gone]
        made += [change for old, after in updates for change in (("+U", after), ("-U", old))]
        changes.write(made)
        there = there[count + count // 2 :] + [after for _, after in updates] + new


def german_suppliers(spark: SparkSession, tpch: Any) -> DataFrame:
    found = tpch.execute(
        "SELECT s_suppkey FROM supplier JOIN nation ON s_nationkey = n_nationkey WHERE n_name = 'GERMANY'"
    ).fetchall()
    return spark.createDataFrame(found, "s_suppkey bigint")


def test_q11_important_stock(stateful: SparkSession, tmp_path: Path, tpch: Any) -> None:
    ddl = "ps_partkey bigint, ps_suppkey bigint, ps_availqty bigint, ps_supplycost decimal(15,2)"
    schema = pa.schema(
        [(name, pa.int64()) for name in ("ps_partkey", "ps_suppkey", "ps_availqty")]
        + [("ps_supplycost", pa.decimal128(15, 2))]
    )
    changes = Changes(tmp_path / "partsupp", ddl, schema)
    found = tpch.execute("SELECT ps_partkey, ps_suppkey, ps_availqty, ps_supplycost FROM partsupp").fetchall()
    in_batches(changes, found, lambda draw, row: (row[0], row[1], draw.randint(1, 40_000), row[3]))

    suppliers = german_suppliers(stateful, tpch)
    stock = join(changes.stream(stateful), suppliers, "left.ps_suppkey = right.s_suppkey")
    parts = aggregate(stock, "ps_partkey", value=COST)
    total = aggregate(stock, [], total=COST)
    important = dynamic_filter(parts, total, f"value > total * {SHARE}", "ps_partkey", vnodes=2)
    told = Told()
    told.run(important, tmp_path / "checkpoint")

    changes.states(stateful).createOrReplaceTempView("partsupp")
    suppliers.createOrReplaceTempView("german")
    stateful.sql("SELECT * FROM partsupp JOIN german ON ps_suppkey = s_suppkey").createOrReplaceTempView("stock")
    batch = stateful.sql(
        f"SELECT _batch, ps_partkey, value FROM (SELECT _batch, ps_partkey, {COST} value FROM stock GROUP BY ALL) "
        f"JOIN (SELECT _batch, {COST} total FROM stock GROUP BY ALL) USING (_batch) WHERE value > total * {SHARE}"
    )
    expected = by_batch(batch, BATCHES)
    assert told.after(BATCHES) == expected
    assert min(len(rows) for rows in expected[3:]) > 5
    assert {op for rows in told.batches.values() for op, *_ in rows} == {"+I", "-U", "+U", "-D"}


def test_q22_global_sales_opportunity(stateful: SparkSession, tmp_path: Path, tpch: Any) -> None:
    ddl = "c_custkey bigint, c_phone string, c_acctbal decimal(15,2)"
    schema = pa.schema([("c_custkey", pa.int64()), ("c_phone", pa.string()), ("c_acctbal", pa.decimal128(15, 2))])
    changes = Changes(tmp_path / "customer", ddl, schema)
    found = tpch.execute("SELECT c_custkey, c_phone, c_acctbal FROM customer").fetchall()

    def changed(draw: random.Random, row: Row) -> Row:
        phone = row[1] if draw.random() < 0.7 else f"{draw.choice([13, 31, 11])}{row[1][2:]}"
        return (row[0], phone, Decimal(draw.randint(-99_999, 999_999)).scaleb(-2))

    in_batches(changes, found, changed)
    orders = stateful.createDataFrame(
        tpch.execute("SELECT DISTINCT o_custkey FROM orders WHERE o_orderkey % 5 = 0").fetchall(), "o_custkey bigint"
    )

    code = "substring(c_phone, 1, 2)"
    customers = changes.stream(stateful).selectExpr("*", f"{code} cntrycode").where(f"cntrycode in {CODES}")
    level = aggregate(customers.where("c_acctbal > 0.00"), [], level="avg(c_acctbal)")
    idle = join(customers, orders, "left.c_custkey = right.o_custkey", "left_anti")
    rich = dynamic_filter(idle, level, "c_acctbal > level", "c_custkey", vnodes=2)
    told = Told()
    told.run(aggregate(rich, "cntrycode", numcust="count(*)", totacctbal="sum(c_acctbal)"), tmp_path / "checkpoint")

    changes.states(stateful).selectExpr("*", f"{code} cntrycode").where(
        f"cntrycode in {CODES}"
    ).createOrReplaceTempView("customer")
    orders.createOrReplaceTempView("orders")
    batch = stateful.sql(
        "SELECT _batch, cntrycode, count(*), sum(c_acctbal) FROM customer JOIN (SELECT _batch, avg(c_acctbal) level "
        "FROM customer WHERE c_acctbal > 0.00 GROUP BY _batch) USING (_batch) WHERE c_acctbal > level AND NOT EXISTS "
        "(SELECT * FROM orders WHERE o_custkey = c_custkey) GROUP BY _batch, cntrycode"
    )
    expected = by_batch(batch, BATCHES)
    assert told.after(BATCHES) == expected
    assert max(len(rows) for rows in expected) == 7
