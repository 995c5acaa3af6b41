"""The session with Headgate enabled; whatever a streaming test sets is put back after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import headgate


@pytest.fixture
def gated(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with Headgate enabled."""
    before = dict(spark.conf.getAll)
    headgate.enable(spark)
    yield spark
    headgate.disable(spark)
    for key, value in dict(spark.conf.getAll).items():
        if key not in before:
            spark.conf.unset(key)
        elif value != before[key]:
            spark.conf.set(key, before[key])


@pytest.fixture
def stateful(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose settings are put back: operators over changelogs choose where state is kept."""
    before = dict(spark.conf.getAll)
    yield spark
    for key, value in dict(spark.conf.getAll).items():
        if key not in before:
            spark.conf.unset(key)
        elif value != before[key]:
            spark.conf.set(key, before[key])
