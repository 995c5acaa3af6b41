"""Where a materialised table and its checkpoint may lie, and who writes there."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.catalyst.files import Folder
from headgate.errors import BadInput
from headgate.stream.manifest import DATA, MANIFESTS

_writers: dict[tuple[str, str], StreamingQuery] = {}  # application and path -> the query that was started last


def folder_at(spark: SparkSession, path: object, what: str) -> Folder:
    """Return the folder at a path; refuse what is no path, or the path of a file."""
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise BadInput(f"{what} is {path!r}; it has to be the path of a folder, such as '/tables/stock'")
    try:
        folder = Folder(spark, os.fspath(path))
        file = folder.file_in_the_way()
    except OSError as error:
        raise BadInput(f"{what} is {str(path)!r}, which Spark cannot reach: {error}") from None
    if globbed := set("*?[]{}\\") & set(folder.path):
        told = " ".join(sorted(globbed))
        raise BadInput(f"{what} {path} has {told} in it, by which Spark would look for several paths: choose another")
    if file:
        raise BadInput(f"{what} is {folder.path}, and {file} is a file; give a folder, or a path that is not there yet")
    return folder


def check_checkpoint(table: Folder, checkpoint: Folder) -> None:
    """Refuse a checkpoint that lies where the files of the table lie."""
    taken = [table.path, *(table.at(name) for name in (DATA, MANIFESTS))]
    inside = [place for place in taken if f"{checkpoint.path}/".startswith(f"{place}/") and place != table.path]
    if checkpoint.path == table.path or inside:
        raise BadInput(
            f"the checkpoint is {checkpoint.path}, where the files of the table lie; give a folder of its own, or none "
            f"for {table.at('_checkpoint')}"
        )


def check_no_writer(spark: SparkSession, table: Folder) -> None:
    """Refuse a table that a running query of this program writes."""
    query = _writers.get((spark.sparkContext.applicationId, table.path))
    if query is not None and query.isActive:
        who = query.name or query.id
        raise BadInput(f"query {who} writes the table at {table.path} already; stop it first, or give another path")


def add_writer(spark: SparkSession, table: Folder, query: StreamingQuery) -> None:
    """Remember who writes a table."""
    _writers[spark.sparkContext.applicationId, table.path] = query
