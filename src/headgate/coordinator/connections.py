"""Watch open connections: count them, report when one closes, and abort those that are too slow.

uvicorn limits how long a connection may be idle between requests, but not how long the head of a request may be, how
long a client may take to send it, or to read a response. This adds the limits, in the methods that asyncio calls on
every protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def _answer(status: bytes, sentence: bytes) -> bytes:
    body = b'{"error":"%s"}' % sentence
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


_TIMED_OUT = _answer(b"408 Request Timeout", b"the head of the request took too long to arrive; send it at once")
_TOO_LARGE = _answer(b"431 Request Header Fields Too Large", b"the head of the request is too large")


class Connections:
    """The open connections of one server, by client address. Used only on the loop's thread."""

    def __init__(self, head_seconds: float, write_seconds: float, head_bytes: int) -> None:
        self.head_seconds, self.write_seconds, self.head_bytes = head_seconds, write_seconds, head_bytes
        self._open: dict[Any, _WatchedProtocol] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: _WatchedProtocol) -> None:
        """Add a new connection."""
        self._open[connection.client] = connection

    def closed(self, connection: _WatchedProtocol) -> None:
        """Remove a closed connection, and make its ``on_close`` call."""
        self._open.pop(connection.client, None)
        if connection.on_close is not None:
            connection.on_close()

    def on_close(self, client: Any, call: Callable[[], None] | None) -> None:
        """Set what to call when this client disconnects, replacing the earlier call."""
        if (connection := self._open.get(client)) is not None:
            connection.on_close = call
        elif call is not None:
            call()

    def abort_all(self) -> None:
        """Abort all connections, dropping unsent data."""
        for connection in list(self._open.values()):
            connection.transport.abort()

    def protocol(self) -> type[HttpToolsProtocol]:
        """Return uvicorn's protocol, watched by this object."""
        connections = self

        class Watched(_WatchedProtocol):
            watched_by = connections

        return Watched


class _WatchedProtocol(HttpToolsProtocol):
    """One connection: registered while open, aborted if a request does not arrive or a response is not read."""

    watched_by: Connections
    on_close: Callable[[], None] | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _JoinedWrites(transport, self.loop)))
        self.watched_by.opened(self)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, whatever its annotation says
        if cycle is not None and not cycle.response_complete:
            _cancel(self._head_timer)
            self._head_timer = None
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > self.watched_by.head_bytes:
            self._refuse(_TOO_LARGE)
        elif self._head_timer is None:
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.watched_by.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._write_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head_timer)
        _cancel(self._write_timer)
        super().connection_lost(exc)
        self.watched_by.closed(self)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.watched_by.head_seconds, self._give_up)

    def _give_up(self) -> None:
        self._refuse(_TIMED_OUT)

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


class _JoinedWrites:
    """A transport that delays the head of a response until its body is written: one packet, and one client wake-up.

    uvicorn writes the two separately, which doubles the work of both sides for small responses to thousands of clients.
    """

    __slots__ = ("_head", "_loop", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._head = transport, loop, b""
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.endswith(b"\r\n\r\n"):
            self._head = data
            self._loop.call_soon(self.flush)  # a response to HEAD has no body
            return
        self._transport.write(data)

    def flush(self) -> None:
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
