"""Measure the coordinator against its bars: `python -m bench.coordinator`.

The clients are a process of their own, on raw sockets, so that what is measured is the server. Times are taken on one
clock (CLOCK_MONOTONIC is the same in every process): from the call that publishes to the answer being read. Garbage is
collected before the clock starts, as it would have been in a driver that was idle while its executors waited.
Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table

from headgate.coordinator import Coordinator
from headgate.domain import Domain, TupleDomain, encode_json

ROUNDS = 20
FUZZED = 100_000
FUZZ_BATCH = 200
SPARE_FILES = 200


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
    """One executor: asks, waits, notes when the answer had come; asks again, from its version, when told to."""

    def __init__(self, query: int, head: bytes, heard: list[float]) -> None:
        self._query, self._head, self._heard = query, head, heard
        self._version, self._buffer = 0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = cast(asyncio.Transport, transport)
        self.ask()

    def ask(self) -> None:
        """Send the next long-poll."""
        request = b"GET /v1/query/q%d/dynamicfilters HTTP/1.1\r\nX-Headgate-Current-Version: %d\r\n%s\r\n"
        self._transport.write(request % (self._query, self._version, self._head))

    def data_received(self, data: bytes) -> None:
        """Take the answer when all of it is there."""
        at = time.monotonic()
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found or len(body) < int(_field(head, b"content-length: ")):
            return
        self._buffer, self._version = b"", int(_field(head, b"x-headgate-current-version: "))
        self._heard.append(at)


def _field(head: bytes, name: bytes) -> bytes:
    return head.partition(name)[2].partition(b"\r\n")[0]


async def poll(host: str, port: int, token: str, queries: int, pollers: int) -> None:
    """Open the long-polls. For each "query count" on stdin, print when its pollers had the answer; they ask again."""
    loop = asyncio.get_running_loop()
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\nX-Headgate-Max-Wait: 60s\r\n".encode()
    heard: list[float] = []
    made: list[Poller] = []
    for number in range(pollers):
        poller = Poller(number % queries, head, heard)
        await loop.create_connection(lambda poller=poller: poller, host, port)  # type: ignore[misc]
        made.append(poller)
    gc.collect()
    gc.disable()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        query, expected = map(int, line.split())
        while len(heard) < expected:
            await asyncio.sleep(0.001)
        print(json.dumps(heard), flush=True)
        heard.clear()
        for poller in made[query::queries]:
            poller.ask()


# --- what is measured ---------------------------------------------------------------------------------------------


def latencies(pollers: int, queries: int, publications: int) -> list[float]:
    """Publish to one query after the other; return the seconds until each of its pollers knew, all together."""
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
            seconds = []
            for turn in range(publications):
                until(lambda: coordinator.long_polls == pollers)
                seconds += publish(coordinator, clients, turn, turn % queries, pollers // queries)
            clients.stdin.close()
    return seconds


def publish(
    coordinator: Coordinator, clients: subprocess.Popen[str], turn: int, query: int, pollers: int
) -> list[float]:
    """Publish a filter of a hundred values, and return the seconds until each poller of the query had it."""
    assert clients.stdin is not None
    assert clients.stdout is not None
    domain = TupleDomain({"k": Domain.of_array("bigint", np.arange(100) + turn)})
    coordinator.registry.add_filter(f"q{query}", f"df_{turn}", ["k"])
    gc.collect()
    start = time.monotonic()
    coordinator.registry.publish(f"q{query}", f"df_{turn}", domain)
    clients.stdin.write(f"{query} {pollers}\n")
    clients.stdin.flush()
    return [at - start for at in json.loads(clients.stdout.readline())]


def until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    while not condition():
        time.sleep(0.001)


def p99(seconds: list[float]) -> float:
    """Return the 99th percentile, in milliseconds."""
    return float(np.percentile(seconds, 99)) * 1000


def informing() -> Iterator[Result]:
    """One publication, told to the executors of a query: a usual cluster, and a large one."""
    for pollers in (10, 100):
        measured = p99(latencies(pollers, 1, 5 * ROUNDS))
        yield Result(f"publish to {pollers} executors informed, p99", measured, 50, "ms")


def ten_thousand() -> Iterator[Result]:
    """Ten thousand long-polls at once: of a hundred queries that publish in turn, and all of one query."""
    pollers = 10_000
    allowed = raise_file_limit(2 * pollers + SPARE_FILES)
    if allowed < pollers + SPARE_FILES:
        pollers = allowed - SPARE_FILES
    many = p99(latencies(pollers, 100, 5 * ROUNDS))
    yield Result(f"{pollers:,} long-polls of 100 queries, publish to informed, p99", many, 250, "ms")
    one = p99(latencies(pollers, 1, ROUNDS // 2))
    yield Result(f"{pollers:,} long-polls of one query, publish to informed, p99", one, 250, "ms")


def raise_file_limit(wanted: int) -> int:
    """Allow this process, and its children, as many open files as wanted, or as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(soft, allowed)


def fuzzing() -> Iterator[Result]:
    """A hundred thousand damaged reports: no 5xx, and the memory stays as it was after the first tenth of them."""
    with Coordinator() as coordinator:
        registry = coordinator.registry
        registry.register("q")
        registry.add_filter("q", "df", ["k"], expected=1_000_000)
        errors = asyncio.run(fuzz(coordinator, FUZZED // 10, seed=1))
        gc.collect()
        before = resident_bytes()
        errors += asyncio.run(fuzz(coordinator, FUZZED - FUZZED // 10, seed=2))
        gc.collect()
        grown = max(0, resident_bytes() - before)
    yield Result(f"{FUZZED:,} fuzzed bodies: answers with 5xx", errors, 0, "")
    yield Result("  memory grown meanwhile", grown / 1e6, 10, "MB")


async def fuzz(coordinator: Coordinator, count: int, seed: int) -> int:
    """Send damaged reports, many ahead of their answers; return how many answers were 5xx."""
    chance = random.Random(seed)
    host, _, port = coordinator.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = encode_json(TupleDomain({"k": Domain.of("bigint", [1, 2, 3])}))
    errors = 0
    for _ in range(count // FUZZ_BATCH):
        writer.write(b"".join(damaged(coordinator.token, body, chance) for _ in range(FUZZ_BATCH)))
        for _ in range(FUZZ_BATCH):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(_field(head, b"content-length: ")))
            errors += head.split()[1].startswith(b"5")
    writer.close()
    await writer.wait_closed()
    return errors


def damaged(token: str, body: bytes, chance: random.Random) -> bytes:
    """Return a report of one of a thousand partitions with a few bytes cut, doubled or overwritten."""
    data = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        at, length = chance.randrange(len(data) + 1), chance.randint(1, 8)
        change = chance.randrange(3)
        piece = (b"", bytes(data[at : at + length]) * 2, chance.randbytes(length))[change]
        data[at : at + length] = piece
    head = f"PUT /v1/query/q/dynamicfilters/df/partitions/{chance.randrange(1000)} HTTP/1.1\r\nHost: x\r\n"
    return f"{head}Authorization: Bearer {token}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + bytes(data)


def resident_bytes() -> int:
    """Return the memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


SUBJECTS = (informing, ten_thousand, fuzzing)


def main() -> int:
    """Measure everything, print the table, and return 1 when a bar is missed."""
    table = Table(title="Coordinator")
    table.add_column("what")
    for column in ("measured", "bar", "met"):
        table.add_column(column, justify="right", no_wrap=True)
    results = [result for subject in SUBJECTS for result in subject()]
    for result in results:
        table.add_row(*result.row())
    Console().print(table)
    return 0 if all(result.is_met for result in results) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--poll"]:
        host, port, token, queries, pollers = sys.argv[2:]
        asyncio.run(poll(host, int(port), token, int(queries), int(pollers)))
    else:
        sys.exit(main())
