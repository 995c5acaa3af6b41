"""Encode the news of a query once for all executors that wait for it.

    {"query": "q1", "attempt": 0, "state": "RUNNING", "version": 3, "complete": true,
     "filters": {"df_1": {"version": 1, "complete": true, "columns": ["id"], "domain": {"columnDomains": …}}}}

``domain`` is the JSON of `headgate.domain`. ``complete`` means that no filter registered so far will change again.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

import msgspec

from headgate.coordinator.query import TrackedQuery
from headgate.domain import encode_json
from headgate.filters import News

GZIP_ABOVE = 1024
VERSION_HEADER = "X-Headgate-Current-Version"
_VERSION = VERSION_HEADER.lower().encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response, ready to be sent to every client that asks from the same version."""

    head: dict[str, Any]
    body: bytes


def encode_answer(query: TrackedQuery, news: News, *, may_gzip: bool) -> Answer:
    """Return the response for a client that lacks exactly this news."""
    filters = {
        name: {
            "version": state.version,
            "complete": state.is_complete,
            "columns": sorted(query.find(name)[0].columns),
            "domain": msgspec.Raw(encode_json(state.domain)),
        }
        for name, state in news.filters.items()
    }
    body = msgspec.json.encode(
        {
            "query": query.id,
            "attempt": query.attempt,
            "state": query.state,
            "version": news.version,
            "complete": query.filters.is_complete,
            "filters": filters,
        }
    )
    zipped = may_gzip and len(body) > GZIP_ABOVE
    if zipped:
        body = gzip.compress(body, compresslevel=1, mtime=0)
    return Answer(_head(news.version, len(body), zipped=zipped), body)


def accepts_gzip(header: str) -> bool:
    """Whether a client that sends this Accept-Encoding can read gzip."""
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "").strip("0.") != "q="
    return False


def _head(version: int, length: int, *, zipped: bool) -> dict[str, Any]:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(length).encode()),
        (_VERSION, str(version).encode()),
    ]
    if zipped:
        headers.append((b"content-encoding", b"gzip"))
    return {"type": "http.response.start", "status": 200, "headers": headers}
