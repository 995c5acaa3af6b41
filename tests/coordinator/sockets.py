"""Clients that misbehave: raw sockets, so that a test decides which bytes are sent and read, and when."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import BinaryIO

from headgate.coordinator import Coordinator
from tests.filters.threads import PATIENCE


@contextlib.contextmanager
def connected(coordinator: Coordinator, buffer: int | None = None) -> Iterator[socket.socket]:
    host, _, port = coordinator.url.removeprefix("http://").partition(":")
    with socket.socket() as made:
        if buffer is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.settimeout(PATIENCE)
        made.connect((host, int(port)))
        yield made


def request(coordinator: Coordinator, method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {coordinator.token}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def poll(coordinator: Coordinator, query: str, version: int = 0, wait: str = "60s") -> bytes:
    headers = f"X-Headgate-Current-Version: {version}", f"X-Headgate-Max-Wait: {wait}"
    return request(coordinator, "GET", f"/v1/query/{query}/dynamicfilters", *headers)


def read_answer(source: socket.socket | BinaryIO) -> tuple[int, dict[str, str], bytes]:
    """Read one answer from a connection: its status, headers and body. Of several in a row, give its file."""
    answers = source.makefile("rb", buffering=0) if isinstance(source, socket.socket) else source
    first = answers.readline()
    assert first, "the server closed the connection"
    headers = {}
    while line := answers.readline().strip():
        name, _, value = line.decode().partition(": ")
        headers[name.lower()] = value
    body, length = b"", int(headers.get("content-length", "0"))
    while len(body) < length and (more := answers.read(length - len(body))):
        body += more
    assert len(body) == length, "the server closed the connection"
    return int(first.split()[1]), headers, body


def read_to_end(made: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := made.recv(1 << 16):
            data += chunk
    return data
