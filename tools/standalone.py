"""Start a Spark cluster on this machine, a master and its workers: `python tools/standalone.py`.

Spark is the one that pip installed. All ports are free ones, and all files lie in one folder, which goes with the
cluster. It prints the master's address when all workers are registered there, and stops everything at Ctrl+C or
SIGTERM. Tests use `Standalone` as a context manager.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark

SPARK = Path(pyspark.__file__).parent
PATIENCE = 120.0  # seconds until a process that does not come up is given up
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_ADDRESS = re.compile(r"Starting Spark master at (spark://\S+)")
_PAGE = re.compile(r"Successfully started service 'MasterUI' on port (\d+)")


class NoCluster(Exception):
    """The cluster did not come up; the message has the end of the log that says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker runs: its address, and the command that takes it there, such as ``ip netns exec <name>``."""

    host: str = "127.0.0.1"
    command: tuple[str, ...] = ()


class Daemon:
    """A master or a worker. It leads a group of processes, so its executors go with it."""

    def __init__(self, home: Path, host: str, command: Sequence[str]) -> None:
        home.mkdir(parents=True)
        self._is_gone = False
        self._log = home / "log"
        # the Python of executors is to find nothing that happens to be in reach of this process
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "256m"}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """The number of its process, and of its group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """Return what it has said so far."""
        return self._log.read_text(errors="replace")

    def wait(self) -> int:
        """Wait until it ends by itself, and return how."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill it and its executors at once, as if their machine were gone."""
        if not self._is_gone:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self._is_gone = True  # another process may get its number

    def stop(self) -> None:
        """Ask it to end, then see to it that its whole group has."""
        if self.is_running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        self.kill()


class Standalone:
    """A master and its workers, while the context lasts.

    >>> with Standalone(workers=[Place(), Place()]) as cluster:  # doctest: +SKIP
    ...     SparkSession.builder.master(cluster.url)
    """

    def __init__(
        self,
        workers: Sequence[Place] = (Place(), Place()),
        *,
        host: str = "127.0.0.1",
        cores: int = 1,
        memory: str = "1g",
        home: Path | None = None,
    ) -> None:
        self._places, self._host, self._cores, self._memory = workers, host, cores, memory
        self._is_own = home is None
        self._home = home
        self._page = 0
        self.url = ""
        self.master: Daemon | None = None
        self.workers: list[Daemon] = []

    def __enter__(self) -> Standalone:
        try:
            return self._start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> Standalone:
        self._home = Path(tempfile.mkdtemp(prefix="standalone-")) if self._home is None else self._home
        options = ["--host", self._host, "--port", "0", "--webui-port", "0"]
        master = self.master = Daemon(self._home / "master", self._host, [*_spark_class(), MASTER, *options])
        self.url = self._said(master, _ADDRESS)
        self._page = int(self._said(master, _PAGE))
        for number, place in enumerate(self._places):
            self.workers.append(self._worker(self._home / f"worker-{number}", place))
        self._await(lambda: self.registered() == len(self.workers), [master, *self.workers])
        return self

    def _worker(self, home: Path, place: Place) -> Daemon:
        options = ["--host", place.host, "--port", "0", "--webui-port", "0", "--work-dir", str(home / "work")]
        size = ["--cores", str(self._cores), "--memory", self._memory]
        return Daemon(home, place.host, [*place.command, *_spark_class(), WORKER, *options, *size, self.url])

    def registered(self) -> int:
        """Ask the master how many workers are registered and alive."""
        return sum(worker["state"] == "ALIVE" for worker in self.state()["workers"])

    def state(self) -> dict[str, Any]:
        """Return what the master tells of itself on its page: workers, applications, cores."""
        connection = http.client.HTTPConnection(self._host, self._page, timeout=PATIENCE)
        try:
            connection.request("GET", "/json/")
            told: dict[str, Any] = json.loads(connection.getresponse().read())
        except ConnectionError:  # the page has its port a moment before it answers there
            return {"workers": []}
        finally:
            connection.close()
        return told

    def stop(self) -> None:
        """End all processes, workers first, and remove the folder if nobody named it."""
        for daemon in [*self.workers, *([self.master] if self.master else [])]:
            daemon.stop()
        if self._is_own and self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)

    def _said(self, daemon: Daemon, pattern: re.Pattern[str]) -> str:
        self._await(lambda: pattern.search(daemon.log()) is not None, [daemon])
        found = pattern.search(daemon.log())
        assert found is not None
        return found[1]

    def _await(self, is_ready: Callable[[], bool], needed: Sequence[Daemon]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_ready():
            ended = [daemon for daemon in needed if not daemon.is_running]
            if ended or time.monotonic() > end:
                last = (ended or needed)[-1]
                raise NoCluster(f"Spark's cluster did not come up; its log ends with:\n{last.log()[-3000:]}")
            time.sleep(0.05)


def _spark_class() -> list[str]:
    return ["bash", str(SPARK / "bin" / "spark-class")]


def main() -> None:
    """Run a cluster until it is interrupted."""
    parser = argparse.ArgumentParser(description="A Spark standalone cluster on this machine.")
    parser.add_argument("--workers", type=int, default=2, help="how many (default: 2)")
    parser.add_argument("--cores", type=int, default=1, help="of each worker (default: 1)")
    parser.add_argument("--memory", default="1g", help="of each worker (default: 1g)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    places = [Place(wanted.host)] * wanted.workers
    try:
        with Standalone(places, host=wanted.host, cores=wanted.cores, memory=wanted.memory) as cluster:
            print(cluster.url, flush=True)
            assert cluster.master is not None
            cluster.master.wait()
            raise NoCluster(f"the master has ended; its log ends with:\n{cluster.master.log()[-3000:]}")
    except KeyboardInterrupt:
        sys.exit(130)
    except NoCluster as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
