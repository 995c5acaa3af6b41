"""A session's history tells what is new since a version, forgets the oldest, and never keeps what it need not."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.catalyst.wire import SeenQueries, SeenQuery
from headgate.history import EventLog, History, read_log
from headgate.observe import QueryReport
from headgate.plan.nodes import Node, Other


class Queries:
    """Queries as the JVM tells of them."""

    def __init__(self) -> None:
        self.version = 0
        self.seen: dict[int, SeenQuery] = {}

    def set(self, number: int, state: str, **more) -> None:
        self.version += 1
        more.setdefault("ended", 2000 if state == "FINISHED" else None)
        self.seen[number] = SeenQuery(number=number, version=self.version, state=state, started=1000, **more)

    def since(self, version: int) -> SeenQueries:
        return SeenQueries(version=self.version, queries=[q for q in self.seen.values() if q.version > version])


class Part:
    """A query that went through Headgate."""

    root: Node = Other(0, (), name="Project")

    def report(self, seen: SeenQuery | None = None) -> QueryReport:
        return QueryReport(plan_ms=3)


@pytest.fixture
def queries() -> Queries:
    return Queries()


def told(history: History, since: int = 0) -> list[dict]:
    return [msgspec.json.decode(line) for line in history.since(since)[1]]


def test_a_query_is_told_when_it_begins_and_when_it_ends(queries: Queries) -> None:
    history = History("app", queries.since, list)
    queries.set(1, "RUNNING", text="select 1")
    version, (begun,) = history.since(0)
    queries.set(1, "FINISHED", text="select 1")
    (ended,) = told(history, version)
    assert (msgspec.json.decode(begun)["state"], ended["state"], ended["ended"]) == ("RUNNING", "FINISHED", 2.0)
    assert told(history, history.since(0)[0]) == []


def test_parts_belong_to_their_query(queries: Queries) -> None:
    """A subquery and the query itself have one number; one that nothing went through for says why."""
    history = History("app", queries.since, list)
    for _ in range(2):
        history.planned(1, Part())
    queries.set(1, "FINISHED")
    queries.set(2, "FINISHED", note="it has no join")
    first, second = told(history)
    assert (len(first["parts"]), first["parts"][0]["plan"][0]["text"]) == (2, "Project")
    assert (second.get("parts"), second["note"]) == (None, "it has no join")


def test_what_has_ended_is_let_go(queries: Queries) -> None:
    history, part = History("app", queries.since, list), Part()
    held = weakref.ref(part)
    history.planned(1, part)
    queries.set(1, "FINISHED")
    history.refresh()
    del part
    gc.collect()
    assert held() is None


def test_a_session_that_nobody_looks_at_does_not_grow(queries: Queries) -> None:
    """Plans that never run, or that nobody asks for, are let go beyond some hundreds; so are records."""
    history = History("app", queries.since, list)
    parts = [Part() for _ in range(3000)]
    held = [weakref.ref(part) for part in parts]
    for number, part in enumerate(parts, 1):
        history.planned(number, part)
        queries.set(number, "PLANNED")
        if number % 100 == 0:
            history.refresh()
    history.refresh()
    del parts, part
    gc.collect()
    assert sum(one() is not None for one in held) <= 200
    assert len(told(history)) == 1000


def test_the_log_has_a_query_twice_at_most(queries: Queries, tmp_path: Path) -> None:
    """When it begins, so that one that is killed is there, and when it ends."""
    log = EventLog(tmp_path / "log.jsonl")
    history = History("app", queries.since, list, log)
    for state in ("RUNNING", "RUNNING", "FINISHED"):
        queries.set(1, state)
        history.refresh()
    history.close()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [msgspec.json.decode(line)["state"] for line in lines] == ["RUNNING", "FINISHED"]
    assert len(read_log(tmp_path / "log.jsonl")[0]) == 1


def test_the_log_is_complete_when_it_is_closed(queries: Queries, tmp_path: Path) -> None:
    history = History("app", queries.since, list, EventLog(tmp_path / "log.jsonl"))
    queries.set(1, "FINISHED")
    history.close()
    history.close()
    assert [found.id for found in read_log(tmp_path / "log.jsonl")[0]] == ["app/1"]


def test_streams_and_walks_replace_their_earlier_records(queries: Queries) -> None:
    stories: list[dict[str, Any]] = [{"query": "s", "batches": []}]
    history = History("app", queries.since, lambda: stories)
    history.walked("w", "expand", 1.0, [{"what": "hop 1"}])
    before = history.since(0)[0]
    stories[0] = {"query": "s", "batches": [{"batchId": 0}]}
    history.walked("w", "expand", 1.0, [{"what": "hop 1"}, {"what": "hop 2"}])
    graph, stream = sorted(told(history, before), key=lambda found: found["record"])
    assert (len(graph["hops"]), len(stream["story"]["batches"])) == (2, 1)
    assert len(told(history)) == 2


def test_a_full_disk_costs_the_log_for_a_while(queries: Queries, tmp_path: Path) -> None:
    """The records are told all the same; what could not be written is tried again, and the failure is told once."""
    log, failures = EventLog(tmp_path / "log.jsonl"), list[Exception]()
    history = History("app", queries.since, list, log, failed=failures.append)
    written = log._file
    with Path("/dev/full").open("wb", buffering=0) as full:
        log._file = full
        for number in (1, 2):
            queries.set(number, "FINISHED")
            assert len(history.since(0)[1]) == number
    assert [type(failure) for failure in failures] == [OSError]
    log._file = written
    history.close()
    assert [record.id for record in read_log(tmp_path / "log.jsonl")[0]] == ["app/1", "app/2"]
