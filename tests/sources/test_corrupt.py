"""Metadata that is broken, or written by others: a query ends as it does with Headgate off, with rows or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.batch.differential import enabled, outcome

Break = Callable[[dict[str, Any]], dict[str, Any]]


def _stats(text: str | None) -> Break:
    def broken(action: dict[str, Any]) -> dict[str, Any]:
        if "add" in action:
            action["add"] = {key: value for key, value in action["add"].items() if key != "stats"}
            if text is not None:
                action["add"]["stats"] = text
        return action

    return broken


def _foreign(action: dict[str, Any]) -> dict[str, Any]:
    if "add" in action:
        action["add"]["tags"] = {"written by": "another engine"}
        stats = json.loads(action["add"]["stats"])
        action["add"]["stats"] = json.dumps(
            stats | {"distinctCount": {"k": 7}, "minValues": {"gone": 1} | stats["minValues"]}
        )
    return action


BREAKS: dict[str, Break] = {
    "no statistics": _stats(None),
    "statistics that are no JSON": _stats("{not json"),
    "statistics of another shape": _stats('{"numRecords": "many", "minValues": 7}'),
    "statistics without bounds": _stats('{"numRecords": 250}'),
    "more than Spark writes": _foreign,
}


def same(spark: SparkSession, make: Callable[[], DataFrame]) -> Any:
    """Compare how a query ends with Headgate off and on; both read the metadata anew."""
    _forget(spark)
    off = outcome(make)
    with enabled(spark, strategy="always"):
        _forget(spark)
        on = outcome(make)
    assert on == off
    return on


def _forget(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def joined(spark: SparkSession, fact: DataFrame) -> DataFrame:
    keys = spark.range(40).selectExpr("id + 300 AS key", "id AS w").where("w > 3")
    return fact.join(keys, fact.k == keys.key)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BREAKS)
def test_statistics_of_delta(spark: SparkSession, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "t")
    spark.range(0, 2_000, 1, 8).selectExpr("id AS k", "id % 7 AS v").write.format("delta").save(path)
    log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    actions = [BREAKS[name](json.loads(line)) for line in log.read_text().splitlines()]
    log.write_text("\n".join(map(json.dumps, actions)) + "\n")
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    same(spark, lambda: joined(spark, spark.read.format("delta").load(path)))


def test_a_log_of_delta_that_is_cut_off(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(0, 2_000, 1, 8).selectExpr("id AS k").write.format("delta").save(path)
    log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text()[:-200])
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    same(spark, lambda: joined(spark, spark.read.format("delta").load(path)))


def test_a_file_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """A file that the log names and the folder lacks: read or skipped, the rest is the same."""
    path = str(tmp_path / "t")
    spark.range(0, 2_000, 1, 8).selectExpr("id AS k").write.format("delta").save(path)
    for file in sorted((tmp_path / "t").glob("part-00001*")):
        file.unlink()
    same(spark, lambda: joined(spark, spark.read.format("delta").load(path)))


@pytest.mark.parametrize("kept", [0, 60], ids=["empty", "cut off"])
def test_a_manifest_of_iceberg(spark: SparkSession, kept: int) -> None:
    name = f"ice.db.broken_{kept}"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.range(0, 2_000, 1, 8).selectExpr("id AS k", "id % 7 AS v").writeTo(name).create()
    warehouse = Path(str(spark.conf.get("spark.sql.catalog.ice.warehouse")))
    (manifest,) = (warehouse / "db" / f"broken_{kept}" / "metadata").glob("*-m0.avro")
    manifest.write_bytes(manifest.read_bytes()[:kept])
    manifest.with_name(f".{manifest.name}.crc").unlink(missing_ok=True)
    assert isinstance(same(spark, lambda: joined(spark, spark.table(name))), tuple)


def test_a_table_of_iceberg_with_properties_of_others(spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS ice.db.foreign")
    spark.range(0, 2_000, 1, 8).selectExpr("id AS k", "id % 7 AS v").writeTo("ice.db.foreign").create()
    spark.sql(
        "ALTER TABLE ice.db.foreign SET TBLPROPERTIES ('write.metadata.metrics.default'='none', 'other.engine'='7')"
    )
    spark.range(2_000, 4_000, 1, 8).selectExpr("id AS k", "id % 7 AS v").writeTo("ice.db.foreign").append()
    same(spark, lambda: joined(spark, spark.table("ice.db.foreign")))
