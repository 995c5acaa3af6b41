"""Run the measurements of tables and print them beside their bars; exit 1 when a bar is missed.

Needs the jars of Delta and Iceberg and a Spark that both know: `make bench-tables` provides them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.results import all_met
from bench.tables import layouts, many_files, merges, stars
from bench.tables.session import start
from headgate.suites.data import DEFAULT_HOME, tables

PARTS = ("stars", "merge", "many-files", "advise")


def main() -> int:
    """Measure the parts that were asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--scale", type=float, default=10.0, help="of TPC-DS")
    arguments.add_argument("--rounds", type=int, default=3)
    chosen = arguments.parse_args()
    home = (DEFAULT_HOME / "tables").resolve()
    home.mkdir(parents=True, exist_ok=True)
    spark = start(home)
    met = True
    if "stars" in chosen.parts:
        parquet = tables("tpcds", chosen.scale, "clustered").resolve()
        stars.make(spark, home, parquet)
        met &= all_met("Star queries", stars.measure(spark, parquet, chosen.rounds))
    if "merge" in chosen.parts:
        merges.make(spark, home)
        met &= all_met("MERGE", merges.measure(spark, chosen.rounds))
    if "many-files" in chosen.parts:
        many_files.make(spark, home)
        met &= all_met("Many files", many_files.measure(spark, chosen.rounds))
    if "advise" in chosen.parts:
        plain = Path(tables("tpcds", chosen.scale, "plain")).resolve()
        met &= all_met("Advice", layouts.measure(spark, home, plain))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
