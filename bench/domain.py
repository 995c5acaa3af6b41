"""Measure domains, their JSON, merging and pruning against fixed bars: `python -m bench.domain`.

Times are the median of nine rounds after two warm-up rounds. The inputs are made from a fixed seed outside the timed
part. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from headgate.domain import Domain, DomainBuilder, TupleDomain, decode_json, encode_json, value_type
from headgate.filters import DynamicFilter, FilterMerger
from headgate.prune import ColumnBounds, survivors

ROUNDS = 9
WARM_UP = 2
BIGINT = value_type("bigint")


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: a time in seconds or a size in bytes, and the most it may be."""

    what: str
    measured: float
    bar: float
    shown: Callable[[float], str]

    @property
    def is_met(self) -> bool:
        """Whether the measured value is within the bar."""
        return self.measured <= self.bar


def as_time(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def as_size(size: float) -> str:
    """Return a size in thousands of bytes."""
    return f"{size / 1000:.1f} KB"


def timed(work: Callable[[], object]) -> float:
    """Return the median seconds of one call."""
    seconds = []
    for _ in range(WARM_UP + ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return median(seconds[WARM_UP:])


def json_of_a_set(random: np.random.Generator) -> Iterator[Result]:
    """Size, encoding and decoding of the JSON of 10,000 ids."""
    ids = random.choice(10_000_000, 10_000, replace=False)
    domain = TupleDomain({"id": Domain.of_array("bigint", ids)})
    data = encode_json(domain)
    assert decode_json(data) == domain
    yield Result("JSON of 10,000 ids below 10M: size", len(data), 80_000, as_size)
    yield Result("  encode", timed(lambda: encode_json(domain)), 5e-3, as_time)
    yield Result("  decode", timed(lambda: decode_json(data)), 5e-3, as_time)


def merging(random: np.random.Generator) -> Iterator[Result]:
    """One filter from the reports of 100 partitions."""
    columns = [random.choice(10_000_000, 10_000, replace=False) for _ in range(100)]
    parts = [TupleDomain({"id": Domain.of_array("bigint", column)}) for column in columns]

    def merge() -> TupleDomain:
        target = DynamicFilter("bench", ["id"])
        merger = FilterMerger(target, expected=len(parts))
        for partition, part in enumerate(parts):
            merger.report(partition, part)
        return target.current()

    merged = merge().find("id")
    assert merged is not None
    assert merged.values.contains(np.concatenate(columns)).all()
    yield Result("merge 100 partial domains of 10,000 ids", timed(merge), 100e-3, as_time)


def pruning(random: np.random.Generator) -> Iterator[Result]:
    """Verdicts on 100,000 files, from minima and maxima to the mask."""
    mins = random.integers(0, 10_000_000, 100_000)
    maxs = mins + random.integers(0, 1_000, 100_000)
    ids = random.choice(10_000_000, 10_000, replace=False)
    domain = TupleDomain({"id": Domain.of_array("bigint", ids)})

    def prune() -> np.ndarray:
        return survivors(domain, {"id": ColumnBounds.of(BIGINT, mins, maxs)})

    ordered = np.sort(ids)
    assert (prune() == (np.searchsorted(ordered, mins) < np.searchsorted(ordered, maxs, "right"))).all()
    yield Result("prune 100,000 files with 10,000 ids", timed(prune), 20e-3, as_time)


def building(random: np.random.Generator) -> Iterator[Result]:
    """An exact set from a long column with many repeats."""
    ids = random.choice(10_000_000, 10_000, replace=False)
    column = ids[random.integers(0, len(ids), 10_000_000)]

    def build() -> Domain:
        builder = DomainBuilder("bigint")
        builder.add(column)
        return builder.build()

    assert build() == Domain.of_array("bigint", ids)
    yield Result("build from 10M values, 10,000 distinct", timed(build), 1.0, as_time)


def bitmap(random: np.random.Generator) -> Iterator[Result]:
    """Size of a large bitmap, and the cost of asking it about one batch of rows."""
    ids = random.choice(1_100_000, 1_000_000, replace=False)
    domain = Domain.bitmap("bigint", ids)
    asked = random.integers(0, 2_000_000, 1_024)
    assert (domain.values.contains(asked) == np.isin(asked, ids)).all()
    yield Result("bitmap of 1M of the ids below 1.1M: size", domain.nbytes, 140_000, as_size)
    yield Result("  1,024 membership tests", timed(lambda: domain.values.contains(asked)), 100e-6, as_time)


SUBJECTS = (json_of_a_set, merging, pruning, building, bitmap)


def main() -> int:
    """Measure everything, print the table, and return 1 when a bar is missed."""
    table = Table(title=f"Domains: median of {ROUNDS} rounds")
    table.add_column("what")
    for column in ("measured", "bar", "met"):
        table.add_column(column, justify="right", no_wrap=True)
    results = [result for subject in SUBJECTS for result in subject(np.random.default_rng(seed=1))]
    for result in results:
        verdict = "[green]yes[/]" if result.is_met else "[red]no[/]"
        table.add_row(result.what, result.shown(result.measured), f"≤ {result.shown(result.bar)}", verdict)
    Console().print(table)
    return 0 if all(result.is_met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
