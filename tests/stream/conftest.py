"""The session with Headgate enabled; whatever a streaming test sets is put back after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import headgate
from tests.stream.streams import SETTINGS

_OTHERS = (
    "spark.headgate.enabled",
    "spark.headgate.watermark.strict",
    "spark.headgate.watermark.slack",
    "spark.sql.codegen.factoryMode",
    "spark.sql.codegen.wholeStage",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.statefulOperator.allowMultiple",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition",
)


@pytest.fixture
def gated(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with Headgate enabled."""
    before = {key: spark.conf.get(key, None) for key in (*SETTINGS, *_OTHERS)}
    headgate.enable(spark)
    yield spark
    headgate.disable(spark)
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
