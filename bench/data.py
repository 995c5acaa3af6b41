"""Make benchmark tables once and keep them: TPC-DS by DuckDB, laid out in plain order or clustered by date.

Tables lie in ``.bench/<suite>-<scale>-<layout>/<table>/``; a folder that is complete holds a file ``done``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import duckdb

HOME = Path(__file__).parent.parent / ".bench"
FACTS = {
    "store_sales": "ss_sold_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "web_sales": "ws_sold_date_sk",
    "store_returns": "sr_returned_date_sk",
    "catalog_returns": "cr_returned_date_sk",
    "web_returns": "wr_returned_date_sk",
    "inventory": "inv_date_sk",
}
FILES = 64
ROW_GROUP = 122_880


def connect(database: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection that has the TPC-DS generator."""
    connection = duckdb.connect(str(database) if database else ":memory:")
    spec = find_spec("duckdb_extension_tpcds")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the TPC-DS generator is missing: pip install 'duckdb-extension-tpcds==1.5.5'")
    extension = next(Path(spec.submodule_search_locations[0]).rglob("tpcds.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    return connection


def tpcds(scale: float, layout: str = "clustered", tell: Callable[[str], None] = print) -> Path:
    """Return the folder of the TPC-DS tables at a scale in a layout, making it if it is not there."""
    folder = HOME / f"tpcds-{scale:g}-{layout}"
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    database = HOME / f"tpcds-{scale:g}.duckdb"
    connection = connect(database)
    connection.execute("SET memory_limit = '10GB'")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET preserve_insertion_order = true")
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'web_site'").fetchall():
        tell(f"generating TPC-DS at scale {scale:g}")
        connection.execute(f"CALL dsdgen(sf = {scale:g})")
    names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    for name in names:
        tell(f"writing {name} ({layout})")
        _write(connection, name, folder / name, layout)
    connection.close()
    (folder / "done").touch()
    return folder


def _write(connection: duckdb.DuckDBPyConnection, name: str, folder: Path, layout: str) -> None:
    folder.mkdir()
    options = f"FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROW_GROUP}"
    date = FACTS.get(name)
    if date is None:
        connection.execute(f"COPY {name} TO '{folder}/part-000.parquet' ({options})")
        return
    if layout == "partitioned":
        source = f"SELECT * FROM {name} ORDER BY {date}"
        connection.execute(f"COPY ({source}) TO '{folder}' ({options}, PARTITION_BY ({date}), OVERWRITE_OR_IGNORE)")
        return
    order = f"ORDER BY {date} NULLS FIRST" if layout == "clustered" else ""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE laid_out AS SELECT * FROM {name} {order}")
    (count,) = connection.execute("SELECT count(*) FROM laid_out").fetchone() or (0,)
    step = max(1, -(-count // FILES))
    for number, start in enumerate(range(0, count, step)):
        chosen = f"SELECT * FROM laid_out WHERE rowid >= {start} AND rowid < {start + step}"
        connection.execute(f"COPY ({chosen}) TO '{folder}/part-{number:03}.parquet' ({options})")
    connection.execute("DROP TABLE laid_out")
