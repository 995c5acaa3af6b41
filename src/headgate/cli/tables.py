"""Find out what lies at the path of a table, and give it a name in SQL: Parquet, ORC, CSV, JSON, Delta, Iceberg, Lance.

The format is told by the folder: `_delta_log` is Delta, `metadata/*.metadata.json` Iceberg, `_versions` Lance; else by
the ends of its files. `name=format:path` says it outright.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headgate.catalyst.sentences import SPARK_ERRORS
from headgate.errors import BadInput
from headgate.read import lance

FORMATS = ("parquet", "orc", "csv", "json", "avro", "delta", "iceberg", "lance")
_DELTA = (
    "--conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension "
    "--conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
)
_JARS = {
    "delta": f"--conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0 {_DELTA}",
    "iceberg": "--conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "avro": "--conf spark.jars.packages=org.apache.spark:spark-avro_2.13:4.1.1",
}
_LOOKED_AT = 1000  # files of a folder


def named_tables(items: Iterable[str]) -> list[NamedTable]:
    """Return the tables that a person gave, each with a name of its own."""
    tables = [NamedTable(item) for item in items]
    twice = [name for name, count in Counter(table.name for table in tables).items() if count > 1]
    if twice:
        raise BadInput(f"--table gives {twice[0]} several times; each table needs a name of its own")
    return tables


class NamedTable:
    """A table as a person gave it: name=path, or name=format:path."""

    def __init__(self, item: str) -> None:
        name, equals, path = item.partition("=")
        if not equals or not path:
            raise BadInput(f"--table {item!r} must be name=path, as in --table fact=data/fact")
        if not name.isidentifier():
            raise BadInput(f"--table {item!r}: {name!r} is no name of a table; use letters, digits and underscores")
        kind, colon, rest = path.partition(":")
        self.name, self.path = name, rest if colon and kind in FORMATS else path
        if colon and kind.isalpha() and kind not in FORMATS and not rest.startswith("//") and not _is_there(path):
            raise BadInput(f"table {name}: {kind!r} is no format that is read here; use {', '.join(FORMATS)}")
        is_glob = any(sign in self.path for sign in "*?[{")  # which Spark resolves
        if "://" not in self.path and not is_glob and not _is_there(self.path):
            allowed = f"give the path of a table ({', '.join(FORMATS)})"
            raise BadInput(f"table {name}: there is nothing at {self.path!r}; {allowed}")
        if not is_glob and Path(self.path).is_dir() and not any(Path(self.path).iterdir()):
            raise BadInput(f"table {name}: the folder {self.path!r} is empty")
        self.format = kind if colon and kind in FORMATS else _format_at(self.path)

    def register(self, spark: Any) -> None:
        """Make the table a view of the session."""
        if self.format == "lance":
            lance(spark, self.path).createOrReplaceTempView(self.name)
            return
        reader = spark.read.format(self.format)
        if self.format == "csv":
            reader = reader.option("header", "true").option("inferSchema", "true")
        try:
            reader.load(self.path).createOrReplaceTempView(self.name)
        except SPARK_ERRORS as error:
            if self.format in _JARS and "DATA_SOURCE_NOT_FOUND" in str(error):
                raise BadInput(
                    f"table {self.name} is {self.format}, and Spark has no reader for it; with PySpark 4.1, "
                    f"add {_JARS[self.format]}"
                ) from error
            if "DELTA_CONFIGURE_SPARK_SESSION" in str(error):
                raise BadInput(f"table {self.name} is delta, which needs settings of Spark; add {_DELTA}") from error
            raise


def _is_there(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - also says no to a path that is too long


def _format_at(path: str) -> str:
    folder = Path(path)
    if (folder / "_delta_log").is_dir():
        return "delta"
    if any((folder / "metadata").glob("*.metadata.json")):
        return "iceberg"
    if (folder / "_versions").is_dir() or path.rstrip("/").endswith(".lance"):
        return "lance"
    names = [path] if not folder.is_dir() else _some_files(folder)
    for kind in ("orc", "csv", "json", "avro"):
        if any(name.rstrip("*").removesuffix(".gz").endswith(f".{kind}") for name in names):
            return kind
    return "parquet"


def _some_files(folder: Path) -> list[str]:
    found = []
    for file in folder.rglob("*"):
        if file.is_file() and not file.name.startswith(("_", ".")):
            found.append(file.name)
        if len(found) == _LOOKED_AT:
            break
    return found
