"""Measure the coordinator against its bars: `python -m bench.coordinator`.

The clients are a process of their own, on raw sockets, so that what is measured is the server. Times are taken on one
clock (CLOCK_MONOTONIC is the same in every process): from the call that publishes to the last byte of the answer being
read. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headgate.coordinator import Coordinator
from headgate.domain import Domain, TupleDomain

ROUNDS = 20
FUZZ_BATCH = 200


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: what was measured, in which unit, and the most it may be."""

    what: str
    measured: float
    bar: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether the measured value is within the bar."""
        return self.measured <= self.bar

    def row(self) -> tuple[str, str, str, str]:
        """Return the cells of its line."""
        verdict = "[green]yes[/]" if self.is_met else "[red]no[/]"
        return self.what, f"{self.measured:.1f} {self.unit}", f"≤ {self.bar:g} {self.unit}", verdict


# --- the clients, in a process of their own -----------------------------------------------------------------------


class Poller(asyncio.Protocol):
    """One executor: asks, waits, notes when the answer had come, and asks again from its version."""

    def __init__(self, query: str, head: bytes, heard: Callable[[float], None]) -> None:
        self._query, self._head, self._heard = query, head, heard
        self._version, self._buffer = 0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the next long-poll."""
        request = b"GET /v1/query/%s/dynamicfilters HTTP/1.1\r\nX-Headgate-Current-Version: %d\r\n%s\r\n"
        self._transport.write(request % (self._query.encode(), self._version, self._head))  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Take the answer when all of it is there."""
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if len(body) < int(fields[b"content-length"]):
            return
        at = time.monotonic()
        self._buffer, self._version = b"", int(fields[b"x-headgate-current-version"])
        self._heard(at)


async def poll(host: str, port: int, token: str, queries: int, pollers: int) -> None:
    """Open the long-polls; for each line on stdin, print when each poller of that round had its answer."""
    loop = asyncio.get_running_loop()
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\nX-Headgate-Max-Wait: 60s\r\n".encode()
    heard: list[float] = []
    protocols: list[Poller] = []
    for number in range(pollers):
        _, made = await loop.create_connection(
            lambda number=number: Poller(f"q{number % queries}", head, heard.append),  # type: ignore[misc]
            host,
            port,
        )
        protocols.append(made)
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        while len(heard) < int(line):
            await asyncio.sleep(0.001)
        print(json.dumps(heard), flush=True)
        heard.clear()
        for made in protocols:
            made.ask()


# --- what is measured ---------------------------------------------------------------------------------------------


def latencies(pollers: int, queries: int, rounds: int) -> list[list[float]]:
    """Publish once to each query in each round; return the seconds until each poller knew, by round."""
    with Coordinator() as coordinator:
        for number in range(queries):
            coordinator.registry.register(f"q{number}")
        host, _, port = coordinator.url.removeprefix("http://").partition(":")
        asked = [host, port, coordinator.token, str(queries), str(pollers)]
        command = [sys.executable, "-m", "bench.coordinator", "--poll", *asked]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
            assert clients.stdin is not None
            assert clients.stdout is not None
            assert clients.stdout.readline() == "ready\n"
            measured = []
            for turn in range(rounds):
                until(lambda: coordinator.long_polls == pollers)
                measured.append(one_round(coordinator, clients, pollers, queries, turn))
            clients.stdin.close()
    return measured


def one_round(
    coordinator: Coordinator, clients: subprocess.Popen[str], pollers: int, queries: int, turn: int
) -> list[float]:
    """Publish to one query after the other; each waits until the pollers of the one before are back."""
    assert clients.stdin is not None
    assert clients.stdout is not None
    values = np.arange(100) + turn
    domain = TupleDomain({"k": Domain.of_array("bigint", values)})
    seconds = []
    share = pollers // queries
    for number in range(queries):
        coordinator.registry.add_filter(f"q{number}", f"df_{turn}", ["k"])
        start = time.monotonic()
        coordinator.registry.publish(f"q{number}", f"df_{turn}", domain)
        clients.stdin.write(f"{share}\n")
        clients.stdin.flush()
        seconds += [at - start for at in json.loads(clients.stdout.readline())]
    return seconds


def until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    while not condition():
        time.sleep(0.001)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--poll"]:
        host, port, token, queries, pollers = sys.argv[2:]
        asyncio.run(poll(host, int(port), token, int(queries), int(pollers)))
    else:
        n=int(sys.argv[1])
        rs=latencies(n,1,5)
        for r in rs: print([round(float(x)*1000,1) for x in np.percentile(r,[0,50,99,100])])
