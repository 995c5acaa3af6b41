"""Clients that misbehave: raw sockets, so that a test decides which bytes are sent and read, and when."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

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


def read_answer(made: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer from a connection: its status, headers and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(made)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += _more(made)
    return int(first.split()[1]), headers, body


def read_to_end(made: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := made.recv(1 << 16):
            data += chunk
    return data


def _more(made: socket.socket) -> bytes:
    chunk = made.recv(1 << 16)
    assert chunk, "the server closed the connection"
    return chunk
