"""Close patterns: rings through a vertex, by frontiers from both of its sides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from headgate.errors import BadInput
from headgate.graph.frontier import Frontier
from headgate.graph.local import TooMany, lengthened, pairs_of
from headgate.graph.meet import Ways
from headgate.graph.walk import Reach, Walk

_LOCAL = 1_000_000  # pairs and rings up to which they are joined on the driver


def rings_frame(walk: Walk, ways: Ways, vertex: int, length: int, *, undirected: bool) -> DataFrame:
    """Return the rings of some length through a vertex, no vertex twice in one, as columns v0 (the vertex), v1, …"""
    places = _places(walk, ways, vertex, length)
    if length > 2 and any(len(place) > _LOCAL for place in places):
        return _joined(walk, ways, places, undirected=undirected)
    try:
        return _local(walk, ways, places, undirected=undirected)
    except TooMany:
        return _joined(walk, ways, places, undirected=undirected)


def _places(walk: Walk, ways: Ways, vertex: int, length: int) -> list[Frontier]:
    """Return the vertices that may stand at each place of a ring: from one side up to the middle, and from the other.

    Where a ring is long enough to have a vertex that is reached from both sides, only such vertices remain there.
    """
    alone, middle = Frontier([vertex]), length // 2
    places = [alone] * (length + 1)
    for i in range(1, middle + 1):
        asked, back = [Reach(ways.on, places[i - 1])], length - i
        if back > middle:
            asked.append(Reach(ways.back, places[back + 1]))
        what = f"place {i}" + (f" and {back}" if back > middle else "")
        for place, found in zip((i, back), walk.step_together(asked, what, ways.where), strict=False):
            places[place] = found - alone
    if length != 3:  # a triangle has no such place
        what = f"place {middle} again"
        places[middle] &= walk.step(ways.back, places[middle + 1], what, ways.where, within=places[middle])
    return places[:-1]


def _local(walk: Walk, ways: Ways, places: list[Frontier], *, undirected: bool) -> DataFrame:
    """Join the edges between the places on the driver; raise `TooMany` where they are too many."""
    rings = np.array([list(places[0])], dtype=np.int64)
    rings = np.column_stack([np.repeat(rings, len(places[1]), axis=0), places[1].ids.ids()])
    for i in range(1, len(places) - 1):
        try:
            ends = walk.step_from_each(
                ways.on, places[i], f"edges {i} to {i + 1}", ways.where, within=places[i + 1], most=_LOCAL
            )
        except BadInput:
            raise TooMany from None
        rings = lengthened(rings, pairs_of(ends), _LOCAL)
    if undirected:  # each ring is found in both directions
        rings = rings[rings[:, 1] < rings[:, -1]]
    spark = ways.on[0].frame.sparkSession
    return spark.createDataFrame(pa.table({f"v{i}": pa.array(rings[:, i]) for i in range(len(places))}))


def _joined(walk: Walk, ways: Ways, places: list[Frontier], *, undirected: bool) -> DataFrame:
    """Let Spark join the edges between the places."""
    found: DataFrame | None = None
    last = len(places) - 1
    for i in range(1, last):
        pairs = walk.pairs(ways.on, (places[i], places[i + 1]), (f"v{i}", f"v{i + 1}"), ways.where)
        found = pairs if found is None else found.join(pairs, f"v{i}")
    assert found is not None
    for i in range(1, last + 1):
        for j in range(i + 1, last + 1):
            found = found.where(sf.col(f"v{i}") != sf.col(f"v{j}"))
    if undirected:
        found = found.where(sf.col("v1") < sf.col(f"v{last}"))
    (vertex,) = places[0]
    return found.select(sf.lit(vertex).cast("bigint").alias("v0"), *(f"v{i}" for i in range(1, last + 1)))
