"""The session with Headgate enabled; whatever a streaming test sets is put back after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

import headgate


@pytest.fixture
def gated(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with Headgate enabled."""
    with as_before(spark):
        headgate.enable(spark)
        yield spark
        headgate.disable(spark)


@pytest.fixture
def operators(spark: SparkSession) -> Iterator[None]:
    """One task for each operator, which decides how long a micro-batch takes; operators choose where state is kept."""
    with as_before(spark):
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        yield


@contextmanager
def as_before(spark: SparkSession) -> Iterator[None]:
    """Put the settings of the session back."""
    before = dict(spark.conf.getAll)
    try:
        yield
    finally:
        for key, value in dict(spark.conf.getAll).items():
            if key not in before:
                spark.conf.unset(key)
            elif value != before[key]:
                spark.conf.set(key, before[key])


@pytest.fixture
def stateful(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose settings are put back: operators over changelogs choose where state is kept."""
    with as_before(spark):
        yield spark
