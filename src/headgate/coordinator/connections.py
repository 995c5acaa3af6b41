"""Keep count of open connections, and cut off those that are too slow to be served.

uvicorn limits how long a connection may be idle between requests, not how long a client may take to send the head of
one or to read an answer. This adds both.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TOO_SLOW = b'{"error":"the head of the request took too long to arrive; send it in one go"}'
_TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TOO_SLOW), _TOO_SLOW)
)


class Connections:
    """The open connections of one server, by the address of the client. Belongs to the loop's thread."""

    def __init__(self, head_seconds: float) -> None:
        self.head_seconds = head_seconds
        self._open: dict[Any, asyncio.Transport] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, client: Any, transport: asyncio.Transport) -> None:
        """Note a new connection."""
        self._open[client] = transport

    def closed(self, client: Any) -> None:
        """Note that a connection has gone."""
        self._open.pop(client, None)

    def abort(self, client: Any) -> None:
        """Cut a client off, with what it has not read yet."""
        if (transport := self._open.get(client)) is not None:
            transport.abort()

    def abort_all(self) -> None:
        """Cut everyone off."""
        for transport in list(self._open.values()):
            transport.abort()

    def protocol(self) -> type[HttpToolsProtocol]:
        """Return uvicorn's protocol, with these connections watched."""
        connections = self

        class Watched(_WatchedProtocol):
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                self._watched_by = connections

        return Watched


class _WatchedProtocol(HttpToolsProtocol):
    """One connection: known while it is open, and closed when the head of a request does not come."""

    _watched_by: Connections
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watched_by.opened(self.client, transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, whatever its annotation says
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
        elif self._patience is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._watched_by.closed(self.client)
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._patience = self.loop.call_later(self._watched_by.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TIMED_OUT)
            self.transport.close()
