"""Write tables whose layout leaves something to prune: several files, several row groups in each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DAY = dt.date(2024, 1, 1)
HOUR = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

FACT_ROWS, FACT_FILES, FACT_GROUPS = 800, 8, 4
_FACT: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "k": (pa.int32(), lambda i: i),
    "small": (pa.int16(), lambda i: i),
    "big": (pa.int64(), lambda i: i),
    "wide": (pa.int64(), lambda i: i * 10**12 - 5 * 10**13),
    "real": (pa.float32(), lambda i: i / 4),
    "num": (pa.float64(), lambda i: i / 4),
    "price": (pa.decimal128(7, 2), lambda i: Decimal(i) + Decimal("0.25")),
    "huge": (pa.decimal128(30, 3), lambda i: Decimal(i) * 10**20 + Decimal("0.125")),
    "s": (pa.string(), lambda i: f"k{i:04d}"),
    "raw": (pa.binary(), lambda i: b"\xff%04d" % i),
    "day": (pa.date32(), lambda i: DAY + dt.timedelta(days=i)),
    "ts": (pa.timestamp("us", tz="UTC"), lambda i: HOUR + dt.timedelta(hours=i)),
    "ntz": (pa.timestamp("us"), lambda i: (HOUR + dt.timedelta(hours=i)).replace(tzinfo=None)),
    "late": (pa.bool_(), lambda i: i >= 400),
    "spread": (pa.int32(), lambda i: i * 37 % 800),
    "n": (pa.int32(), lambda i: None if 300 <= i < 400 else i),
    "sparse": (pa.int32(), lambda i: None if i % 10 == 0 else i),
}


def write_fact(folder: Path) -> Path:
    """Write 800 rows in 8 files of 4 row groups, clustered by every column but ``spread``.

    ``n`` is NULL in the whole fourth file, ``sparse`` in every tenth row.
    """
    return write_rows(folder, _FACT, range(FACT_ROWS), files=FACT_FILES, groups=FACT_GROUPS)


def write_rows(
    folder: Path,
    columns: dict[str, tuple[pa.DataType, Callable[[int], Any]]],
    rows: Sequence[int],
    *,
    files: int = 1,
    groups: int = 1,
) -> Path:
    """Write a table, each column a function of the row's number, over files and row groups in the order of the rows."""
    table = pa.table({name: pa.array([make(i) for i in rows], kind) for name, (kind, make) in columns.items()})
    return write_table(folder, table, files=files, groups=groups)


def write_table(folder: Path, table: pa.Table, *, files: int = 1, groups: int = 1, **options: Any) -> Path:
    """Write an Arrow table over files and row groups in the order of its rows."""
    folder.mkdir(parents=True, exist_ok=True)
    per_file = -(-len(table) // files) or 1
    for number in range(files):
        part = table.slice(number * per_file, per_file)
        pq.write_table(
            part, folder / f"part-{number:03d}.parquet", row_group_size=-(-per_file // groups) or 1, **options
        )
    return folder
