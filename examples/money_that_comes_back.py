"""Find money that comes back to its sender within four transfers, and show how little of the table that reads.

    python examples/money_that_comes_back.py [TRANSFERS]      so many transfers; 2,000,000 unless told

Makes its own data in a temporary folder and removes it again. The answer is compared with a search of all transfers.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headgate.graph import Graph, Trace, cluster

TRANSFERS, MOST_TRANSFERS, LARGE = 2_000_000, 4, 900
BAR = 40
Ring = tuple[int, ...]


def make_transfers(home: Path, count: int) -> tuple[pa.Table, int]:
    """Write random transfers between accounts, with some rounds of money hidden among them; return a suspect."""
    random = np.random.default_rng(7)
    accounts = max(count // 20, 50)
    columns = {
        "sender": random.integers(0, accounts, count),
        "receiver": random.integers(0, accounts, count),
        "amount": random.integers(1, 1001, count),
    }
    suspect = accounts // 3
    for length in (2, 3, 4, 4, 5):
        ring = [suspect, *random.choice(accounts, length - 1, replace=False).tolist()]
        for at, (a, b) in enumerate(zip(ring, [*ring[1:], suspect], strict=True)):
            row = int(random.integers(0, count)) if at else int(random.integers(0, count // 2))
            columns["sender"][row], columns["receiver"][row], columns["amount"][row] = a, b, LARGE + 50
    table = pa.table(columns)
    (home / "transfers").mkdir()
    pq.write_table(table, home / "transfers" / "all.parquet")
    return table, suspect


def searched(table: pa.Table, suspect: int) -> set[Ring]:
    """Look for the rings the slow way: in a dictionary of all large transfers."""
    large = table.filter(pc.greater_equal(table["amount"], LARGE))
    after: dict[int, set[int]] = defaultdict(set)
    for a, b in zip(large["sender"].to_pylist(), large["receiver"].to_pylist(), strict=True):
        after[a].add(b)
    paths: list[Ring] = [(suspect,)]
    found: set[Ring] = set()
    for _ in range(MOST_TRANSFERS):
        longer = [(*path, there) for path in paths for there in after[path[-1]]]
        found |= {path[:-1] for path in longer if path[-1] == suspect and len(path) > 2}
        paths = [path for path in longer if path[-1] not in path[:-1]]
    return found


def draw(trace: Trace) -> None:
    """Print what each step read, as a bar of the row groups."""
    for step in trace.steps:
        share = step.row_groups_read / max(step.row_groups_total, 1)
        filled = max(round(BAR * share), int(step.row_groups_read > 0))
        bar = "█" * filled + "·" * (BAR - filled)
        groups = f"{step.row_groups_read} of {step.row_groups_total} row groups"
        published = ", ".join(map(str, step.publications))
        print(f"  {step.what:<14} {published:<30} {bar} {groups}, {step.reached:,} found")


def main() -> int:
    """Make the data, ask for rings of each length, and compare."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else TRANSFERS
    home = Path(tempfile.mkdtemp(prefix="headgate-money-"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    try:
        table, suspect = make_transfers(home, count)
        edges = spark.read.parquet(str(home / "transfers"))
        print(f"{count:,} transfers. {Graph(edges, 'sender', 'receiver').advise()}\n")
        graph = cluster(edges, str(home / "graph"), "sender", "receiver", row_group_bytes=1 << 17, progress=print)
        found: set[Ring] = set()
        for length in range(2, MOST_TRANSFERS + 1):
            rings = graph.rings(suspect, length, where=f"amount >= {LARGE}").collect()
            found |= {tuple(row) for row in rings}
            print(f"\n{len(rings)} rounds of {length} large transfers from account {suspect}:")
            for row in rings[:3]:
                print("  " + " → ".join(map(str, (*row, suspect))))
            draw(graph.last)
        if found != searched(table, suspect):
            print("the search of all transfers finds others")
            return 1
        print(f"\nA search of all transfers finds the same {len(found)} rounds.")
        return 0
    finally:
        spark.stop()
        shutil.rmtree(home)


if __name__ == "__main__":
    sys.exit(main())
