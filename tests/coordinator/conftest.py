"""Give tests a coordinator that serves, a client that knows its token, and a query of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from headgate.coordinator import Coordinator

_numbers = count()


@pytest.fixture(scope="module")
def coordinator() -> Iterator[Coordinator]:
    """One server for all tests of a module; each test works on a query of its own."""
    with Coordinator() as serving:
        yield serving


@pytest.fixture
def client(coordinator: Coordinator) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {coordinator.token}"}
    with httpx.Client(base_url=coordinator.url, headers=headers, timeout=30) as made:
        yield made


@pytest.fixture
def query(coordinator: Coordinator) -> Iterator[str]:
    """A registered query, with a name that no other test has."""
    name = f"q{next(_numbers)}"
    coordinator.registry.register(name)
    yield name
    coordinator.registry.end(name)
