"""A Spark session with Delta, Iceberg and JDBC drivers; without their jars nothing here is collected."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import SMALL_DATA
from tests.local_files import use_plain_local_files
from tests.py4j_names import remember_names
from tests.sources.formats import FORMATS, Tables

JARS = os.environ.get("HEADGATE_TABLE_JARS")
collect_ignore_glob = [] if JARS else ["test_*.py"]

HAS_ICEBERG = JARS is not None and any(Path(JARS).glob("iceberg-*.jar"))
_OF_ICEBERG = ("iceberg", "merge-on-read", "copy-on-write", "test_random_tables", "test_order_of_values")

# tests/batch/test_told_sources.py has the others, with the newest Spark
# a jar of its own for each Spark: who wants its tests puts it beside the others
HAS_AVRO = JARS is not None and any(Path(JARS).glob("spark-avro*.jar"))
ALL_KINDS = [kind for kind in sorted(FORMATS) if kind != "avro" or HAS_AVRO]
KINDS = ALL_KINDS if os.environ.get("HEADGATE_SUITES") == "all" else ["delta", "iceberg", "derby_v2"]
_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out Iceberg's tests with a Spark that it does not know."""
    if not HAS_ICEBERG:
        found = [item for item in items if any(word in item.nodeid for word in _OF_ICEBERG)]
        left_out = [item for item in found if not item.nodeid.endswith("[delta]")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of all tests of tables."""
    assert JARS is not None
    remember_names()
    home = tmp_path_factory.mktemp("tables")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    derby = "jdbc:derby:memory:headgate;create=true"
    iceberg = {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(home / "iceberg"),
    }
    settings = (
        SMALL_DATA
        | (iceberg if HAS_ICEBERG else {})
        | {
            "spark.jars": ",".join(str(jar) for jar in sorted(Path(JARS).glob("*.jar"))),
            "spark.sql.extensions": ",".join(_EXTENSIONS if HAS_ICEBERG else _EXTENSIONS[:1]),
            "spark.sql.catalog.spark_catalog": _DELTA,
            "spark.sql.catalog.derby": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            "spark.sql.catalog.derby.url": derby,
            "spark.sql.catalog.derby.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.driver.memory": "3g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.headgate.nonBlocking": "false",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": f"-Xms1g -Xmn600m -Dderby.stream.error.file={home}/derby.log",
        }
    )
    session = SparkSession.builder.master("local[2]").appName("headgate-tables").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    use_plain_local_files(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """A place to write tables of all formats into."""
    return Tables(spark, tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each format by its name."""
    return str(request.param)
