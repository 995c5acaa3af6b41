"""Python and Java mean the same by each message: both sides read the examples in tests/catalyst/wire.

What Python writes is compared with the example as text, and then given to Java in a real plan. What Java writes is
compared with the example too, with what differs from run to run (expression ids, sizes, times) replaced.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

from headgate.catalyst import SparkBridge
from headgate.catalyst.listing import read_listing
from headgate.catalyst.orc import read_orc_footers
from headgate.catalyst.packed import PackedBuild, partial_domain, unpack_builds
from headgate.catalyst.query import handed_over
from headgate.catalyst.reader import read_plan
from headgate.catalyst.wire import (
    BatchLog,
    BuildOrder,
    BuildOrders,
    Closed,
    FilterCounts,
    KeyLimits,
    LateGate,
    LateNumbers,
    LateQuery,
    PlanEdits,
    Predicate,
    ScanEdit,
    SourceLog,
    StreamLog,
    Tap,
    TapFilter,
    Unread,
    decoded,
    encoded,
)
from headgate.domain import Domain, value_type
from headgate.plan import nodes
from headgate.plan.kinds import Op
from headgate.tables import DataFile

WIRE = Path(__file__).parent / "wire"


def example(name: str) -> str:
    return (WIRE / name).read_text(encoding="utf-8")


EDITS = PlanEdits(
    scans={
        1: ScanEdit(
            keep=[0, 2],
            row_groups={2: [4, 900]},
            filters=[
                Predicate(column=7, values=[1, 5], null=True),
                Predicate(column=8, ranges=[(None, 9), (12, None)]),
                Predicate(column=9, bitmap="OjAAAAEAAAAAAAAAEAAAAAEA", ranges=[(1, 1)]),
                Predicate(column=9, bitmap="AQAAAAAAAAD///9/OjAAAAEAAAD//wAAEAAAAP//", width=64, ranges=[(-1, -1)]),
                Predicate(column=10, ranges=[(3, 9)], for_reader=True),
            ],
            shown=["df_0 (k = id)"],
            unread_groups={2: 3},
        ),
        2: ScanEdit(late=[LateGate(id="df_0", number=0, column=7, rows=True)]),
    },
    builds={3: 0},
    taps={0: Tap(side=1, max_distinct=10, max_bytes=1000, keys=[7], filters=[TapFilter(id="df_1", column=7)])},
    late=LateQuery(query="q", url="http://127.0.0.1:1", token="t", filters=2, max_wait_ms=1000),
)
ORDERS = BuildOrders(
    limits=KeyLimits(max_distinct=10_000, max_bytes=1_000_000),
    builds=[
        BuildOrder(
            node=3, keys=[0, 2], row_bytes=100, edits=PlanEdits(scans={4: ScanEdit(keep=[])}), serves="df_0 (k = id)"
        )
    ],
)


@pytest.mark.parametrize(("name", "message"), [("edits.json", EDITS), ("orders.json", ORDERS)])
def test_what_python_writes_is_the_example(name: str, message: Any) -> None:
    """Names are camelCase, what has its default is left out, and reading it back gives the same."""
    assert json.loads(encoded(message)) == json.loads(example(name))
    assert decoded(example(name), type(message)) == message


def test_no_edits_are_an_empty_document() -> None:
    """Then nothing is sent at all."""
    assert encoded(PlanEdits()) == "{}"
    assert PlanEdits().is_empty
    assert not EDITS.is_empty


def test_a_plan_is_read_into_nodes() -> None:
    """A join of two scans, with the facts of its session."""
    root, session = read_plan(example("plan.json"))
    join = next(node for node in root.walk() if isinstance(node, nodes.Join))
    fact, dim = root.scans()

    assert (session.broadcast_bytes, session.case_sensitive) == (77, False)
    assert session.settings == {"spark.headgate.strategy": "always"}
    assert [(c.op, c.sql) for c in join.conjuncts] == [(Op.EQUAL, "(cat_fact.k = cat_dim.id)")]
    assert (fact.source, fact.table, dim.table) == ("parquet", "cat_fact", "cat_dim")
    assert [column.name for column in fact.output] == ["k", "v", "x"]


def test_a_listing_is_read_into_files() -> None:
    """Partition values come as values of their type, and a file knows its partition."""
    found = read_listing(example("listing.json").encode()).files()

    assert found.partition_columns == [("day", "date"), ("price", "decimal(5,2)")]
    assert [list(map(str, values)) for values in found.partitions] == [["19723", "1.50"], ["None", "None"]]
    assert [(file.path, file.size, file.partition, file.stamp) for file in found.files] == [
        ("file:/t/day=2024-01-01/a.parquet", 1000, 0, "12:34"),
        ("file:/t/b.parquet", 2000, 1, ""),
    ]


ORC_COLUMNS = [
    ("k", "bigint"),
    ("m", "decimal(5,2)"),
    ("s", "string"),
    ("d", "date"),
    ("b", "boolean"),
    ("n", "int"),
    ("other", "int"),
]


def test_orc_footers_are_read_into_values() -> None:
    """Decimals come as text; what is unknown is None, and a file that cannot be read too."""
    found, unread = read_orc_footers(example("orc_footers.json").encode(), ORC_COLUMNS)

    assert unread is None
    assert found is not None
    assert (found.starts, found.ends, found.rows) == ([3], [90], [4])
    assert found.columns[1] == ([Decimal("1.5")], [Decimal("2.25")], [0])
    assert found.columns[3] == ([19723], [19724], [0])
    assert found.columns[-1] == ([None], [None], [None])


def test_java_writes_orc_footers(bridge: SparkBridge, spark: SparkSession, tmp_path: Path) -> None:
    """Of a real file, and of one that is none; where its stripe lies depends on who wrote it."""
    day = dt.date(2024, 1, 1)
    table = pa.table(
        {
            "k": pa.array([-3, 12, None, 5], pa.int64()),
            "m": pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("2.00"), Decimal("1.75")], pa.decimal128(5, 2)),
            "s": ["ä", "a", "b", "c"],
            "d": [day, dt.date(2024, 1, 2), day, day],
            "b": [True, False, True, True],
            "n": pa.array([None] * 4, pa.int32()),
            "other": ["1", "2", "3", "4"],
        }
    )
    orc.write_table(table, tmp_path / "a.orc")
    (tmp_path / "none").write_text("no ORC")
    query = bridge.query_of(spark.read.orc(str(tmp_path / "a.orc")))
    query.read()
    files = [DataFile(f"file:{path}", path.stat().st_size, 0, 0) for path in (tmp_path / "a.orc", tmp_path / "none")]
    found = query.reads(0).orc(files, ORC_COLUMNS, case_sensitive=False)

    expected = read_orc_footers(example("orc_footers.json").encode(), ORC_COLUMNS)
    assert found[0] is not None
    assert expected[0] is not None
    assert [replace(found[0], ends=expected[0].ends), found[1]] == expected


def test_late_numbers_are_read_by_filter_and_scan() -> None:
    """Five counts for each filter; what nobody counted is zero."""
    numbers = decoded(example("late_numbers.json"), LateNumbers)
    assert numbers.places == {4: {"file:/t/a.parquet": [-1, 4, 900], "file:/t/b.parquet": [900]}}

    assert numbers.counted(1) == FilterCounts(50, opened_before=2, opened_cut_off=1, received=1_700_000_000_000)
    assert numbers.counted(7) == FilterCounts()
    assert (numbers.closed(0), numbers.closed(1)) == (Closed(3, 12), Closed())
    assert (numbers.unread(4), numbers.unread(5)) == (Unread(3, 12, 4096, 1), Unread())


def test_a_stream_log_is_read_batch_by_batch() -> None:
    """A source without a cut-off has neither column nor time."""
    log = decoded(example("stream_log.json"), StreamLog)

    assert (log.failures, log.last_failure) == (1, "gone")
    assert log.batches[0] == BatchLog(
        batch_id=3,
        watermark=60_000,
        generation=2,
        strict=False,
        plan_micros=1500,
        sources=[
            SourceLog(
                source="events",
                column=None,
                cut_off=None,
                late_rows=0,
                null_rows=0,
                files=4,
                files_skipped=1,
                row_groups=8,
                row_groups_skipped=2,
                reason="there is no watermark yet",
            )
        ],
    )


def test_packed_builds_are_read_with_their_keys() -> None:
    """One build of one key in two partitions, and one that failed."""
    found = unpack_builds(bytes.fromhex(example("builds.hex").replace("\n", "")))

    assert [(b.number, b.rows, b.has_rows, b.error) for b in found] == [(0, 3, False, ""), (1, 0, False, "gone")]
    domains = [partial_domain(value_type("bigint"), keys[0]) for keys in found[0].partitions]
    assert domains == [Domain.of("bigint", [0]), Domain.of("bigint", [1, 2])]


# --- the Java side ------------------------------------------------------------------------------------------------


def test_java_reads_the_edits(bridge: SparkBridge, spark: SparkSession, pair: Path) -> None:
    """The example's scan edit, with the ids of a real plan, narrows the scan and tests its rows."""
    query = bridge.query_of(spark.table("cat_fact"))
    root, _ = query.read()
    given = decoded(example("edits.json"), PlanEdits).scans[1]
    columns = {7: root.output[0].id, 8: root.output[1].id, 9: root.output[0].id, 10: root.output[1].id}
    tests = [msgspec.structs.replace(test, column=columns[test.column]) for test in given.filters]
    query.list_files(root.id)
    written = query.write(PlanEdits(scans={root.id: msgspec.structs.replace(given, filters=tests)}))

    text = str(written)
    assert "PrunedFileIndex" in str(written.collectLeaves().apply(0).relation().location().getClass())
    assert re.search(r"isnull\(k#\d+\)", text)
    assert "<= 9" in text
    assert ">= 12" in text
    assert not re.search(r">= 3\b", text), "what is for the reader tests no rows"


def test_java_reads_the_orders_and_packs_the_builds(bridge: SparkBridge, spark: SparkSession) -> None:
    """The bytes of a real build are those of the example, but for the time it took."""
    query = bridge.query_of(spark.range(0, 3, 1, 2))
    query.read()
    orders = decoded(example("orders.json"), BuildOrders)
    order = BuildOrder(node=0, keys=[0], row_bytes=0, edits=PlanEdits())
    running = query._context.startBuilds(encoded(BuildOrders(limits=orders.limits, builds=[order])))
    packed = handed_over(getattr(running, "await")(60_000))
    first = unpack_builds(bytes.fromhex(example("builds.hex").replace("\n", "")))[0]

    (found,) = unpack_builds(packed)
    assert _without_time(found) == _without_time(first)


def _without_time(build: PackedBuild) -> tuple[Any, ...]:
    return build.number, build.rows, build.has_rows, build.row_bytes, build.error, build.partitions


def test_java_writes_the_plan(bridge: SparkBridge, spark: SparkSession, pair: Path) -> None:
    """The document of a real query is the example, with ids in the order of their first use and sizes left out."""
    spark.conf.set("spark.headgate.strategy", "always")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "77b")
    try:
        frame = spark.sql("select k, v from cat_fact join cat_dim on k = id")
        document = handed_over(bridge.query_of(frame)._context.read()).decode()
    finally:
        spark.conf.unset("spark.headgate.strategy")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")

    found, expected = json.loads(document), json.loads(example("plan.json"))
    found["session"]["settings"] = {
        key: value for key, value in found["session"]["settings"].items() if key == "spark.headgate.strategy"
    }
    assert _shaped(found, str(pair)) == _shaped(expected, "")


def _shaped(document: Any, home: str) -> Any:
    """Leave out what differs from run to run."""
    ids: dict[int, int] = {}

    def shaped(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: shaped(held, key) for key, held in value.items()}
        if isinstance(value, list):
            return [shaped(held, name) for held in value]
        if name in ("bytes", "smaller"):
            return 0
        if name in ("column", "references", "output", "columns") and isinstance(value, int):
            return ids.setdefault(value, len(ids))
        return value.replace(f"file:{home}", "file:") if isinstance(value, str) and home else value

    return shaped(document)
