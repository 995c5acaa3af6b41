"""Make benchmark tables once and keep them: TPC-H and TPC-DS, in plain order, clustered by date or partitioned by date.

Tables lie in ``<home>/<suite>-<scale>-<layout>/<table>/``; a folder that is complete holds a file ``done``.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headgate.errors import BadInput

DEFAULT_HOME = Path(".bench")
LAYOUTS = ("plain", "clustered", "partitioned")
SUITES = ("tpch", "tpcds")
FACTS = {
    "tpcds": {
        "store_sales": "ss_sold_date_sk",
        "catalog_sales": "cs_sold_date_sk",
        "web_sales": "ws_sold_date_sk",
        "store_returns": "sr_returned_date_sk",
        "catalog_returns": "cr_returned_date_sk",
        "web_returns": "wr_returned_date_sk",
        "inventory": "inv_date_sk",
    },
    "tpch": {"lineitem": "l_shipdate", "orders": "o_orderdate"},
}
FILES = 64
SMALL = 0.1  # below this scale 64 files, or a partition for each day, would hold a few rows each
SMALL_FILES = 8
ROW_GROUP = 122_880
Tell = Callable[[str], None]


def connect(*extensions: str, database: Path | None = None) -> Any:
    """Return a DuckDB connection with the generators that are installed as Python packages."""
    if (found := find_spec("duckdb")) is None:
        raise BadInput("the benchmark needs DuckDB for its data; install it with: pip install 'headgate[bench]'")
    del found
    import duckdb

    connection = duckdb.connect(str(database) if database else ":memory:")
    connection.execute("SET enable_progress_bar = false")
    for name in extensions:
        spec = find_spec(f"duckdb_extension_{name}")
        if spec is None or not spec.submodule_search_locations:
            raise BadInput(f"the benchmark needs the package duckdb-extension-{name}: pip install 'headgate[bench]'")
        path = next(Path(spec.submodule_search_locations[0]).rglob(f"{name}.duckdb_extension"))
        connection.execute(f"LOAD '{path}'")
    return connection


def tables(suite: str, scale: float, layout: str, home: Path = DEFAULT_HOME, tell: Tell = print) -> Path:
    """Return the folder of a suite's tables at a scale in a layout, making it if it is not there."""
    if suite not in SUITES or layout not in LAYOUTS:
        raise BadInput(f"{suite} {layout}: the suites are {', '.join(SUITES)}, the layouts {', '.join(LAYOUTS)}")
    folder = home.resolve() / f"{suite}-{scale:g}-{layout}"
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    connection = _generated(suite, scale, home.resolve(), tell)
    names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    for name in names:
        tell(f"writing {name} ({layout})")
        _write(connection, name, folder / name, layout, FACTS[suite].get(name), small=scale < SMALL)
    connection.close()
    (folder / "done").touch()
    return folder


def _generated(suite: str, scale: float, home: Path, tell: Tell) -> Any:
    database = home / f"{suite}-{scale:g}.duckdb"
    connection = connect(*(["tpcds"] if suite == "tpcds" else []), database=database)
    connection.execute("SET memory_limit = '10GB'")
    if not connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchall():
        tell(f"generating {suite} at scale {scale:g}")
        if suite == "tpcds":
            connection.execute(f"CALL dsdgen(sf = {scale:g})")
        else:
            _tpch(connection, scale, home)
    return connection


def _tpch(connection: Any, scale: float, home: Path) -> None:
    raw = home / f"tpch-{scale:g}-raw"
    raw.mkdir(parents=True, exist_ok=True)
    program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    if not program.exists():
        raise BadInput("the benchmark needs the package tpchgen-cli: pip install 'headgate[bench]'")
    command = [str(program), "parquet", "-s", f"{scale:g}", "-o", str(raw), "--overwrite", "--quiet", "--no-progress"]
    subprocess.run(command, check=True, capture_output=True)
    for path in sorted(raw.glob("*.parquet")):
        connection.execute(f"CREATE TABLE {path.stem} AS SELECT * FROM '{path}'")
    shutil.rmtree(raw)


def _write(connection: Any, name: str, folder: Path, layout: str, date: str | None, *, small: bool) -> None:
    folder.mkdir()
    options = f"FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROW_GROUP}"
    if date is None:
        connection.execute(f"COPY {name} TO '{folder}/part-000.parquet' ({options})")
    elif layout == "partitioned":
        source = f"SELECT * FROM ({_by_month(name, date) if small else f'FROM {name}'}) ORDER BY {date}"
        connection.execute(f"COPY ({source}) TO '{folder}' ({options}, PARTITION_BY ({date}), OVERWRITE_OR_IGNORE)")
    else:
        order = f"ORDER BY {date} NULLS FIRST" if layout == "clustered" else ""
        _write_files(connection, name, folder, options, order, SMALL_FILES if small else FILES)


def _by_month(name: str, date: str) -> str:
    """Set each date to the first of its month: a small table then has tens of partitions, not thousands."""
    if not date.endswith("_sk"):
        return f"SELECT * REPLACE (date_trunc('month', {date})::DATE AS {date}) FROM {name}"
    day = f"LEFT JOIN (SELECT d_date_sk, d_dom FROM date_dim) ON {date} = d_date_sk"
    return f"SELECT * EXCLUDE (d_date_sk, d_dom) REPLACE ({date} - d_dom + 1 AS {date}) FROM {name} {day}"


def _write_files(connection: Any, name: str, folder: Path, options: str, order: str, files: int) -> None:
    connection.execute(f"CREATE OR REPLACE TEMP TABLE laid_out AS SELECT * FROM {name} {order}")
    (count,) = connection.execute("SELECT count(*) FROM laid_out").fetchone()
    step = max(1, -(-count // files))
    for number, start in enumerate(range(0, count, step)):
        chosen = f"SELECT * FROM laid_out WHERE rowid >= {start} AND rowid < {start + step}"
        connection.execute(f"COPY ({chosen}) TO '{folder}/part-{number:03}.parquet' ({options})")
    connection.execute("DROP TABLE laid_out")
