"""PostgreSQL as the large side of a join: what its server logged has the ranges, and fewer rows are fetched."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tests.batch.differential import compare

ROWS = int(os.environ.get("HEADGATE_POSTGRES_ROWS", "200000"))


@dataclass(frozen=True)
class Server:
    """A server of its own for these tests."""

    url: str
    log: Path

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.read.jdbc(self.url, "fact", properties={"driver": "org.postgresql.Driver", "user": "postgres"})

    def asked(self) -> list[str]:
        """Return the questions about the table that the server logged, oldest first."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if "SELECT" in line and "fact" in line and "1=0" not in line]


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a free port of loopback, with one table."""
    if (programs := _programs()) is None:
        pytest.skip("PostgreSQL is not installed (on Debian: apt-get install postgresql)")
    home = tmp_path_factory.mktemp("postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home.chmod(0o777)
    for folder in home.parents:
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)

    def run(program: str, *words: str) -> None:
        as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*as_user, str(programs / program), *words], check=True, capture_output=True, cwd=home)

    data, log = home / "data", home / "server.log"
    if os.getuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user called postgres")
    run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust")
    options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c log_statement=all -c fsync=off"
    run("pg_ctl", "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
    try:
        make = f"CREATE TABLE fact AS SELECT i::bigint AS k, (i % 7)::int AS v FROM generate_series(0, {ROWS - 1}) i"
        run("psql", "-h", str(home), "-p", str(port), "-U", "postgres", "-c", make, "-c", "CREATE INDEX ON fact (k)")
        yield Server(f"jdbc:postgresql://127.0.0.1:{port}/postgres", log)
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(data, ignore_errors=True)


def test_the_server_is_told_the_ranges(spark: SparkSession, server: Server) -> None:
    dim = spark.range(100).selectExpr("id * 3 + 1000 AS key")
    report = compare(spark, lambda: server.read(spark).join(dim, col("k") == col("key")), strategy="always").report
    asked = server.asked()[-1]
    assert '"k" >= 1000' in asked, asked
    assert '"k" <= ' in asked
    (scan,) = [scan for scan in report.scans if scan.filters]
    assert scan.rows_read is not None
    assert scan.rows_read <= 300, str(report)
