"""Describe the protocol of the coordinator as an OpenAPI 3.1 document, which it serves at ``/openapi.json``."""

from __future__ import annotations

from typing import Any

_NAME = {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,200}$"}
_WHOLE = {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53}
_TIME = {"type": ["number", "null"], "description": "Seconds since 1970 on the clock of the driver."}
_STATE = {"type": "string", "enum": ["RUNNING", "FINISHED", "FAILED", "CANCELLED"]}
_OUTCOME = {
    "accepted": "It was counted.",
    "repeated": "The partition or message was already recorded, or the filter was complete; nothing changed.",
    "stale": "It came from an older attempt of the query; nothing changed.",
}
_ERRORS = {
    400: "The request is malformed.",
    401: "The token is missing or wrong.",
    404: "There is no such query, attempt or filter; it may have ended.",
    405: "The path does not have this method.",
    408: "The request arrived too slowly.",
    413: "The body is too large.",
    415: "The body has an unknown Content-Type or Content-Encoding.",
}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False, **more}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_BOUND = _object({"value": {"type": ["number", "string", "boolean"]}, "bound": {"enum": ["EXACTLY", "ABOVE", "BELOW"]}})
_RANGES = {"type": "array", "items": _object({"low": _BOUND, "high": _BOUND}, optional=("low", "high"))}
_VALUES = {
    "oneOf": [
        _object({"type": {"const": "none"}}),
        _object({"type": {"const": "all"}}),
        _object(
            {
                "type": {"const": "discrete"},
                "values": {"type": "array", "items": {"type": ["number", "string", "boolean"]}},
            }
        ),
        _object({"type": {"const": "range"}, "ranges": _RANGES}),
        _object(
            {"type": {"const": "bitmap"}, "width": {"enum": [32, 64]}, "bits": {"type": "string"}},
            description="A roaring bitmap in its portable form, as base64.",
        ),
        _object(
            {"type": {"const": "bloom"}, "bits": {"type": "string"}, "ranges": _RANGES},
            description="Spark's own bloom filter, as base64.",
        ),
    ]
}
_SCHEMAS: dict[str, Any] = {
    "Error": _object({"error": {"type": "string", "description": "One sentence."}}),
    "Values": _VALUES,
    "Domain": _object({"type": {"type": "string"}, "nullAllowed": {"type": "boolean"}, "values": _ref("Values")}),
    "TupleDomain": _object(
        {
            "version": {"const": 1},
            "columnDomains": {"type": ["object", "null"], "additionalProperties": _ref("Domain")},
        },
        optional=("version",),
        description="Which rows may match, by column; null lets no row through, {} every row.",
    ),
    "Status": _object({"query": _NAME, "attempt": _WHOLE, "state": _STATE, "dynamicFiltersVersion": _WHOLE}),
    "Filter": _object(
        {
            "version": _WHOLE,
            "complete": {"type": "boolean"},
            "columns": {"type": "array", "items": {"type": "string"}},
            "domain": _ref("TupleDomain"),
        }
    ),
    "News": _object(
        {
            "query": _NAME,
            "attempt": _WHOLE,
            "state": _STATE,
            "version": _WHOLE,
            "complete": {"type": "boolean", "description": "No filter registered so far will change again."},
            "filters": {"type": "object", "additionalProperties": _ref("Filter")},
        },
        description="Filters of an older attempt are no longer valid.",
    ),
    "Outcome": _object(
        {
            "outcome": {
                "type": "string",
                "enum": list(_OUTCOME),
                "description": " ".join(f"{word}: {meaning}" for word, meaning in _OUTCOME.items()),
            }
        }
    ),
    "Events": _object(
        {
            "consumer": _NAME | {"description": "The sender, such as an executor's id."},
            "sequence": _COUNT | {"description": "Rises with each message of a consumer; a repeat is not counted."},
            "attempt": _COUNT,
            "events": {
                "type": "array",
                "maxItems": 1000,
                "items": _object(
                    {
                        "filter": _NAME,
                        "event": {"type": "string", "enum": ["received", "applied"]},
                        "files": _COUNT | {"description": "Files skipped since the last message."},
                        "rowGroups": _COUNT,
                        "rows": _COUNT,
                    },
                    optional=("files", "rowGroups", "rows"),
                ),
            },
        },
        optional=("attempt",),
    ),
    "FilterStory": _object(
        {
            "id": _NAME,
            "columns": {"type": "array", "items": {"type": "string"}},
            "version": _WHOLE,
            "complete": {"type": "boolean"},
            "none": {"type": "boolean"},
            "kinds": {"type": "object", "additionalProperties": {"type": "string"}},
            "bytes": _WHOLE,
            "expected": {"type": ["integer", "null"]},
            "reported": _WHOLE,
            "events": _object(
                dict.fromkeys(("asked", "collected", "published", "received", "lastReceived", "applied"), _TIME)
                | {name: {"type": "integer", "minimum": 0} for name in ("receivers", "files", "rowGroups", "rows")}
            ),
        }
    ),
    "QueryStory": _object(
        {
            "query": _NAME,
            "attempt": _WHOLE,
            "state": _STATE,
            "version": _WHOLE,
            "registered": _TIME,
            "memoryBytes": _WHOLE,
            "memoryPeakBytes": _WHOLE,
            "filters": {"type": "array", "items": _ref("FilterStory")},
        }
    ),
    "Source": _object(
        {
            "description": {"type": "string"},
            "eventTime": {"type": ["string", "null"]},
            "cutOff": {"type": ["string", "null"], "description": "The largest event time that is late."},
            **dict.fromkeys(("lateRows", "nullRows", "files", "filesSkipped", "rowGroups", "rowGroupsSkipped"), _COUNT),
            "reason": {"type": "string", "description": "Why nothing was skipped, if nothing was."},
        }
    ),
    "Batch": _object(
        {
            "batchId": _COUNT,
            "watermark": {"type": "string"},
            "generation": _COUNT | {"description": "Rises when the watermark does."},
            "strict": {"type": "boolean"},
            **dict.fromkeys(("lateRows", "nullRows", "files", "filesSkipped", "planMicros"), _COUNT),
            "failure": {"type": "string"},
            "sources": {"type": "array", "items": _ref("Source")},
        },
        description="One micro-batch, in the form of a streaming query's lastProgress.",
    ),
    "Stream": _object(
        {
            "query": {"type": "string"},
            "batches": {"type": "array", "items": _ref("Batch")},
            "moves": {"type": "array", "items": {"type": "object"}},
        }
    ),
    "History": _object({"version": _COUNT, "records": {"type": "array", "items": {"type": "object"}}}),
    "Streams": _object({"streams": {"type": "array", "items": _ref("Stream")}}),
    "Queries": _object({"queries": {"type": "array", "items": _ref("QueryStory")}}),
}


def _body(schema: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {"content": {media_type: {"schema": schema}}}


def _parameter(name: str, place: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema, "description": description}


def _call(id: str, summary: str, answers: dict[int, dict[str, Any]], *errors: int, **more: Any) -> dict[str, Any]:
    responses = {
        str(status): {"description": answer.pop("description", summary), **answer} for status, answer in answers.items()
    }
    for status in (401, 405, 408, *errors):
        responses[str(status)] = {"description": _ERRORS[status], **_body(_ref("Error"))}
    return {"operationId": id, "summary": summary, "responses": responses, **more}


_QUERY = _parameter("query", "path", _NAME, "The query.")
_VERSION = {"X-Headgate-Current-Version": {"schema": _WHOLE, "description": "The version to ask with next time."}}
_WAITING = [
    _parameter(
        "X-Headgate-Current-Version",
        "header",
        {"type": "string", "pattern": "^[0-9]{1,15}$", "default": "0"},
        "The version of the last answer. One that the query has not reached counts as 0.",
    ),
    _parameter(
        "X-Headgate-Max-Wait",
        "header",
        {"type": "string", "pattern": "^[0-9]{1,9}(\\.[0-9]{1,9})?(ms|s|m)$", "default": "1s"},
        "How long to wait for news at most; the coordinator has a limit of its own (one minute by default).",
    ),
]
_REPORTING = [
    _parameter("filter", "path", _NAME, "The filter."),
    _parameter("partition", "path", _WHOLE, "The partition of the build side, from 0."),
    _parameter("attempt", "query", _WHOLE | {"default": 0}, "The attempt of the query that the report comes from."),
]
_BINARY = {"schema": {"type": "string", "contentMediaType": "application/x-headgate"}}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Headgate coordinator",
        "version": "1",
        "description": "Dynamic filters on their way from the tasks that make them to the scans that use them. "
        "Answers above 1 KB are sent as gzip to clients that accept it; bodies may be sent as gzip.",
    },
    "security": [{"token": []}],
    "paths": {
        "/v1/query/{query}/status": {
            "parameters": [_QUERY],
            "get": _call("status", "State and version.", {200: _body(_ref("Status")) | {"headers": _VERSION}}, 404),
        },
        "/v1/query/{query}/dynamicfilters": {
            "parameters": [_QUERY],
            "get": _call(
                "dynamicFilters",
                "What is newer than a version; waits for news.",
                {200: _body(_ref("News")) | {"headers": _VERSION}},
                400,
                404,
                parameters=_WAITING,
            ),
        },
        "/v1/query/{query}/dynamicfilters/{filter}/partitions/{partition}": {
            "parameters": [_QUERY],
            "put": _call(
                "report",
                "The domain of one partition; repeating it changes nothing.",
                {200: _body(_ref("Outcome"))},
                400,
                404,
                413,
                415,
                parameters=_REPORTING,
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": _ref("TupleDomain")}, "application/x-headgate": _BINARY},
                },
            ),
        },
        "/v1/query/{query}/events": {
            "parameters": [_QUERY],
            "post": _call(
                "events",
                "What an executor received, and what it removed.",
                {200: _body(_ref("Outcome"))},
                400,
                404,
                413,
                415,
                requestBody={"required": True, **_body(_ref("Events"))},
            ),
        },
        "/v1/query/{query}": {
            "parameters": [_QUERY],
            "delete": _call("end", "End a query and release its waiters.", {204: {}}, 404),
        },
        "/v1/queries": {"get": _call("queries", "All queries, without values.", {200: _body(_ref("Queries"))})},
        "/v1/history": {
            "get": _call(
                "history",
                "Records of queries, streams and graph walks that are newer than a version.",
                {200: _body(_ref("History"))},
                400,
                parameters=[{"name": "since", "in": "query", "schema": _COUNT | {"maximum": 10**15 - 1}}],
            )
        },
        "/v1/streams": {"get": _call("streams", "What streaming queries left unread.", {200: _body(_ref("Streams"))})},
        "/metrics": {
            "get": _call("metrics", "Metrics for Prometheus.", {200: _body({"type": "string"}, "text/plain")})
        },
        "/openapi.json": {"get": _call("openapi", "This document.", {200: _body({"type": "object"})})},
        "/": {"get": _call("page", "The status page.", {200: _body({"type": "string"}, "text/html")})},
    },
    "components": {
        "schemas": _SCHEMAS,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    },
}
