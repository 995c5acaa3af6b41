"""Serve the protocol from a thread of the driver: start, address, token, close.

`start` opens the listening socket on the caller's thread, so that an unavailable port raises there. Everything else
runs on one event loop in one thread, with a small pool for work that takes long.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import secrets
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from types import TracebackType

import uvicorn

from headgate.config import Settings
from headgate.coordinator.app import Endpoints, ForPeople, make_app
from headgate.coordinator.connections import Connections
from headgate.coordinator.guard import Guard, ServerLimits
from headgate.coordinator.metrics import render_metrics
from headgate.coordinator.polls import Polls
from headgate.coordinator.registry import Registry
from headgate.domain import Limits
from headgate.errors import BadInput, CannotListen

_BACKLOG = 4096
_WHERE = "set spark.headgate.coordinator.host (or spark.driver.host)"
_THREADS = 3
_PATIENCE = 10.0  # seconds for the thread to start or stop


class Coordinator:
    """The coordinator of one session: a registry, and an HTTP server for it.

    ``host`` is the driver's own address. The server listens only there: on loopback if that is the driver's address,
    and never on all addresses of the machine. ``people`` has what it can tell people besides its own queries.

    >>> with Coordinator() as coordinator:
    ...     coordinator.registry.register("q1")
    ...     coordinator.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        settings: Settings | None = None,
        *,
        port: int = 0,
        limits: ServerLimits | None = None,
        people: ForPeople | None = None,
    ) -> None:
        settings = settings or Settings()
        self.token = secrets.token_urlsafe(32)
        self.registry = Registry(_filter_limits(settings), settings.memory_limit)
        self._host, self._port, self._limits = host, port, limits or ServerLimits()
        self._people = people or ForPeople()
        self._socket: socket.socket | None = None
        self._running: _Running | None = None

    @property
    def url(self) -> str:
        """Where the coordinator listens."""
        if self._socket is None:
            raise CannotListen("the coordinator is not started; call start() first")
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def page_url(self) -> str:
        """Where a browser finds the page, with the token."""
        if not self._people.page:
            raise BadInput("there is no page: spark.headgate.page is false; set it to true before headgate.enable")
        return f"{self.url}/?token={self.token}"

    @property
    def is_running(self) -> bool:
        """Whether requests are being served."""
        return self._running is not None and self._running.thread.is_alive()

    @property
    def long_polls(self) -> int:
        """The number of executors that wait for news."""
        return 0 if self._running is None else self._running.polls.waiting

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return 0 if self._running is None else len(self._running.connections)

    def start(self) -> Coordinator:
        """Listen and serve; return once requests are answered. Starting twice changes nothing."""
        if self._running is None:
            listening = _listen(self._host, self._port)
            running = _Running(self.registry, self.token, self._limits, listening, self._people)
            running.start()
            self._socket, self._running = listening, running
        return self

    def close(self) -> None:
        """End all queries, release the waiters, free the port and join the thread. Closing twice changes nothing."""
        self.registry.close()
        if self._running is not None:
            self._running.stop()
            self._running = self._socket = None

    def __enter__(self) -> Coordinator:
        return self.start()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Running:
    """A server while it runs: its loop, its thread, its polls and its connections."""

    def __init__(
        self,
        registry: Registry,
        token: str,
        limits: ServerLimits,
        listening: socket.socket,
        people: ForPeople,
    ) -> None:
        self._registry, self._limits, self._socket = registry, limits, listening
        self._loop = _new_loop()
        self._pool = ThreadPoolExecutor(_THREADS, "headgate-coordinator-work")
        self.connections = Connections(limits.head_seconds, limits.write_seconds, limits.head_bytes)
        self.polls = Polls(registry, self._loop, self._pool, self.connections)
        endpoints = Endpoints(registry, self.polls, self._pool, limits, self._metrics, people)
        self._guard = Guard(make_app(endpoints), token)
        self._ready = Event()
        self._server = _Server(self._config(), self._ready.set)
        self.thread = Thread(target=self._run, name="headgate-coordinator", daemon=True)

    def start(self) -> None:
        self._registry.watch(self.polls.notify)
        self.thread.start()
        if not self._ready.wait(_PATIENCE):
            self.stop()
            raise CannotListen(f"the coordinator did not start within {_PATIENCE:g} seconds; see the log of the driver")

    def stop(self) -> None:
        self._registry.unwatch(self.polls.notify)
        if self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._begin_to_stop)
            self.thread.join(self._limits.shutdown_seconds + _PATIENCE)
        self._socket.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._server.serve(sockets=[self._socket]))
            self._loop.run_until_complete(self._cut_off())
        finally:
            self._pool.shutdown(wait=True)
            self._loop.close()

    def _begin_to_stop(self) -> None:
        self.polls.close()
        self._server.should_exit = True

    async def _cut_off(self) -> None:
        """Abort the connections of clients that did not read their last response, and end their tasks."""
        self.connections.abort_all()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            self._guard,
            http=self.connections.protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=int(self._limits.idle_seconds),
            timeout_graceful_shutdown=max(1, int(self._limits.shutdown_seconds)),
        )

    def _metrics(self) -> str:
        return render_metrics(self._registry, self.polls.waiting, len(self.connections), self._guard.statuses)


class _Server(uvicorn.Server):
    """uvicorn's server, with a call when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def bind_address(host: str) -> str:
    """Return the address to listen on for a driver's host; refuse one that means all addresses.

    >>> bind_address("localhost"), bind_address("127.0.0.1")
    ('127.0.0.1', '127.0.0.1')
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"the host {host!r} has no address; {_WHERE} to one that this machine has") from error
    # any address will do; IPv4 first, since Spark announces that by default
    addresses = sorted((ipaddress.ip_address(entry[4][0]) for entry in found), key=lambda address: address.version)
    mapped = addresses[0].ipv4_mapped if isinstance(addresses[0], ipaddress.IPv6Address) else None
    if addresses[0].is_unspecified or (mapped is not None and mapped.is_unspecified):
        raise CannotListen(f"{host!r} means every address of this machine; {_WHERE} to one of them")
    return str(addresses[0])


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop: uvloop's where available, as it wakes thousands of polls sooner."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def _listen(host: str, port: int) -> socket.socket:
    address = bind_address(host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        why = f"the coordinator of late filters cannot listen on {address} port {port}: {error.strerror or error}"
        what = "set spark.headgate.coordinator.port to a free port, or to 0 for any free port"
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        raise CannotListen(f"{why}; {what if taken else f'{_WHERE} to an address of this machine'}") from error
    return listening


def _filter_limits(settings: Settings) -> Limits:
    return Limits(settings.max_distinct_values, settings.max_filter_bytes, settings.range_filters)
