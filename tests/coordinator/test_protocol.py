"""The calls of the protocol over HTTP, as executors make them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import numpy as np
import pytest

from headgate.coordinator import Coordinator
from headgate.domain import Domain, TupleDomain, decode_json, encode_binary, encode_json
from tests.coordinator.domains import ids
from tests.coordinator.sockets import connected, poll, read_answer, request
from tests.filters.threads import Started, until

VERSION = "X-Headgate-Current-Version"
WAIT = "X-Headgate-Max-Wait"


def news(client: httpx.Client, query: str, version: int = 0, wait: str = "0s") -> dict[str, Any]:
    answer = client.get(f"/v1/query/{query}/dynamicfilters", headers={VERSION: str(version), WAIT: wait})
    assert answer.status_code == 200
    assert answer.headers[VERSION] == str(answer.json()["version"])
    return answer.json()


def domain_of(told: dict[str, Any]) -> TupleDomain:
    return decode_json(json.dumps(told["domain"]))


def put(client: httpx.Client, query: str, partition: int, domain: TupleDomain, **more: Any) -> httpx.Response:
    path = f"/v1/query/{query}/dynamicfilters/df/partitions/{partition}"
    return client.put(path, content=encode_json(domain), **more)


def test_status_is_state_and_version(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    expected = {"query": query, "attempt": 0, "state": "RUNNING", "dynamicFiltersVersion": 0}
    assert client.get(f"/v1/query/{query}/status").json() == expected
    coordinator.registry.add_filter(query, "df", ["k"])
    coordinator.registry.publish(query, "df", ids(1))
    answer = client.get(f"/v1/query/{query}/status")
    assert answer.json() == expected | {"dynamicFiltersVersion": 1}
    assert answer.headers[VERSION] == "1"


def test_partitions_become_one_filter(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """Reports over HTTP are united when the last is in; a replayed one changes nothing (C39, C53)."""
    coordinator.registry.add_filter(query, "df", ["k"], expected=2)
    assert put(client, query, 0, ids(1)).json() == {"outcome": "accepted"}
    assert put(client, query, 0, ids(5)).json() == {"outcome": "repeated"}
    assert news(client, query)["filters"] == {}
    assert put(client, query, 1, ids(2)).json() == {"outcome": "accepted"}
    told = news(client, query)
    assert (told["version"], told["complete"], told["state"]) == (1, True, "RUNNING")
    assert {name: domain_of(domain) for name, domain in told["filters"].items()} == {"df": ids(1, 2)}
    assert told["filters"]["df"]["columns"] == ["k"]
    assert put(client, query, 1, ids(2)).json() == {"outcome": "repeated"}


def test_only_what_is_newer_is_told(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """Asked with the version of the last answer, only what changed since comes (B38 over HTTP)."""
    for name in ("a", "b"):
        coordinator.registry.add_filter(query, name, ["k"])
        coordinator.registry.publish(query, name, ids(1))
    assert set(news(client, query)["filters"]) == {"a", "b"}
    assert set(news(client, query, 1)["filters"]) == {"b"}
    assert news(client, query, 2)["filters"] == {}
    assert news(client, query, 2)["complete"] is True


def test_a_version_from_another_life_gets_everything(
    coordinator: Coordinator, client: httpx.Client, query: str
) -> None:
    """A client that knows more than the coordinator is from before a restart: it is not left waiting."""
    coordinator.registry.add_filter(query, "df", ["k"], expected=0)
    told = news(client, query, 999_999_999_999, wait="60s")
    assert told["version"] == 1
    assert domain_of(told["filters"]["df"]).is_none


def test_a_poll_waits_for_news(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """A poll is parked on the server until a thread of the driver publishes; two polls get the same answer."""
    coordinator.registry.add_filter(query, "df", ["k"])
    with connected(coordinator) as first, connected(coordinator) as second:
        for made in (first, second):
            made.sendall(poll(coordinator, query))
        until(lambda: coordinator.long_polls == 2)
        coordinator.registry.publish(query, "df", ids(3))
        answers = [read_answer(made) for made in (first, second)]
    assert answers[0] == answers[1]
    assert domain_of(json.loads(answers[0][2])["filters"]["df"]) == ids(3)
    assert coordinator.long_polls == 0


def test_a_poll_ends_without_news_when_its_time_is_up(
    coordinator: Coordinator, client: httpx.Client, query: str
) -> None:
    coordinator.registry.add_filter(query, "df", ["k"])
    assert news(client, query, wait="1ms") == {
        "query": query,
        "attempt": 0,
        "state": "RUNNING",
        "version": 0,
        "complete": False,
        "filters": {},
    }


def test_news_of_one_query_wake_nobody_else(coordinator: Coordinator, query: str) -> None:
    """A poll of another query stays where it is (G110)."""
    coordinator.registry.register("other")
    coordinator.registry.add_filter("other", "df", ["k"])
    with connected(coordinator) as made:
        made.sendall(poll(coordinator, query))
        until(lambda: coordinator.long_polls == 1)
        coordinator.registry.publish("other", "df", ids(1))
        with connected(coordinator) as quick:
            quick.sendall(poll(coordinator, "other"))
            assert read_answer(quick)[0] == 200
        assert coordinator.long_polls == 1
        coordinator.registry.end(query)
        assert json.loads(read_answer(made)[2])["state"] == "FINISHED"
    coordinator.registry.end("other")


def test_deleting_a_query_wakes_its_polls(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """Who waits is told how it ended, once; after that the query is not known."""
    coordinator.registry.add_filter(query, "df", ["k"])
    with connected(coordinator) as made:
        made.sendall(poll(coordinator, query))
        until(lambda: coordinator.long_polls == 1)
        assert client.delete(f"/v1/query/{query}").status_code == 204
        told = json.loads(read_answer(made)[2])
    assert (told["state"], told["filters"]) == ("CANCELLED", {})
    for method, path in (("DELETE", ""), ("GET", "/status"), ("GET", "/dynamicfilters")):
        assert client.request(method, f"/v1/query/{query}{path}").status_code == 404


def test_a_newer_attempt_wakes_polls_and_says_so(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """A poll of attempt 0 learns of attempt 1 at once; a report of attempt 0 is stale from then on (C51)."""
    coordinator.registry.add_filter(query, "df", ["k"], expected=1)
    with connected(coordinator) as made:
        made.sendall(poll(coordinator, query))
        until(lambda: coordinator.long_polls == 1)
        coordinator.registry.register(query, attempt=1)
        told = json.loads(read_answer(made)[2])
    assert (told["attempt"], told["version"], told["filters"]) == (1, 1, {})
    coordinator.registry.add_filter(query, "df", ["k"], expected=1)
    assert put(client, query, 0, ids(1), params={"attempt": 0}).json() == {"outcome": "stale"}
    assert put(client, query, 0, ids(2), params={"attempt": 1}).json() == {"outcome": "accepted"}
    assert domain_of(news(client, query, told["version"])["filters"]["df"]) == ids(2)


def test_large_answers_are_packed_for_those_who_can_unpack(
    coordinator: Coordinator, client: httpx.Client, query: str
) -> None:
    """Above 1 KB an answer is gzip, if the client accepts it; a small one never is."""
    path = f"/v1/query/{query}/dynamicfilters"
    coordinator.registry.add_filter(query, "df", ["k"])
    assert "content-encoding" not in client.get(path, headers={WAIT: "0s"}).headers
    domain = TupleDomain({"k": Domain.of_array("bigint", np.arange(0, 5_000, 3))})
    coordinator.registry.publish(query, "df", domain)
    packed = client.get(path)
    assert packed.headers["content-encoding"] == "gzip"
    for refusal in ("identity", "", "gzip;q=0", "br"):
        plain = client.get(path, headers={"Accept-Encoding": refusal})
        assert "content-encoding" not in plain.headers
        assert plain.json() == packed.json()
    assert domain_of(packed.json()["filters"]["df"]) == domain


def test_a_very_large_filter_arrives_whole(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """A filter that is encoded beside the event loop is the same filter, for all who wait for it at once."""
    coordinator.registry.add_filter(query, "df", ["k"])
    chosen = np.random.default_rng(7).choice(1_000_000, 100_000, replace=False)
    domain = TupleDomain({"k": Domain.bitmap("bigint", chosen)})
    assert domain.nbytes > 100_000
    with connected(coordinator) as first, connected(coordinator) as second:
        for made in (first, second):
            made.sendall(poll(coordinator, query))
        until(lambda: coordinator.long_polls == 2)
        coordinator.registry.publish(query, "df", domain)
        answers = [json.loads(read_answer(made)[2]) for made in (first, second)]
    assert [domain_of(told["filters"]["df"]) for told in answers] == [domain, domain]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_reports_may_be_binary_and_packed(
    coordinator: Coordinator, client: httpx.Client, query: str, packed: bool, binary: bool
) -> None:
    made = coordinator.registry.add_filter(query, "df", ["k"], expected=1)
    body = encode_binary(ids(1, 2)) if binary else encode_json(ids(1, 2))
    headers = {"Content-Type": "application/x-headgate" if binary else "application/json; charset=utf-8"}
    headers |= {"Content-Encoding": "gzip"} if packed else {}
    path = f"/v1/query/{query}/dynamicfilters/df/partitions/0"
    answer = client.put(path, content=gzip.compress(body) if packed else body, headers=headers)
    assert answer.json() == {"outcome": "accepted"}
    assert made.current() == ids(1, 2)


def test_executors_say_what_they_received_and_removed(
    coordinator: Coordinator, client: httpx.Client, query: str
) -> None:
    """The story of a filter holds what executors say; a repeated message is counted once (G106)."""
    coordinator.registry.add_filter(query, "df", ["k"], expected=0)
    message = {
        "consumer": "executor-1",
        "sequence": 0,
        "events": [{"filter": "df", "event": "received"}, {"filter": "df", "event": "applied", "rowGroups": 4}],
    }
    assert client.post(f"/v1/query/{query}/events", json=message).json() == {"outcome": "accepted"}
    assert client.post(f"/v1/query/{query}/events", json=message).json() == {"outcome": "repeated"}
    (story,) = [told for told in client.get("/v1/queries").json()["queries"] if told["query"] == query]
    events = story["filters"][0]["events"]
    assert (events["receivers"], events["rowGroups"]) == (1, 4)
    assert events["asked"] <= events["published"] <= events["received"] <= events["applied"]


def test_metrics_count_what_is_there(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    coordinator.registry.add_filter(query, "a", ["k"], expected=0)
    coordinator.registry.add_filter(query, "b", ["k"])
    coordinator.registry.publish(query, "a", ids(1))
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert lines["headgate_queries"] == "1"
    assert lines['headgate_filters{state="complete"}'] == lines['headgate_filters{state="waiting"}'] == "1"
    assert int(lines['headgate_reports_total{outcome="repeated"}']) >= 1
    assert int(lines["headgate_connections"]) >= 1
    client.get("/metrics")
    after = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#")
    name = 'headgate_requests_total{status="200"}'
    assert int(after[name]) == int(lines.get(name, "0")) + 2


def test_the_page_opens_in_a_browser(coordinator: Coordinator) -> None:
    """A browser sends no token header: the page, and only the page, takes the token from its address."""
    page = httpx.get(coordinator.page_url)
    assert page.status_code == 200
    assert page.headers["referrer-policy"] == "no-referrer"
    assert coordinator.token not in page.text
    assert httpx.get(f"{coordinator.url}/v1/queries?token={coordinator.token}").status_code == 401


def test_an_answer_without_a_body_is_sent(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """The head of an answer is held back for its body; where none comes, it is sent alone."""
    answer = client.head(f"/v1/query/{query}/status")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0
    assert client.head("/v1/queries").status_code == 200


def test_a_client_may_ask_before_it_sends_its_body(coordinator: Coordinator, query: str) -> None:
    """Expect: 100-continue, as some clients do for large bodies, is answered before the body is there."""
    made = coordinator.registry.add_filter(query, "df", ["k"], expected=1)
    body = encode_json(ids(1))
    path = f"/v1/query/{query}/dynamicfilters/df/partitions/0"
    with connected(coordinator) as sending, sending.makefile("rb") as answers:
        headers = f"Content-Length: {len(body)}", "Expect: 100-continue"
        sending.sendall(request(coordinator, "PUT", path, *headers))
        assert read_answer(answers)[0] == 100
        sending.sendall(body)
        assert read_answer(answers)[0] == 200
    assert made.current() == ids(1)


def test_a_connection_serves_one_request_after_the_other(
    coordinator: Coordinator, client: httpx.Client, query: str
) -> None:
    """Polls of one executor share a connection; requests sent ahead are answered in order."""
    coordinator.registry.add_filter(query, "df", ["k"])
    with connected(coordinator) as made:
        made.sendall(poll(coordinator, query, wait="1ms") + poll(coordinator, query))
        assert json.loads(read_answer(made)[2])["version"] == 0
        until(lambda: coordinator.long_polls == 1)
        waiting = Started(lambda: read_answer(made))
        coordinator.registry.publish(query, "df", ids(1))
        assert json.loads(waiting.result()[2])["version"] == 1
