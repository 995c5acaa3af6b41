"""A Spark Connect server in a process of its own, from the PySpark that is installed, with executors of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.spark_home import spark_home

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(folder: Path, **settings: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server, and yield its address and its process; it is killed at the end."""
    home, port = spark_home(folder / "home"), _free_port()
    given = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    } | settings
    confs = [word for key, value in given.items() for word in ("--conf", f"{key}={value}")]
    master = ["--master", "local-cluster[1,2,1024]", "--driver-memory", "1g"]
    command = [str(home / "bin" / "spark-submit"), "--class", _CLASS, *master, *confs, "spark-internal"]
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
        )
    try:
        _wait(port, server, folder / "server.log")
        yield f"sc://127.0.0.1:{port}", server
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server listens; there is no event of another process to wait for."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the Connect server did not start: {log.read_text()[-2000:]}")
