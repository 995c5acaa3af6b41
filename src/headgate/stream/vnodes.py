"""Vnodes: the pieces that an operator's state is cut into, with ids that Spark spreads evenly over partitions."""

from __future__ import annotations

from functools import cache

_CANDIDATES = 12
# Powers of two come out even by themselves.
_PARTITIONS = (3, 5, 6, 7, 10, 12, 20, 24, 48, 96, 100, 200)


@cache
def vnode_ids(count: int) -> tuple[int, ...]:
    """Return so many ids (a power of two) that fall evenly into any usual number of shuffle partitions.

    Checkpoints depend on these ids: they must never change for a given count.
    """
    loads = {partitions: [0] * partitions for partitions in _PARTITIONS}
    candidates: dict[int, list[int]] = {}
    wanted, number = count * _CANDIDATES, 0
    while wanted:
        alike = candidates.setdefault(spark_hash(number) % count, [])
        if len(alike) < _CANDIDATES:
            alike.append(number)
            wanted -= 1
        number += 1
    chosen = []
    for remainder in range(count):
        best = min(candidates[remainder], key=lambda each: (_crowding(spark_hash(each), loads), each))
        for partitions, load in loads.items():
            load[spark_hash(best) % partitions] += 1
        chosen.append(best)
    return tuple(chosen)


def _crowding(hash: int, loads: dict[int, list[int]]) -> int:
    """How full the partitions are, above the emptiest, that an id with this hash would go to."""
    return sum(load[hash % partitions] - min(load) for partitions, load in loads.items())


def spark_hash(value: int) -> int:
    """Return Spark's hash of an INT, which its shuffle takes modulo the number of partitions."""
    k = value * 0xCC9E2D51 & 0xFFFFFFFF
    k = (k << 15 | k >> 17) & 0xFFFFFFFF
    h = 42 ^ (k * 0x1B873593 & 0xFFFFFFFF)
    h = (h << 13 | h >> 19) & 0xFFFFFFFF
    h = (h * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
