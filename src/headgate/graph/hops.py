"""Walk some hops from a set of vertices: the vertices reached, the edges walked, or the paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.catalyst.ids import frame_of_ids, in_ids
from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.local import TooMany, lengthened, pairs_of
from headgate.graph.walk import Side, Walk, Where

_PATHS = 1_000_000
_LISTED = 1_000_000  # vertices up to which a frame holds them; others are read from bitmaps


def levels(walk: Walk, sides: Sequence[Side], start: Frontier, hops: int | None, where: Where) -> list[Frontier]:
    """Return the vertices by the hop at which each is first reached; no level is empty but perhaps the start."""
    found, seen = [start], start
    while hops is None or len(found) <= hops:
        fresh = walk.step(sides, found[-1], f"hop {len(found)}", where) - seen
        if not len(fresh):
            break
        found.append(fresh)
        seen |= fresh
    return found


def vertices_frame(spark: SparkSession, found: Sequence[Frontier]) -> DataFrame:
    """Return the vertices with the hop at which each was reached."""
    if sum(map(len, found)) > _LISTED:
        return frame_of_ids(spark, [level.ids for level in found], "vertex", "hop")
    ids = [level.ids.ids() for level in found]
    hops = np.repeat(np.arange(len(ids), dtype=np.int32), [len(level) for level in ids])
    columns = {"vertex": pa.array(np.concatenate(ids), pa.int64()), "hop": pa.array(hops, pa.int32())}
    return spark.createDataFrame(pa.table(columns))


def edges_frame(walk: Walk, sides: Sequence[Side], found: Sequence[Frontier], where: Where) -> DataFrame:
    """Return the edges from the vertices of some levels, each once, with the hop at which it is first walked."""
    everywhere = _united(found)
    frames: list[DataFrame] = []
    for side in sides:
        frame = walk.edges(side, everywhere, where)
        frame = frame.where(sf.col(quoted(side.end)).isNotNull())
        hop = _hop_of(frame, side.start, found)
        if len(sides) > 1:  # the same edge is found from its other end
            if frames:
                frame = frame.where(~in_ids(frame, side.end, everywhere.ids))
            hop = sf.least(hop, _hop_of(frame, side.end, found))
        frames.append(frame.withColumn("hop", hop))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _hop_of(frame: DataFrame, column: str, found: Sequence[Frontier]) -> Column:
    """Return the hop at which edges at this end are walked; NULL where that end was not reached."""
    hop: Column | None = None
    for number, level in enumerate(found, start=1):
        here = in_ids(frame, column, level.ids)
        # one flat list of cases: a thousand nested ones overflow the stack
        hop = sf.when(here, number) if hop is None else hop.when(here, number)
    return sf.lit(None).cast("int") if hop is None else hop


@dataclass(frozen=True, slots=True)
class PathsAsked:
    """Which paths are asked for: from where, of up to how many hops, and at most how many; a million if not said."""

    sides: Sequence[Side]
    start: Frontier
    hops: int
    where: Where = None
    most: int | None = None


def paths_frame(walk: Walk, asked: PathsAsked, found: Sequence[Frontier]) -> DataFrame:
    """Return the paths of 1 to some hops from the start that visit no vertex twice, as lists of vertices.

    ``found`` are the vertices by the hop at which each is first reached.
    """
    spark, most = asked.sides[0].frame.sparkSession, _PATHS if asked.most is None else asked.most
    edges = walk.step_from_each(asked.sides, _united(found), "edges of the paths", asked.where, most=max(most, _PATHS))
    pairs = pairs_of(edges)
    lists, paths, left = [], asked.start.ids.ids().reshape(-1, 1), most
    for hop in range(1, asked.hops + 1):
        try:
            paths = lengthened(paths, pairs, left)
        except TooMany:
            raise BadInput(
                f"there are more than {most:,} paths: {most - left:,} of up to {hop - 1} hops, and too many of "
                f"{hop}; take fewer hops, ask for the vertices or the edges, or raise most={most:,}"
            ) from None
        left -= len(paths)
        offsets = pa.array(np.arange(len(paths) + 1, dtype=np.int32) * (hop + 1))
        lists.append(pa.ListArray.from_arrays(offsets, pa.array(paths.ravel())))
    table = pa.table({"path": pa.chunked_array(lists, pa.list_(pa.int64()))})
    return spark.createDataFrame(table).withColumn("hop", sf.size("path") - 1)


def _united(found: Sequence[Frontier]) -> Frontier:
    united = Frontier()
    for level in found:
        united |= level
    return united
