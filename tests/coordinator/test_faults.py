"""Bad input, strangers, slow and vanishing clients: the right status, one sentence, and nothing changed."""

from __future__ import annotations

import gc
import gzip
import json
import random
import socket
import threading
import weakref
from contextlib import suppress

import httpx
import pytest
import uvicorn

from headgate.config import Settings
from headgate.coordinator import Coordinator, ServerLimits, bind_address
from headgate.coordinator import server as server_module
from headgate.domain import Domain, TupleDomain, encode_json
from headgate.errors import CannotListen
from tests.coordinator.domains import ids
from tests.coordinator.sockets import connected, poll, read_answer, read_to_end, request
from tests.filters.threads import Started, until

PARTITION = "/v1/query/{query}/dynamicfilters/df/partitions/{partition}"
SOUND = encode_json(ids(1))


@pytest.fixture
def filtered(coordinator: Coordinator, query: str) -> str:
    """A query with a filter that waits for two partitions."""
    coordinator.registry.add_filter(query, "df", ["k"], expected=2)
    return query


def sentence(answer: httpx.Response) -> str:
    """The error of an answer, which is one sentence and nothing else."""
    assert answer.headers["content-type"] == "application/json"
    (name, text) = next(iter(answer.json().items()))
    assert (name, len(answer.json())) == ("error", 1)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


# --- malformed, unknown, oversize ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"null", "expected an object"),
        (b"[]", "expected an object"),
        (b"{}", "$.columnDomains: the field is missing"),
        (b'{"columnDomains": 5}', "expected an object or null"),
        (b'{"columnDomains": {}, "more": 1}', "the field is unknown"),
        (b'{"columnDomains": {}, "columnDomains": null}', "given twice"),
        (b'{"version": 2, "columnDomains": {}}', "unknown version 2"),
        (b'{"columnDomains": {"k": {"type": "bigint", "nullAllowed": 0, "values": {"type": "all"}}}}', "true or false"),
        (b'{"columnDomains": {"k": {"type": "x", "nullAllowed": true, "values": {"type": "all"}}}}', "x"),
        (SOUND.replace(b"bigint", b"tinyint").replace(b"[1]", b"[1000]"), "1000"),
        (b"[" * 100_000, "not JSON"),
        (b'{"columnDomains": NaN}', "not JSON"),
        (b'{"columnDomains": {}, "\\ud800": 1}', "\\ud800: the field is unknown"),
        (b'{"columnDomains": {}, "' + b"x" * 10_000 + b'": 1}', "$.xxx"),
    ],
)
def test_a_malformed_domain_is_refused(
    coordinator: Coordinator, client: httpx.Client, filtered: str, body: bytes, said: str
) -> None:
    before = coordinator.registry.story(filtered)
    answer = client.put(PARTITION.format(query=filtered, partition=0), content=body)
    assert answer.status_code == 400
    assert said in sentence(answer)
    assert coordinator.registry.story(filtered) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"consumer": "e", "sequence": 0}',
        b'{"consumer": "e", "sequence": -1, "events": []}',
        b'{"consumer": "e", "sequence": 1e99, "events": []}',
        b'{"consumer": "a/b", "sequence": 0, "events": []}',
        b'{"consumer": "e", "sequence": 0, "events": [{"filter": "df", "event": "eaten"}]}',
        b'{"consumer": "e", "sequence": 0, "events": [{"filter": "df", "event": "applied", "rows": -1}]}',
        b'{"consumer": "e", "sequence": 0, "events": [], "more": 1}',
        b'{"consumer": "\xff", "sequence": 0, "events": []}',
        b'{"consumer":' + b"[" * 100_000,
    ],
)
def test_a_malformed_message_of_events_is_refused(
    coordinator: Coordinator, client: httpx.Client, filtered: str, body: bytes
) -> None:
    before = coordinator.registry.story(filtered)
    answer = client.post(f"/v1/query/{filtered}/events", content=body)
    assert answer.status_code == 400
    assert "not a message of events" in sentence(answer)
    assert coordinator.registry.story(filtered) == before


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        ("x", "whole number"),
        ("-1", "whole number"),
        ("1.0", "whole number"),
        ("9" * 16, "whole number"),
        ("%D9%A3", "whole number"),  # a digit, though not one of ours
        ("2", "partition 2 is not one of the 2"),
        ("0?attempt=x", "attempt"),
        ("0?attempt=-1", "attempt"),
        ("0?attempt=", "attempt"),
    ],
)
def test_a_partition_or_attempt_that_is_no_number_is_refused(
    coordinator: Coordinator, client: httpx.Client, filtered: str, partition: str, said: str
) -> None:
    before = coordinator.registry.story(filtered)
    answer = client.put(PARTITION.format(query=filtered, partition=partition), content=SOUND)
    assert answer.status_code == 400
    assert said in sentence(answer)
    assert coordinator.registry.story(filtered) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Headgate-Current-Version": "x"},
        {"X-Headgate-Current-Version": "-1"},
        {"X-Headgate-Current-Version": "1" * 16},
        {"X-Headgate-Current-Version": ""},
        {"X-Headgate-Max-Wait": "soon"},
        {"X-Headgate-Max-Wait": "10"},
        {"X-Headgate-Max-Wait": "-1s"},
        {"X-Headgate-Max-Wait": "infs"},
        {"X-Headgate-Max-Wait": "1h"},
    ],
)
def test_a_malformed_header_is_refused(client: httpx.Client, filtered: str, headers: dict[str, str]) -> None:
    answer = client.get(f"/v1/query/{filtered}/dynamicfilters", headers=headers)
    assert answer.status_code == 400
    assert next(iter(headers)) in sentence(answer)


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("GET", "/v1/query/unknown/status", "no query 'unknown'"),
        ("GET", "/v1/query/unknown/dynamicfilters", "no query 'unknown'"),
        ("PUT", "/v1/query/unknown/dynamicfilters/df/partitions/0", "no query 'unknown'"),
        ("PUT", "/v1/query/{query}/dynamicfilters/other/partitions/0", "no filter 'other'"),
        ("PUT", "/v1/query/{query}/dynamicfilters/df/partitions/0?attempt=7", "attempt 7"),
        ("POST", "/v1/query/unknown/events", "no query 'unknown'"),
        ("DELETE", "/v1/query/unknown", "no query 'unknown'"),
        ("GET", "/v1/query/{query}/status/", "no such path"),
        ("GET", "/v2", "no such path"),
        ("GET", "/v1/query//status", "no such path"),
    ],
)
def test_what_is_not_known_is_404(client: httpx.Client, filtered: str, method: str, path: str, said: str) -> None:
    answer = client.request(method, path.format(query=filtered), content=SOUND)
    assert answer.status_code == 404
    assert said in sentence(answer)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/v1/query/{query}/status", "GET"),
        ("DELETE", "/v1/query/{query}/dynamicfilters", "GET"),
        ("GET", "/v1/query/{query}/dynamicfilters/df/partitions/0", "PUT"),
        ("GET", "/v1/query/{query}/events", "POST"),
        ("GET", "/v1/query/{query}", "DELETE"),
        ("PUT", "/", "GET"),
    ],
)
def test_a_wrong_method_is_405(client: httpx.Client, filtered: str, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path.format(query=filtered))
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"]
    assert sentence(answer)


def test_forms_that_are_not_known_are_415(client: httpx.Client, filtered: str) -> None:
    path = PARTITION.format(query=filtered, partition=0)
    for headers in ({"Content-Type": "text/plain"}, {"Content-Encoding": "br"}):
        answer = client.put(path, content=SOUND, headers=headers)
        assert answer.status_code == 415
        assert sentence(answer)


@pytest.fixture(scope="module")
def strict() -> Coordinator:
    """A coordinator with small limits."""
    limits = ServerLimits(body_bytes=1000, head_seconds=1, read_seconds=1, write_seconds=0.3)
    with Coordinator(limits=limits) as serving:
        serving.registry.register("q")
        serving.registry.add_filter("q", "df", ["k"], expected=2)
        yield serving


@pytest.fixture
def strict_client(strict: Coordinator) -> httpx.Client:
    with httpx.Client(base_url=strict.url, headers={"Authorization": f"Bearer {strict.token}"}) as made:
        yield made


def chunks(size: int):
    for _ in range(size // 100):
        yield b" " * 100


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b" " * 1001, {}),
        (chunks(2000), {}),
        (gzip.compress(b" " * 10_000_000), {"Content-Encoding": "gzip"}),
    ],
    ids=["declared", "chunked", "gzip bomb"],
)
def test_a_body_that_is_too_large_is_413(strict: Coordinator, strict_client: httpx.Client, content, headers) -> None:
    """Declared, sent in pieces or packed: what is larger than the limit is not kept."""
    if "Content-Encoding" in headers:
        content = content[:900] if len(content) > 1000 else content
    before = strict.registry.story("q")
    answer = strict_client.put(PARTITION.format(query="q", partition=0), content=content, headers=headers)
    assert answer.status_code == 413
    assert "larger than 1000 bytes" in sentence(answer)
    assert answer.headers["connection"] == "close"
    assert strict.registry.story("q") == before


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(SOUND)[:-4], gzip.compress(SOUND) + b"more"])
def test_gzip_that_is_broken_is_400(client: httpx.Client, filtered: str, content: bytes) -> None:
    path = PARTITION.format(query=filtered, partition=0)
    answer = client.put(path, content=content, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 400
    assert "gzip" in sentence(answer)


# --- strangers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/v1/queries", "/metrics", "/openapi.json", "/v1/query/{query}/status", "/nope"])
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", "{token}", "Basic {token}", "Bearer {token}x", "bearer{token}"],
)
def test_without_the_token_nothing_is_said(
    coordinator: Coordinator, filtered: str, path: str, authorization: str | None
) -> None:
    """Whatever is asked for, known or not, the answer to a stranger is the same 401."""
    headers = {} if authorization is None else {"Authorization": authorization.format(token=coordinator.token)}
    answer = httpx.get(coordinator.url + path.format(query=filtered), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert sentence(answer) == "the token is missing or wrong; send it as Authorization: Bearer <token>"
    assert coordinator.token not in answer.text


def test_a_stranger_changes_nothing(coordinator: Coordinator, filtered: str) -> None:
    before = coordinator.registry.story(filtered)
    for method, path in (("PUT", PARTITION), ("DELETE", "/v1/query/{query}"), ("POST", "/v1/query/{query}/events")):
        url = coordinator.url + path.format(query=filtered, partition=0)
        assert httpx.request(method, url, content=SOUND).status_code == 401
    assert coordinator.registry.story(filtered) == before


def test_two_authorizations_are_none(coordinator: Coordinator, filtered: str) -> None:
    headers = [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {coordinator.token}")]
    assert httpx.get(f"{coordinator.url}/v1/queries", headers=headers).status_code == 401


def test_the_token_is_compared_in_constant_time(coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token that is offered goes through the comparison that takes the same time for all."""
    compared = []

    def compare(offered: bytes, token: bytes) -> bool:
        compared.append(offered)
        return False

    monkeypatch.setattr("headgate.coordinator.guard.hmac.compare_digest", compare)
    right = httpx.get(f"{coordinator.url}/v1/queries", headers={"Authorization": f"Bearer {coordinator.token}"})
    missing = httpx.get(f"{coordinator.url}/v1/queries")
    assert (right.status_code, missing.status_code) == (401, 401)
    assert compared == [coordinator.token.encode(), b""]


@pytest.mark.parametrize("query", ["token=%ff", "token=%00", "token", "token=%C3%A9&token=x"])
def test_a_token_that_is_no_text_is_401(coordinator: Coordinator, query: str) -> None:
    assert httpx.get(f"{coordinator.url}/?{query}").status_code == 401


def test_a_long_head_is_refused_before_it_fills_the_memory(coordinator: Coordinator) -> None:
    """Nobody has to know the token for it, so it must cost little."""
    host, port = coordinator.url.removeprefix("http://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(b"GET /metrics HTTP/1.1\r\n")
        with suppress(OSError):  # it is refused while it is sent
            for number in range(4000):
                line.sendall(b"x-%d: %s\r\n" % (number, b"y" * 1000))
        answer = b""
        with suppress(OSError):
            answer = line.recv(4096)
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")


def test_a_poll_has_no_head(client: httpx.Client) -> None:
    assert client.head("/v1/query/q/dynamicfilters").status_code == 405


def test_tokens_differ_between_coordinators() -> None:
    tokens = {Coordinator().token for _ in range(10)}
    assert len(tokens) == 10
    assert all(len(token) >= 43 for token in tokens)  # 32 random bytes


# --- slow, vanishing and many clients -----------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: "])
def test_a_head_that_does_not_come_is_408(strict: Coordinator, sent: bytes) -> None:
    """A connection that says nothing, or half of a request, is told so and closed."""
    with connected(strict) as made:
        made.sendall(sent)
        status, _, body = read_answer(made)
        assert (status, list(json.loads(body))) == (408, ["error"])
        assert made.recv(1) == b""


def test_half_a_head_after_a_whole_request_is_408(strict: Coordinator) -> None:
    with connected(strict) as made:
        made.sendall(request(strict, "GET", "/v1/query/q/status"))
        assert read_answer(made)[0] == 200
        made.sendall(b"GET / HT")
        assert read_answer(made)[0] == 408


def test_a_body_that_does_not_come_is_408(strict: Coordinator) -> None:
    before = strict.registry.story("q")
    with connected(strict) as made:
        path = PARTITION.format(query="q", partition=0)
        made.sendall(request(strict, "PUT", path, "Content-Length: 100") + b"{")
        status, headers, body = read_answer(made)
        assert (status, headers["connection"]) == (408, "close")
        assert "did not arrive" in json.loads(body)["error"]
    assert strict.registry.story("q") == before


def test_a_client_that_leaves_in_the_middle_of_its_body(coordinator: Coordinator, filtered: str) -> None:
    """Half a report counts for nothing, and the connection is let go."""
    before = coordinator.registry.story(filtered)
    until(lambda: coordinator.connections == 0)  # those of the tests before are on their way out
    with connected(coordinator) as made:
        path = PARTITION.format(query=filtered, partition=0)
        made.sendall(request(coordinator, "PUT", path, f"Content-Length: {len(SOUND)}") + SOUND[:10])
        until(lambda: coordinator.connections == 1)
    until(lambda: coordinator.connections == 0)
    assert coordinator.registry.story(filtered) == before


def test_a_client_that_does_not_read_is_cut_off(strict: Coordinator) -> None:
    """An answer larger than all buffers, and a client that never reads it: it is dropped, others are served."""
    register_large(strict, "large")
    with connected(strict, buffer=4096) as slow:
        slow.sendall(poll(strict, "large"))
        slow.recv(1)
        with connected(strict) as quick:
            quick.sendall(request(strict, "GET", "/v1/query/large/status"))
            assert read_answer(quick)[0] == 200
        until(lambda: strict.connections == 0)
        assert len(read_to_end(slow)) < 8_000_000
    strict.registry.end("large")


def register_large(coordinator: Coordinator, query: str) -> None:
    """Register a query whose news take more than 8 MB."""
    columns = [f"column{number}" + "x" * 1000 for number in range(8000)]
    coordinator.registry.register(query)
    made = coordinator.registry.add_filter(query, "wide", columns)
    made.complete(TupleDomain({column: Domain.of("bigint", [1]) for column in columns}))


def test_a_client_that_vanishes_leaves_no_poll_behind(coordinator: Coordinator, filtered: str) -> None:
    """The poll of a client that goes away ends then, not when its time is up; its neighbour is not disturbed."""
    with connected(coordinator) as neighbour:
        neighbour.sendall(poll(coordinator, filtered))
        with connected(coordinator) as made:
            made.sendall(poll(coordinator, filtered))
            until(lambda: coordinator.long_polls == 2)
        until(lambda: coordinator.long_polls == 1)
        coordinator.registry.publish(filtered, "df", ids(1))
        assert json.loads(read_answer(neighbour)[2])["version"] == 1


def test_a_thousand_idle_polls_leave_nothing_behind(coordinator: Coordinator, client: httpx.Client, query: str) -> None:
    """A thousand executors wait; others are served meanwhile; half vanish, half are told; then nothing is left."""
    coordinator.registry.add_filter(query, "df", ["k"])
    running = coordinator._running
    assert running is not None
    sockets = []
    try:
        for _ in range(1000):
            made = socket.create_connection(coordinator._socket.getsockname())
            made.settimeout(30)
            made.sendall(poll(coordinator, query))
            sockets.append(made)
        until(lambda: coordinator.long_polls == 1000)
        assert client.get(f"/v1/query/{query}/status").status_code == 200
        for made in sockets[::2]:
            made.close()
        until(lambda: coordinator.long_polls == 500)
        coordinator.registry.publish(query, "df", ids(4))
        bodies = {read_answer(made)[2] for made in sockets[1::2]}
        assert len(bodies) == 1
    finally:
        for made in sockets:
            made.close()
    client.close()
    until(lambda: coordinator.connections == 0)
    assert coordinator.long_polls == 0
    assert running.polls._waiters == {}
    query_ref = weakref.ref(coordinator.registry.get(query))
    coordinator.registry.end(query)
    until(lambda: not running.polls._answers)
    until(lambda: gc.collect() == 0 or query_ref() is None)
    assert query_ref() is None


# --- starting and stopping ----------------------------------------------------------------------------------------


def test_closing_wakes_polls_frees_the_port_and_joins_the_thread() -> None:
    with Coordinator() as serving:
        serving.registry.register("q")
        made = serving.registry.add_filter("q", "df", ["k"])
        thread, (host, port) = serving._running.thread, serving._socket.getsockname()
        with connected(serving) as polling:
            polling.sendall(poll(serving, "q"))
            until(lambda: serving.long_polls == 1)
            serving.close()
            status, _, body = read_answer(polling)
            assert (status, json.loads(body)["state"]) == (200, "CANCELLED")
    assert made.is_complete
    assert not thread.is_alive()
    assert not serving.is_running
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((host, port))
    serving.close()
    with pytest.raises(CannotListen, match="not started"):
        _ = serving.url


def test_closing_does_not_wait_for_a_client_that_does_not_read() -> None:
    """A client that holds its answer in the air is cut off when the time for shutting down is over."""
    limits = ServerLimits(shutdown_seconds=1)
    with Coordinator(limits=limits) as serving, connected(serving, buffer=4096) as slow:
        register_large(serving, "q")
        slow.sendall(poll(serving, "q"))
        slow.recv(1)
        thread = serving._running.thread
        closing = Started(serving.close)
        closing.result()
        assert not thread.is_alive()


def test_starting_twice_is_starting_once() -> None:
    with Coordinator() as serving:
        url = serving.url
        assert serving.start().url == url


def test_a_port_that_is_taken_is_an_error_at_once(coordinator: Coordinator) -> None:
    port = coordinator._socket.getsockname()[1]
    with pytest.raises(CannotListen, match=f"cannot listen on 127.0.0.1 port {port}"):
        Coordinator(port=port).start()


def test_a_server_that_does_not_come_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread never says that it is ready: start gives up, and leaves no thread and no port behind."""
    monkeypatch.setattr(server_module, "_PATIENCE", 0.05)
    monkeypatch.setattr(server_module._Server, "startup", uvicorn.Server.startup)
    serving = Coordinator()
    others = [thread.name for thread in threading.enumerate() if thread.name == "headgate-coordinator"]
    with pytest.raises(CannotListen, match="did not start"):
        serving.start()
    assert not serving.is_running
    assert [thread.name for thread in threading.enumerate() if thread.name == "headgate-coordinator"] == others


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_driver_on_loopback_is_served_on_loopback(host: str) -> None:
    with Coordinator(host) as serving:
        assert serving._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0", "::ffff:0.0.0.0"])
def test_no_coordinator_listens_everywhere(host: str) -> None:
    with pytest.raises(CannotListen, match="every address"):
        Coordinator(host).start()


def test_a_driver_elsewhere_is_served_on_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is not loopback is bound as it is, and only that address; one without an address is refused."""
    found = [(socket.AF_INET6, 1, 6, "", ("2001:db8::1", 0, 0, 0)), (socket.AF_INET, 1, 6, "", ("10.1.2.3", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert bind_address("driver.example") == "10.1.2.3"
    monkeypatch.undo()
    with pytest.raises(CannotListen, match="no address"):
        bind_address("no.such.host.invalid")


def test_settings_reach_the_registry() -> None:
    coordinator = Coordinator(settings=Settings(memory_limit=8))
    coordinator.registry.register("q")
    made = coordinator.registry.add_filter("q", "df", ["k"], expected=2)
    coordinator.registry.report("q", "df", 0, ids(1, 2, 3))
    assert made.current().is_all


# --- fuzz ---------------------------------------------------------------------------------------------------------


def test_fuzzed_bodies_never_break_the_coordinator(coordinator: Coordinator, filtered: str) -> None:
    """Two thousand damaged requests: each is answered, none with 5xx, and the coordinator works as before."""
    chance = random.Random(5)
    with connected(coordinator) as made, made.makefile("rb") as answers:
        for _ in range(40):
            made.sendall(b"".join(damaged_report(coordinator, filtered, chance) for _ in range(50)))
            for _ in range(50):
                status, _, answer = read_answer(answers)
                assert status in (200, 400), answer
                assert status == 200 or list(json.loads(answer)) == ["error"]
    coordinator.registry.add_filter(filtered, "after", ["k"])
    coordinator.registry.publish(filtered, "after", ids(1))
    assert coordinator.registry.get(filtered).version >= 1


def damaged_report(coordinator: Coordinator, query: str, chance: random.Random) -> bytes:
    body = mutated(chance, SOUND)
    path = PARTITION.format(query=query, partition=chance.choice(["0", "1", "2", "x"]))
    return request(coordinator, "PUT", path, f"Content-Length: {len(body)}") + body


def mutated(chance: random.Random, body: bytes) -> bytes:
    """Damage a body: cut, repeat, overwrite or insert."""
    data = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                del data[at : at + chance.randint(1, 9)]
            case 1:
                data[at:at] = data[at : at + chance.randint(1, 30)]
            case 2:
                data[at : at + 1] = chance.randbytes(1)
            case _:
                data[at:at] = chance.choice([b"null", b"[", b"}", b'"', b"1e999", b"\\ud800", b"-", b"true", b"\x00"])
    return bytes(data)
