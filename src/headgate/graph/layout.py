"""Write edge tables that graph operations read least of: sorted by src, and a twin sorted by dst."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.catalyst.files import Folder
from headgate.catalyst.names import quoted
from headgate.catalyst.numbers import whole
from headgate.errors import BadInput
from headgate.graph.graph import Graph

_ROW_GROUP = 1 << 19  # a few vertices leave most of a file unread; with many, few runs of row groups have to be opened


def cluster(
    edges: DataFrame,
    path: str,
    src: str = "src",
    dst: str = "dst",
    *,
    files: int | None = None,
    row_group_bytes: int = _ROW_GROUP,
    progress: Callable[[str], None] | None = None,
) -> Graph:
    """Write the edges to two tables below a folder, ``by_src`` and ``by_dst``, and return the graph over both.

    Each table is sorted by one end of the edges over all of its files, in small row groups. ``progress`` is told what
    is being written. A table that is there already is an error, and stays as it is.
    """
    size, wanted = whole(row_group_bytes), None if files is None else whole(files)
    if size is None or size < 1:
        raise BadInput(f"row_group_bytes={row_group_bytes!r} is no size; give bytes, such as {_ROW_GROUP}")
    if files is not None and (wanted is None or wanted < 1):
        raise BadInput(f"files={files!r} is no number of files; give 1 or more, or None for four a core")
    graph = Graph(edges, src, dst)  # which says what is wrong with the columns before anything is written
    src, dst, spark = graph.src, graph.dst, edges.sparkSession
    _check_free(spark, path)
    count = wanted or max(spark.sparkContext.defaultParallelism * 4, 8)
    tables: list[DataFrame] = []
    for number, (name, first, second) in enumerate((("by_src", src, dst), ("by_dst", dst, src)), start=1):
        target = str(PurePosixPath(path) / name) if "://" not in path else f"{path.rstrip('/')}/{name}"
        if progress is not None:
            progress(f"table {number} of 2: the edges sorted by {first}, to {target}")
        ends = [sf.col(quoted(first)), sf.col(quoted(second))]
        # the second from the first: edges that are computed may come out differently another time
        laid_out = (tables[0] if tables else edges).repartitionByRange(count, *ends).sortWithinPartitions(*ends)
        laid_out.write.option("parquet.block.size", size).parquet(target)
        tables.append(spark.read.schema(edges.schema).parquet(target))
    return Graph(tables[0], src, dst, reverse=tables[1])


def _check_free(spark: SparkSession, path: str) -> None:
    """Refuse a folder that has a table already, or a file in its place: nothing is ever written over."""
    folder = Folder(spark, path)
    if file := folder.file_in_the_way():
        raise BadInput(f"{file} is a file; give the path of a folder for the tables by_src and by_dst")
    for name in ("by_src", "by_dst"):
        if folder.has(name):
            raise BadInput(
                f"{folder.at(name)} is there already, and is not written over: give another path, delete it first, or "
                "read it with Graph(spark.read.parquet(...))"
            )
