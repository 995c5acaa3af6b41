"""ORC files are left out by their footers, as far as these surely speak of what Spark reads; the rows stay the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

import headgate
from headgate.catalyst import CatalystQuery
from headgate.observe import ScanReport
from tests.batch.differential import INTERPRETED, assert_narrowed, compare, enabled, outcome, rows_of, scan_of, settings

ROWS, FILES = 400, 4
DAY = dt.date(2000, 1, 1)
# of each type: the type in Arrow, row i, and an expression for it in Spark, of a long called id
TYPES: dict[str, tuple[pa.DataType, Any, str]] = {
    "bigint": (pa.int64(), lambda i: i, "id"),
    "int": (pa.int32(), lambda i: i, "cast(id AS int)"),
    "smallint": (pa.int16(), lambda i: i, "cast(id AS smallint)"),
    "tinyint": (pa.int8(), lambda i: i // 4, "cast(id / 4 AS tinyint)"),
    "string": (pa.string(), lambda i: f"ä{i:05d}", "concat('ä', lpad(id, 5, '0'))"),
    "date": (pa.date32(), lambda i: DAY + dt.timedelta(days=i), "date_add(date'2000-01-01', cast(id AS int))"),
    "decimal": (pa.decimal128(12, 2), lambda i: Decimal(i) / 4, "cast(id / 4 AS decimal(12, 2))"),
    "wide": (pa.decimal128(30, 2), Decimal, "cast(id AS decimal(30, 2))"),
    "boolean": (pa.bool_(), lambda i: i >= 300, "id >= 300"),
}
KEPT: dict[str, tuple[pa.DataType, Any, str]] = {
    "double": (pa.float64(), float, "cast(id AS double)"),
    "float": (pa.float32(), float, "cast(id AS float)"),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        lambda i: dt.datetime.fromtimestamp(i, dt.UTC),
        "timestamp_seconds(id)",
    ),
    "binary": (pa.binary(), lambda i: b"%05d" % i, "cast(lpad(id, 5, '0') AS binary)"),
}


def put(folder: Path, *files: dict[str, Any], **options: Any) -> Path:
    """Write one file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, columns in enumerate(files):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        po.write_table(table, folder / f"part-{number}.orc", **options)
    return folder


def keys(spark: SparkSession, expression: str, first: int = 310, count: int = 20) -> DataFrame:
    return spark.range(first, first + count).selectExpr(f"{expression} AS key")


def joined(spark: SparkSession, folder: Path, dim: DataFrame, column: str = "k", **options: Any) -> DataFrame:
    return spark.read.options(**options).orc(str(folder)).join(dim, col(f"`{column}`") == col("key"))


def narrowed(spark: SparkSession, folder: Path, dim: DataFrame, column: str = "k", **options: Any) -> ScanReport:
    """Compare a join with Headgate off and on; return what became of the scan."""
    return scan_of(compare(spark, lambda: joined(spark, folder, dim, column, **options)).report, folder.name)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in four files by two writers: a column of each type, NULL in every seventh row, and n with NULLs."""
    home = tmp_path_factory.mktemp("orc")
    rows = [range(at, at + ROWS // FILES) for at in range(0, ROWS, ROWS // FILES)]

    def table(some: range) -> pa.Table:
        made = {
            name: pa.array([None if i % 7 == 3 else make(i) for i in some], kind)
            for name, (kind, make, _) in TYPES.items()
        }
        holes = pa.array([None if i < 100 or 200 <= i < 210 else i for i in some], pa.int64())
        return pa.table({**made, "k": pa.array(some, pa.int64()), "n": holes})

    put(home / "arrow", *(table(some) for some in rows))
    columns = [
        f"CASE WHEN id % 7 = 3 THEN NULL ELSE {of} END AS `{name}`" for name, (_, _, of) in {**TYPES, **KEPT}.items()
    ]
    holes = "CASE WHEN id < 100 OR id BETWEEN 200 AND 209 THEN NULL ELSE id END AS n"
    spark.range(0, ROWS, 1, FILES).selectExpr(*columns, "id AS k", holes).write.orc(str(home / "spark"))
    return home


@pytest.mark.parametrize("writer", ["arrow", "spark"])
def test_files_are_left_out_by_each_type(spark: SparkSession, tables: Path, writer: str) -> None:
    for name, (_, _, of) in TYPES.items():
        with settings(spark, **INTERPRETED):
            scan = narrowed(spark, tables / writer, keys(spark, of), name)
        assert (scan.files_read, scan.files_total) == (1, FILES), name
        assert scan.bytes_read < scan.bytes_total
        assert scan.row_groups_total == 0  # stripes are for the reader to skip


@pytest.mark.parametrize("name", KEPT)
def test_floats_times_and_bytes_keep_every_file(spark: SparkSession, tables: Path, name: str) -> None:
    scan = narrowed(spark, tables / "spark", keys(spark, KEPT[name][2]), name)
    assert (scan.files_read, scan.files_total) == (FILES, FILES)


@pytest.mark.parametrize("writer", ["arrow", "spark"])
def test_nulls(spark: SparkSession, tables: Path, writer: str) -> None:
    """The first file has nothing but NULL in column n, the third some; only <=> looks for them."""
    frame = spark.read.orc(str(tables / writer)).select("n", "k")
    missing = spark.sql("SELECT explode(array(CAST(NULL AS bigint), 310L)) AS key")
    found = compare(spark, lambda: frame.join(missing, col("n") == col("key")))
    assert scan_of(found.report, writer).files_read == 1
    found = compare(spark, lambda: frame.join(missing, col("n").eqNullSafe(col("key"))))
    assert (len(found.rows), scan_of(found.report, writer).files_read) == (111, 3)
    low = spark.range(0, 60).selectExpr("id AS key")
    none = compare(spark, lambda: frame.join(low, col("n") == col("key")), may_be_empty=True)
    assert scan_of(none.report, writer).files_read == 0


def test_the_reader_skips_inside_of_files_and_the_report_agrees_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Between the stripes of the first file is a gap with all keys but one, which is in the second file."""
    apart = pa.table({"k": [*range(20_480), *range(90_000, 110_480)], "v": list(range(40_960))})
    put(tmp_path / "fact", apart, {"k": list(range(40_000, 80_000)), "v": list(range(40_000))}, stripe_size=100_000)
    assert po.ORCFile(tmp_path / "fact" / "part-0.orc").nstripes > 1
    dim = spark.sql("SELECT explode(array(30000L, 50000L, 85000L)) AS key")
    ran = compare(spark, lambda: joined(spark, tmp_path / "fact", dim))
    assert len(ran.rows) == 1
    assert assert_narrowed(ran.report, "fact", "k").files_read == 1
    leaves = ran.frame._jdf.queryExecution().executedPlan().finalPhysicalPlan().collectLeaves()
    scans = [leaf for i in range(leaves.size()) if "FileScan" in (leaf := leaves.apply(i)).toString()]
    counted = {name: scans[0].metrics().apply(name).value() for name in ("numFiles", "numOutputRows")}
    assert counted["numFiles"] == 1
    assert counted["numOutputRows"] < 40_000


@pytest.mark.parametrize(
    ("stored", "read", "of"),
    [
        (pa.array([0, 5]), "k string", "cast(id + 5 AS string)"),
        (pa.array(["0", "05"]), "k bigint", "id + 5"),
        (pa.array([0, 300], pa.int32()), "k tinyint", "cast(id + 44 AS tinyint)"),
        (pa.array([0, 5], pa.int32()), "k bigint", "id + 5"),
        (pa.array([Decimal("0.00"), Decimal("4.96")]), "k decimal(4, 1)", "cast(id + 5 AS decimal(4, 1))"),
    ],
    ids=["text", "number", "narrow", "wide", "rounded"],
)
def test_files_of_another_type(spark: SparkSession, tmp_path: Path, stored: pa.Array, read: str, of: str) -> None:
    """Bounds are of what is stored, and not of what Spark makes of it: the files are kept, and the reader is told nothing."""
    put(tmp_path / "fact", {"k": stored.slice(0, 1)}, {"k": stored.slice(1, 1)})
    few = spark.range(2).selectExpr(f"{of} AS key")

    def answers() -> Any:
        return outcome(lambda: spark.read.schema(read).orc(str(tmp_path / "fact")).join(few, col("k") == col("key")))

    expected = answers()
    with enabled(spark) as gate:
        assert answers() == expected
        assert [scan.files_read for scan in gate.reports[-1].scans if scan.table.endswith("fact")] == [2]


def test_columns_that_spark_finds_by_their_place(spark: SparkSession, tmp_path: Path) -> None:
    """Files of old versions of Hive have made-up names: Spark takes their columns in order, and those of all if it is told to."""
    swapped: list[dict[str, Any]] = [{"v": list(range(at, at + 10)), "k": list(range(9, -1, -1))} for at in (0, 50)]
    made_up = [{f"_col{i}": values for i, values in enumerate(columns.values())} for columns in swapped]
    put(tmp_path / "made up", *made_up)
    put(tmp_path / "swapped", *swapped)
    dim = spark.range(52, 55).selectExpr("id AS key")

    def read(name: str, key: str = "k", **options: str) -> DataFrame:
        frame = spark.read.schema(f"{key} bigint, v bigint").options(**options).orc(str(tmp_path / name))
        return frame.join(dim, col(key) == col("key"))

    assert len(compare(spark, lambda: read("made up")).rows) == 3
    assert len(compare(spark, lambda: read("made up", "_col1")).rows) == 3
    by_option = {"orc.force.positional.evolution": "true"}
    assert len(compare(spark, lambda: read("swapped", **by_option)).rows) == 3
    with settings(spark, orc_force_positional_evolution="true"):
        assert len(compare(spark, lambda: read("swapped")).rows) == 3
    by_name = compare(spark, lambda: read("swapped"), may_be_empty=True)
    assert (by_name.rows, scan_of(by_name.report, "swapped").files_read) == ([], 0)


def test_names(spark: SparkSession, tmp_path: Path) -> None:
    """Found without regard to case, if Spark looks so; dotted names, and those inside of structs, are not looked for."""
    struct = [{"b": 900 + i} for i in range(10)]
    low, high = ({"K": list(range(at, at + 10)), "a.b": list(range(at, at + 10)), "a": struct} for at in (0, 50))
    put(tmp_path / "fact", low, high)
    dim = spark.range(52, 55).selectExpr("id AS key")
    assert narrowed(spark, tmp_path / "fact", dim, "k").files_read == 1
    assert narrowed(spark, tmp_path / "fact", dim, "a.b").files_read == 2
    nested = spark.range(902, 905).selectExpr("id AS key")
    compare(spark, lambda: spark.read.orc(str(tmp_path / "fact")).join(nested, col("a.b") == col("key")))
    with settings(spark, spark_sql_caseSensitive="true"):
        put(tmp_path / "two", *({"k": [at], "K": [100 - at]} for at in (0, 52)))
        assert narrowed(spark, tmp_path / "two", dim, "k").files_read == 1
        frame = spark.read.schema("k bigint").orc(str(tmp_path / "fact"))
        compare(spark, lambda: frame.join(dim, col("k").eqNullSafe(col("key")), "left"))


def test_files_with_deleted_rows_of_hive(spark: SparkSession, tmp_path: Path) -> None:
    """Their columns lie inside of `row`, where Spark looks for them; it may fail there, and then does so all the same."""
    outer = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction")
    files = [
        {**{name: pa.array([0], pa.int64()) for name in outer}, "row": [{"bucket": 52 + at, "v": 1}]} for at in (0, 1)
    ]
    put(tmp_path / "fact", *files)
    dim = spark.range(52, 53).selectExpr("id AS key")
    for schema in ("bucket bigint", "v bigint, bucket bigint"):
        frame = spark.read.schema(schema).orc(str(tmp_path / "fact"))
        expected = outcome(lambda frame=frame: frame.join(dim, col("bucket") == col("key")))
        with enabled(spark) as gate:
            assert outcome(lambda frame=frame: frame.join(dim, col("bucket") == col("key"))) == expected
            assert scan_of(gate.reports[-1], "fact").files_read == 2


def test_text_that_is_long_or_no_text(spark: SparkSession, tmp_path: Path) -> None:
    """Bounds of long text are cut off, and those of other bytes are changed: neither is believed."""
    for at in (0, 1):
        long = spark.range(1).selectExpr(f"concat(repeat('{'ab'[at]}', 3000), 'x') AS k", "cast('z' AS string) AS v")
        long.coalesce(1).write.mode("append").orc(str(tmp_path / "long"))
        odd = f"SELECT CAST(unhex('{('61ff', 'ff61')[at]}') AS string) AS k"
        spark.sql(odd).coalesce(1).write.mode("append").orc(str(tmp_path / "odd"))
    dim = spark.sql("SELECT explode(array(concat(repeat('b', 3000), 'x'), 'q')) AS key")
    assert narrowed(spark, tmp_path / "long", dim).files_read == 2
    beyond = spark.sql("SELECT CAST(unhex('ff61') AS string) AS key")
    compare(spark, lambda: joined(spark, tmp_path / "odd", beyond).selectExpr("hex(k)"))


def test_days_of_the_old_calendar(spark: SparkSession, tmp_path: Path) -> None:
    days = spark.sql(
        "SELECT explode(array(date'0900-02-28', date'1500-03-01', date'1899-12-31', date'1950-01-01')) AS k"
    )
    days.repartitionByRange(4, "k").write.orc(str(tmp_path / "fact"))
    old = spark.sql("SELECT explode(array(date'0900-02-28', date'1500-03-01')) AS key")
    assert narrowed(spark, tmp_path / "fact", old).files_read == 3  # only the last is sure not to have them


def test_padded_text(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE orc_padded (c CHAR(5), w VARCHAR(5), v int) USING orc")
    try:
        for text in ("ab", "x"):
            spark.sql(f"INSERT INTO orc_padded VALUES ('{text}', '{text}', 1)")
        for column in ("c", "w"):
            dim = spark.sql("SELECT explode(array('x', 'x    ', 'y')) AS key")
            compare(spark, lambda c=column, dim=dim: spark.table("orc_padded").join(dim, col(c) == col("key")))
    finally:
        spark.sql("DROP TABLE orc_padded")


def test_partitions_and_files(spark: SparkSession, tmp_path: Path) -> None:
    fact = spark.range(0, 400, 1, 4).selectExpr("id AS k", "cast(id / 200 AS int) AS p")
    fact.write.partitionBy("p").orc(str(tmp_path / "fact"))
    few = spark.range(1, 2).selectExpr("cast(id AS int) AS q", "id + 210 AS key")
    read = spark.read.orc(str(tmp_path / "fact"))
    by_both = compare(spark, lambda: read.join(few, (col("p") == col("q")) & (col("k") == col("key"))))
    assert scan_of(by_both.report, "fact").files_read == 1
    by_partition = compare(spark, lambda: read.join(few, col("p") == col("q")))
    assert (len(by_partition.rows), scan_of(by_partition.report, "fact").files_read) == (200, 2)


@pytest.mark.parametrize("ignore", ["true", "false"])
def test_a_footer_that_cannot_be_read(spark: SparkSession, tmp_path: Path, ignore: str) -> None:
    """The file is kept, and the query ends as it would without Headgate."""
    fact = put(tmp_path / "fact", *({"k": list(range(at, at + 10))} for at in (0, 50, 90)))
    (fact / "part-1.orc").write_bytes(b"ORC" + b"\xff" * 200)
    dim = spark.range(92, 95).selectExpr("id AS key")
    with settings(spark, spark_sql_files_ignoreCorruptFiles=ignore):
        frame = spark.read.schema("k bigint").orc(str(fact))
        expected = outcome(lambda: frame.join(dim, col("k") == col("key")))
        with enabled(spark) as gate:
            assert outcome(lambda: frame.join(dim, col("k") == col("key"))) == expected
            assert scan_of(gate.reports[-1], "fact").files_read == 2
    assert isinstance(expected, tuple) == (ignore == "false")


def test_the_rest_of_a_damaged_file(spark: SparkSession, tmp_path: Path) -> None:
    """Where damaged files may be skipped Spark gives up the rest of one; what is told must not bring it back."""
    keys = sorted(Random(1).sample(range(1 << 40), 20_000))
    path = put(tmp_path / "fact", {"k": keys}, stripe_size=100_000) / "part-0.orc"
    assert po.ORCFile(path).nstripes > 2
    with path.open("r+b") as file:
        file.seek(20_000)
        file.write(b"\xff" * 10_000)
    dim = spark.sql(f"SELECT explode(array({keys[3]}L, {keys[-3]}L)) AS key")
    with settings(spark, spark_sql_files_ignoreCorruptFiles="true"):
        assert len(compare(spark, lambda: joined(spark, tmp_path / "fact", dim)).rows) == 1


@pytest.mark.parametrize("broadcast", ["10mb", "-1"])
def test_a_table_that_changes_before_the_query_runs(spark: SparkSession, tmp_path: Path, broadcast: str) -> None:
    """A new file, and one that is another by then: both are read, though planning had left them out."""
    dim = spark.range(52, 55).selectExpr("id AS key")

    def changed(name: str) -> Any:
        put(tmp_path / name, *({"k": list(range(at, at + 10))} for at in (0, 50)))
        frame = spark.read.orc(str(tmp_path / name)).join(dim, col("k") == col("key"))
        frame._jdf.queryExecution().executedPlan()
        put(tmp_path / name, {"k": [52, 53]}, {"k": [54]})
        spark.catalog.refreshByPath(str(tmp_path / name))
        return rows_of(frame)

    with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast):
        expected = changed("off")
        with enabled(spark) as gate:
            assert changed("on") == expected
            assert any("changed" in report.note for report in gate.reports)
    assert expected.total() == 3


def test_footers_are_read_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a file is kept by what it is; another file of its name is read again."""
    fact = put(tmp_path / "fact", *({"k": list(range(at, at + 10))} for at in (0, 50)))
    dim = spark.range(52, 55).selectExpr("id AS key")
    asked: list[str] = []
    read = CatalystQuery._read_orc

    def counting(self: CatalystQuery, scan: int, files: Any, columns: Any, **how: Any) -> Any:
        asked.extend(file.path.rsplit("/", 1)[-1] for file in files)
        return read(self, scan, files, columns, **how)

    monkeypatch.setattr(CatalystQuery, "_read_orc", counting)
    with enabled(spark):
        for _ in range(2):
            assert joined(spark, fact, dim).count() == 3
        assert sorted(asked) == ["part-0.orc", "part-1.orc"]
        put(fact, {"k": [52]})
        assert joined(spark, fact, dim).count() == 4
        assert scan_of(headgate.report(spark), "fact").files_read == 2
    assert asked[2:] == ["part-0.orc"]


def test_a_chain_of_orc_tables(spark: SparkSession, tmp_path: Path) -> None:
    """The middle table is narrowed as a build side, with a test of each row; both joins move rows."""
    for name, of in {"fact": "id AS k, id % 7 AS v", "mid": "id AS m, cast(id / 10 AS int) AS g"}.items():
        spark.range(0, 400, 1, 4).selectExpr(*of.split(", ")).write.orc(str(tmp_path / name))
    top = spark.range(31, 33).selectExpr("cast(id AS int) AS g2")

    def query() -> DataFrame:
        fact, mid = (spark.read.orc(str(tmp_path / name)) for name in ("fact", "mid"))
        return fact.join(mid.join(top, col("g") == col("g2")), col("k") == col("m"))

    for broadcast in ("10mb", "-1"):
        with settings(spark, spark_sql_autoBroadcastJoinThreshold=broadcast):
            ran = compare(spark, query)
        assert len(ran.rows) == 20
        assert scan_of(ran.report, "fact").files_read == 1


def test_values_that_a_person_publishes(spark: SparkSession, tmp_path: Path) -> None:
    fact = put(tmp_path / "fact", *({"k": list(range(at, at + 10))} for at in (0, 50)))
    with enabled(spark):
        frame = spark.read.orc(str(fact))
        publisher = headgate.publish(frame, "k")
        publisher.complete([52, 53])
        assert sorted(row[0] for row in publisher.frame.collect()) == [52, 53]
        assert scan_of(headgate.report(spark), "fact").files_read == 1
