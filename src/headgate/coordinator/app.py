"""Serve HTTP: one function for each call of the protocol, on top of the registry.

GET     /v1/query/{q}/status                                 state and version
GET     /v1/query/{q}/dynamicfilters                         what is newer than a version, or wait for it
PUT     /v1/query/{q}/dynamicfilters/{id}/partitions/{p}     a partial domain
POST    /v1/query/{q}/events                                 what an executor received and removed
DELETE  /v1/query/{q}                                        free everything
GET     /   /v1/history   /v1/queries   /v1/streams   /metrics   /openapi.json     for people and their tools
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.coordinator.answers import VERSION_HEADER, accepts_gzip
from headgate.coordinator.events import EventsMessage
from headgate.coordinator.guard import HANDLERS, ServerLimits, error, read_body
from headgate.coordinator.openapi import DOCUMENT
from headgate.coordinator.polls import Polls
from headgate.coordinator.registry import Registry
from headgate.coordinator.states import QueryState
from headgate.coordinator.stories import QueryStory
from headgate.domain import TupleDomain, decode_binary, decode_json
from headgate.errors import HeadgateError, InvalidFilter, NotRegistered
from headgate.page import document

T = TypeVar("T")
WAIT_HEADER = "X-Headgate-Max-Wait"
_VERSION, _WAIT = VERSION_HEADER.lower().encode(), WAIT_HEADER.lower().encode()
BINARY = "application/x-headgate"
_DEFAULT_WAIT = "1s"
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_POLLED = re.compile(r"/v1/query/([^/]+)/dynamicfilters")
_WHOLE = re.compile(r"[0-9]{1,15}")
_PAGE_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_DECODERS: dict[str, Callable[[bytes], TupleDomain]] = {"application/json": decode_json, BINARY: decode_binary}


@dataclass(frozen=True, slots=True)
class ForPeople:
    """What people may ask for besides queries with late filters; ``refresh`` is called before they are answered.

    ``streams`` are stories that msgspec can encode. ``history`` takes a version, and returns the version now and the
    encoded records since. Without ``page`` there is no page.
    """

    streams: Callable[[], Sequence[object]] = list
    history: Callable[[int], tuple[int, Sequence[bytes]]] = lambda _: (0, ())
    refresh: Callable[[], None] = lambda: None
    page: bool = True


class Endpoints:
    """The calls of the protocol. Work that may take long runs in the pool, not on the event loop."""

    def __init__(
        self,
        registry: Registry,
        polls: Polls,
        pool: Executor,
        limits: ServerLimits,
        metrics: Callable[[], str],
        people: ForPeople,
    ) -> None:
        self._registry, self._polls, self._pool = registry, polls, pool
        self._limits, self._metrics, self._people = limits, metrics, people

    async def status(self, request: Request) -> Response:
        """Return the state and version of a query."""
        query = self._registry.get(request.path_params["query"])
        version = query.version
        body = {"query": query.id, "attempt": query.attempt, "state": query.state, "dynamicFiltersVersion": version}
        return _json(body, headers={VERSION_HEADER: str(version)})

    async def dynamic_filters(self, query_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Return what is newer than a version, at once or when it arrives."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        try:
            since = _whole(headers.get(_VERSION, "0"), VERSION_HEADER)
            max_wait = min(_seconds(headers.get(_WAIT, _DEFAULT_WAIT)), self._limits.max_wait_seconds)
            may_gzip = accepts_gzip(headers.get(b"accept-encoding", ""))
            answer = await self._polls.next(query_id, since, max_wait, scope["client"], may_gzip=may_gzip)
        except HeadgateError as failure:
            status = 404 if isinstance(failure, NotRegistered) else 400
            await error(status, str(failure))(scope, receive, send)
            return
        if answer is not None:
            await send(answer.head)
            await send({"type": "http.response.body", "body": answer.body})

    async def report(self, request: Request) -> Response:
        """Take the domain of one partition of a build side."""
        given = request.headers.get("content-type", "application/json")
        decode = _DECODERS.get(given.partition(";")[0].strip().lower())
        if decode is None:
            raise HTTPException(
                415, f"unknown Content-Type {given[:60]!r}; send a domain as one of {', '.join(_DECODERS)}"
            )
        query_id, filter_id = request.path_params["query"], request.path_params["filter"]
        partition = _whole(request.path_params["partition"], "the partition")
        attempt = _whole(request.query_params.get("attempt", "0"), "attempt")
        self._registry.get(query_id).find(filter_id)  # refuse an unknown filter before reading the body
        body = await read_body(request, self._limits)
        outcome = await self._in_pool(
            lambda: self._registry.report(query_id, filter_id, partition, decode(body), attempt)
        )
        return _json({"outcome": outcome})

    async def events(self, request: Request) -> Response:
        """Take the filters that an executor received, and what it removed with them."""
        self._registry.get(request.path_params["query"])
        body = await read_body(request, self._limits)
        try:
            message = await self._in_pool(lambda: msgspec.json.decode(body, type=EventsMessage))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
            raise InvalidFilter(f"the body is not a message of events: {failure}; see /openapi.json", "$") from failure
        return _json({"outcome": self._registry.record(request.path_params["query"], message)})

    async def delete(self, request: Request) -> Response:
        """End a query."""
        query_id = request.path_params["query"]
        self._registry.get(query_id)
        await self._in_pool(lambda: self._registry.end(query_id, QueryState.CANCELLED))
        return Response(status_code=204)

    async def queries(self, _: Request) -> Response:
        """Return all queries, without values."""
        return _json({"queries": await self._in_pool(self._stories)})

    async def streams(self, _: Request) -> Response:
        """Return what the last micro-batches of all streaming queries left unread."""
        return _json({"streams": await self._in_pool(self._people.streams)})

    async def metrics(self, _: Request) -> Response:
        """Return the metrics of the coordinator, for Prometheus."""
        return Response(await self._in_pool(self._metrics), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        """Return the description of the protocol."""
        return _json(DOCUMENT)

    async def history(self, request: Request) -> Response:
        """Return what is newer than a version of all queries, streams and graph walks."""
        self._refuse_without_page()
        since = _whole(request.query_params.get("since", "0"), "since")
        version, records = await self._in_pool(lambda: self._people.history(since))
        body = b'{"version":%d,"records":[%s]}' % (version, b",".join(records))
        return Response(body, media_type="application/json")

    async def page(self, _: Request) -> Response:
        """Return the page."""
        self._refuse_without_page()
        return HTMLResponse(document(), headers=_PAGE_HEADERS)

    def _refuse_without_page(self) -> None:
        if not self._people.page:
            raise HTTPException(404, "there is no page: spark.headgate.page is false")

    def _stories(self) -> list[QueryStory]:
        self._people.refresh()
        return self._registry.stories()

    async def _in_pool(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def make_app(endpoints: Endpoints) -> ASGIApp:
    """Return the application: all routes and error handlers."""
    filters = "/v1/query/{query}/dynamicfilters"
    routes = [
        Route("/v1/query/{query}/status", endpoints.status, methods=["GET"]),
        Route(filters, _never, methods=["GET"]),
        Route(filters + "/{filter}/partitions/{partition}", endpoints.report, methods=["PUT"]),
        Route("/v1/query/{query}/events", endpoints.events, methods=["POST"]),
        Route("/v1/query/{query}", endpoints.delete, methods=["DELETE"]),
        Route("/v1/queries", endpoints.queries, methods=["GET"]),
        Route("/v1/history", endpoints.history, methods=["GET"]),
        Route("/v1/streams", endpoints.streams, methods=["GET"]),
        Route("/metrics", endpoints.metrics, methods=["GET"]),
        Route("/openapi.json", endpoints.openapi, methods=["GET"]),
        Route("/", endpoints.page, methods=["GET"]),
    ]
    framework = Starlette(routes=routes, exception_handlers=HANDLERS)
    framework.router.redirect_slashes = False

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Thousands of long-polls wait at once. Inside the framework each would keep a dozen frames alive, and waking it
        # would cost twice as much.
        if scope["method"] == "GET" and (polled := _POLLED.fullmatch(scope["path"])) is not None:
            await endpoints.dynamic_filters(polled[1], scope, receive, send)
        else:
            await framework(scope, receive, send)

    return app


async def _never(_: Request) -> Response:
    """Stand in for the long-poll among the routes, which is answered before routing: other methods get a 405."""
    raise HTTPException(405, headers={"Allow": "GET"})


def _json(body: object, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers=headers)


def _whole(text: str, what: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise InvalidFilter(f"{what} is {text[:60]!r}; expected a whole number from 0, of at most 15 digits")
    return int(text)


def _seconds(text: str) -> float:
    if (match := _DURATION.fullmatch(text.strip())) is None:
        raise InvalidFilter(f"{WAIT_HEADER} is {text[:60]!r}; expected a duration such as 500ms, 1s or 1m")
    return float(match[1]) * _SECONDS[match[2]]
