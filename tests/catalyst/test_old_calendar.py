"""From when on footers are believed: the same in Java and Python, and late enough for what Spark makes of old files."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.catalyst import SparkBridge
from headgate.catalyst.compiler import compiled
from headgate.domain.types import to_axis, value_type
from headgate.tables.parquet import _OLDEST

HOUR = 3600 * 1_000_000


@pytest.mark.parametrize(
    ("kind", "method"), [("date", "isSureDay"), ("timestamp", "isSureTime"), ("timestamp_ntz", "isSureTime")]
)
def test_java_and_python_believe_the_same(bridge: SparkBridge, spark: SparkSession, kind: str, method: str) -> None:
    first = to_axis(value_type(kind), _OLDEST[kind])
    told = [compiled(spark.sparkContext).call("scan.OldCalendar", method, first + step) for step in (-1, 0, 1)]
    assert told == [False, True, True]


def test_what_spark_moves_stays_before_the_first_sure_instant(spark: SparkSession) -> None:
    """In no zone does an instant of the old calendar come to lie behind it, and none that lies behind it is moved."""
    jvm: Any = spark._jvm
    rebase = jvm.org.apache.spark.sql.catalyst.util.RebaseDateTime
    last, sure = rebase.lastSwitchJulianTs(), to_axis(value_type("timestamp"), _OLDEST["timestamp"])
    assert dt.timedelta(microseconds=sure - last) == dt.timedelta(days=2)
    moved = 0
    for zone in jvm.java.util.TimeZone.getAvailableIDs():
        for before in (1, HOUR // 2, HOUR, 12 * HOUR, 24 * HOUR):
            read = rebase.rebaseJulianToGregorianMicros(zone, last - before)
            moved += read != last - before
            assert read < sure, zone
        assert rebase.rebaseJulianToGregorianMicros(zone, last) == last, zone
        assert rebase.rebaseJulianToGregorianMicros(zone, sure) == sure, zone
    assert moved > 0
