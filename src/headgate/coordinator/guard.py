"""Admit only requests with the token, read bodies within limits, and turn every error into one sentence."""

from __future__ import annotations

import asyncio
import hmac
import logging
import zlib
from collections import Counter
from collections.abc import Awaitable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.errors import InvalidFilter, NotRegistered

_log = logging.getLogger(__name__)
_GZIP_WINDOW = 31  # zlib's number for "a gzip header, largest window"
_LONGEST = 500
_CLOSE = {"Connection": "close"}


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How much, and for how long, a client may ask."""

    body_bytes: int = 16 * 1024**2
    head_seconds: float = 10.0
    head_bytes: int = 64 * 1024
    read_seconds: float = 30.0
    write_seconds: float = 30.0
    idle_seconds: float = 75.0
    max_wait_seconds: float = 60.0
    shutdown_seconds: float = 2.0


class Guard:
    """Wraps the application: 401 without the token. Counts responses by status.

    Browsers open the page at ``/`` and cannot send the header, so there the token may be in the query string.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()
        self.statuses: Counter[int] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        def counted(message: MutableMapping[str, Any]) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                self.statuses[message["status"]] += 1
            return send(message)

        app = self._app if self._is_allowed(scope) else _unauthorized()
        await app(scope, receive, counted)

    def _is_allowed(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        offered = given[0] if len(given) == 1 else b""
        if not given and scope["path"] == "/":
            asked = parse_qs(scope["query_string"].decode("latin-1"))
            offered = b"Bearer " + asked.get("token", [""])[0].encode("utf-8", "replace")
        scheme, _, token = offered.partition(b" ")
        # always compared, so that timing does not reveal which part was wrong
        return hmac.compare_digest(token.strip(), self._token) & (scheme.lower() == b"bearer")


def error(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error in the form of every endpoint: ``{"error": one sentence}``."""
    # it may quote what a client sent, which may be long or not encodable
    text = sentence[:_LONGEST].encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": text}, status, dict(headers or {}))


async def read_body(request: Request, limits: ServerLimits) -> bytes:
    """Return the body of a request, unpacked; 413 if it is too large, 408 if it arrives too slowly."""
    if int(request.headers.get("content-length", "0")) > limits.body_bytes:
        raise _too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limits.body_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        sentence = f"the body did not arrive within {limits.read_seconds:g} seconds; send it again"
        raise HTTPException(408, sentence, _CLOSE) from None
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    match encoding:
        case "identity" | "":
            return bytes(body)
        case "gzip":
            return _unpacked(bytes(body), limits)
    raise HTTPException(415, f"unknown Content-Encoding {encoding[:60]!r}; send gzip or none")


def _unpacked(body: bytes, limits: ServerLimits) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = stream.decompress(body, limits.body_bytes + 1)
    except zlib.error as failure:
        raise InvalidFilter(
            "the body is not gzip, but its Content-Encoding says so; send it again, or without the header"
        ) from failure
    if len(unpacked) > limits.body_bytes:
        raise _too_large(limits)
    if not stream.eof or stream.unused_data:
        raise InvalidFilter("the gzip body is cut off, or has trailing data; send it again")
    return unpacked


def _too_large(limits: ServerLimits) -> HTTPException:
    sentence = f"the body is larger than {limits.body_bytes} bytes; report a range or ALL in place of so many values"
    return HTTPException(413, sentence, _CLOSE)


def _unauthorized() -> ASGIApp:
    sentence = "the token is missing or wrong; send it as Authorization: Bearer <token>"
    return error(401, sentence, {"WWW-Authenticate": "Bearer"} | _CLOSE)


async def _on_http(_: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    sentences = {404: "no such path; see /openapi.json", 405: "this path does not have this method; see /openapi.json"}
    detail = failure.detail
    is_plain = detail in ("Not Found", "Method Not Allowed")
    return error(failure.status_code, sentences[failure.status_code] if is_plain else detail, failure.headers)


async def _on_invalid(_: Request, failure: Exception) -> Response:
    return error(400, str(failure))


async def _on_unknown(_: Request, failure: Exception) -> Response:
    return error(404, str(failure))


async def _on_gone(_: Request, __: Exception) -> Response:
    return error(400, "the client disconnected before its request was complete", _CLOSE)


async def _on_failure(request: Request, failure: Exception) -> Response:
    _log.error("the coordinator failed at %s %s", request.method, request.url.path, exc_info=failure)
    return error(500, "the coordinator failed; see the log of the driver")


HANDLERS: Mapping[Any, Any] = {
    HTTPException: _on_http,
    InvalidFilter: _on_invalid,
    NotRegistered: _on_unknown,
    ClientDisconnect: _on_gone,
    Exception: _on_failure,
}
