"""Tables for commands, and a way to call commands in this process, where they find Spark running."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.logger import PySparkLogger

from headgate import cli
from tests.cli.commands import Command, Done


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A fact table in ten files, in order of its key, and a dimension."""
    home = tmp_path_factory.mktemp("tables")
    (home / "fact").mkdir()
    for i in range(10):
        table = pa.table({"k": np.arange(i * 1000, (i + 1) * 1000), "v": np.ones(1000)})
        pq.write_table(table, home / "fact" / f"{i}.parquet")
    pq.write_table(pa.table({"id": np.arange(0, 10_000, 10), "flag": np.arange(1000) // 100}), home / "dim.parquet")
    return ["--table", f"fact={home / 'fact'}", "--table", f"dim={home / 'dim.parquet'}"]


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process."""
    monkeypatch.setattr(PySparkLogger.getLogger("SQLQueryContextLogger"), "level", logging.NOTSET)

    def call(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        told = capfd.readouterr()
        return Done(int(ended.value.code or 0), told.out, told.err)

    return call
