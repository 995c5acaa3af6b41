"""The OpenAPI document is what the coordinator does: schemathesis makes up requests from it and checks the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from headgate.coordinator import Coordinator, Registry, ServerLimits
from headgate.coordinator.openapi import DOCUMENT
from tests.coordinator.domains import ids

schema = schemathesis.openapi.from_dict(DOCUMENT)
schema.config.update(base_url="http://coordinator.invalid")
OPERATIONS = 11
NAMES = {"query": "q", "filter": "waiting"}
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
TOKEN = "known-before-the-server-starts"  # schemathesis makes its first requests up while tests are collected


@schema.auth()
class Token:
    """Sends the token of the coordinator that is being tested."""

    def get(self, case: Any, context: Any) -> str:
        return TOKEN

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@pytest.fixture(scope="module")
def known() -> Iterator[Coordinator]:
    """A coordinator that never waits long, with one query that has filters in every state."""
    made = Coordinator(limits=ServerLimits(max_wait_seconds=0.01))
    made.token = TOKEN
    with made as serving:
        register_query(serving.registry)
        yield serving


def register_query(registry: Registry) -> None:
    """Register the query that the made-up requests are about, unless it is there."""
    if registry.find("q") is None:
        registry.register("q")
        registry.add_filter("q", "waiting", ["k"], expected=1_000_000)
        registry.add_filter("q", "done", ["k"], expected=1)
        registry.publish("q", "done", ids(1, 2))
        registry.add_filter("q", "nothing", ["k"], expected=0)


@pytest.mark.filterwarnings("ignore:Skipped test cases with unsupported payload:UserWarning")  # the binary form
@schema.parametrize()
@settings(max_examples=25, suppress_health_check=QUIET)
def test_the_document_is_what_the_coordinator_does(case: Any, known: Coordinator) -> None:
    """Whatever is sent, the status, headers and body of the answer are as the document says."""
    register_query(known.registry)
    if case.meta.generation.mode.is_positive:  # a query of a made-up name is never there
        case.path_parameters |= {name: value for name, value in NAMES.items() if name in case.path_parameters}
    # the document cannot say which values fit the type of a column, or which whole numbers are written without a point
    excluded = [positive_data_acceptance] if case.method in ("PUT", "POST") else []
    case.call_and_validate(base_url=known.url, excluded_checks=excluded)


def test_the_document_names_every_address(known: Coordinator) -> None:
    """What is served is what is described, and the served document is this one."""
    headers = {"Authorization": f"Bearer {known.token}"}
    assert httpx.get(f"{known.url}/openapi.json", headers=headers).json() == DOCUMENT
    operations = [
        (path, method) for path, item in DOCUMENT["paths"].items() for method in item if method != "parameters"
    ]
    assert len(operations) == OPERATIONS
    for path, method in operations:
        url = known.url + path.format(query="unknown", filter="unknown", partition="0")
        assert httpx.request(method, url, headers=headers).status_code in (200, 404), (method, path)
        assert httpx.request("PATCH", url, headers=headers).status_code == 405, path
