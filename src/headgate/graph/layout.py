"""Write edge tables that graph operations read least of: sorted by src, and a twin sorted by dst."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from headgate.catalyst.names import quoted
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
    is being written. A table that is there already is an error.
    """
    if row_group_bytes < 1:
        raise BadInput(f"row_group_bytes={row_group_bytes} is no size; give bytes, such as {_ROW_GROUP}")
    Graph(edges, src, dst)  # which says what is wrong with the columns before anything is written
    spark = edges.sparkSession
    count = files or max(spark.sparkContext.defaultParallelism * 4, 8)
    tables: list[DataFrame] = []
    for number, (name, first, second) in enumerate((("by_src", src, dst), ("by_dst", dst, src)), start=1):
        target = str(PurePosixPath(path) / name) if "://" not in path else f"{path.rstrip('/')}/{name}"
        if progress is not None:
            progress(f"table {number} of 2: the edges sorted by {first}, to {target}")
        ends = [sf.col(quoted(first)), sf.col(quoted(second))]
        # the second from the first: edges that are computed may come out differently another time
        laid_out = (tables[0] if tables else edges).repartitionByRange(count, *ends).sortWithinPartitions(*ends)
        laid_out.write.option("parquet.block.size", row_group_bytes).parquet(target)
        tables.append(spark.read.schema(edges.schema).parquet(target))
    return Graph(tables[0], src, dst, reverse=tables[1])
