"""Read only the files of a folder that can hold matching rows, and check that no row was lost.

A folder of sales, 64 Parquet files in order of day, is to be joined with a small table of promotion days. The days seen
in the small table become a domain; the footers say which days each file can hold; files that hold none of them are not
opened. Then everything is read as well, and the two answers are compared.
"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from headgate.domain import Domain, DomainBuilder, describe, value_type
from headgate.prune import ColumnBounds, survivors_of_column

FILES = 64
ROWS_PER_FILE = 50_000
DAYS_PER_FILE = 12
FIRST_DAY = dt.date(2024, 1, 1)


def main() -> int:
    """Make the folder, prune it, read it both ways and print the comparison."""
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sales(folder)
        files = sorted(folder.glob("*.parquet"))
        promotions = promotion_days()

        builder = DomainBuilder("date")
        builder.add(promotions)
        domain = builder.build()
        keep = survivors_of_column(domain, footer_bounds(files, "day"))
        kept = [file for file, is_kept in zip(files, keep, strict=True) if is_kept]

        read_matching(files, promotions)  # once untimed, so that neither timed read pays for being the first
        everything, slow = read_matching(files, promotions)
        pruned, fast = read_matching(kept, promotions)
        same = everything.equals(pruned)
        console.print(comparison(domain, files, kept, (slow, fast)))
        console.print(
            f"{everything.num_rows:,} matching rows; same rows from the pruned read: {'yes' if same else 'NO'}"
        )
    return 0 if same else 1


def write_sales(folder: Path) -> None:
    """Write the sales, some days to a file."""
    random = np.random.default_rng(seed=1)
    epoch_day = (FIRST_DAY - dt.date(1970, 1, 1)).days
    for i in range(FILES):
        days = epoch_day + i * DAYS_PER_FILE + np.sort(random.integers(0, DAYS_PER_FILE, ROWS_PER_FILE))
        sales = pa.table(
            {
                "day": pa.array(days.astype(np.int32)).cast(pa.date32()),
                "item": random.integers(0, 100_000, ROWS_PER_FILE),
                "amount": random.gamma(2.0, 20.0, ROWS_PER_FILE).round(2),
            }
        )
        pq.write_table(sales, folder / f"sales-{i:02}.parquet")


def promotion_days() -> pa.Array:
    """Return the days of the small table: three promotions of a week."""
    starts = [FIRST_DAY + dt.timedelta(days=offset) for offset in (45, 320, 600)]
    return pa.array([start + dt.timedelta(days=day) for start in starts for day in range(7)])


def footer_bounds(files: list[Path], column: str) -> ColumnBounds:
    """Return what the footers say of one column, a file at a time."""
    mins, maxs, nulls, rows = [], [], [], []
    for file in files:
        footer = pq.read_metadata(file)
        index = footer.schema.to_arrow_schema().get_field_index(column)
        found = [footer.row_group(i).column(index).statistics for i in range(footer.num_row_groups)]
        bounded = all(group is not None and group.has_min_max for group in found)
        counted = all(group is not None and group.has_null_count for group in found)
        mins.append(min(group.min for group in found) if bounded else None)
        maxs.append(max(group.max for group in found) if bounded else None)
        nulls.append(sum(group.null_count for group in found) if counted else None)
        rows.append(footer.num_rows)
    return ColumnBounds.of(value_type("date"), mins, maxs, nulls, rows)


def read_matching(files: list[Path], days: pa.Array) -> tuple[pa.Table, float]:
    """Read whole files, keep the rows of these days, and say how many seconds that took."""
    start = time.perf_counter()
    read = [pq.read_table(file) for file in files]
    matching = pa.concat_tables(table.filter(pc.is_in(table["day"], value_set=days)) for table in read)
    return matching.combine_chunks(), time.perf_counter() - start


def comparison(domain: Domain, files: list[Path], kept: list[Path], seconds: tuple[float, float]) -> Table:
    """Return the table of what was there and what was read."""
    table = Table(title=f"sales joined on day, {describe(domain)}")
    table.add_column("", min_width=12)
    for column in ("everything", "pruned"):
        table.add_column(column, justify="right", min_width=12)
    sizes = [sum(file.stat().st_size for file in chosen) for chosen in (files, kept)]
    table.add_row("files read", f"{len(files)}", f"{len(kept)}")
    table.add_row("bytes read", f"{sizes[0]:,}", f"{sizes[1]:,}")
    table.add_row("time", *(f"{1000 * spent:.0f} ms" for spent in seconds))
    return table


if __name__ == "__main__":
    sys.exit(main())
