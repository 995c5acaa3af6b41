"""JSON of a domain leads back to that domain; JSON of anything else is refused, with the path of what is wrong."""

from __future__ import annotations

import base64
import copy
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain import BloomBits, Domain, TupleDomain, decode_binary, decode_json, encode_binary, encode_json
from headgate.domain.types import INT64_MAX, INT64_MIN, value_type
from headgate.errors import InvalidFilter
from tests.domain.strategies import KINDS, TYPES, models, per_type, probes

BOOLS, TEXTS = st.booleans(), st.text(max_size=5)
SCALARS = st.none() | BOOLS | st.integers() | st.floats() | TEXTS
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


def document_of(domain: Domain) -> dict[str, Any]:
    """The JSON of a domain of one column, as Python data."""
    document: dict[str, Any] = json.loads(encode_json(TupleDomain({"k": domain})))
    return document


def column(values: Any, *, name: str = "bigint", null: Any = False) -> bytes:
    """The JSON of one column with the given values."""
    domain = {"type": name, "values": values, "nullAllowed": null}
    return json.dumps({"version": 1, "columnDomains": {"k": domain}}).encode()


def at(value: Any) -> dict[str, Any]:
    """The bound exactly at a value."""
    return {"value": value, "bound": "EXACTLY"}


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_domains_survive_the_journey(name: str, data: st.DataObject) -> None:
    """F98: JSON and the binary form lead back to an equal domain of the same kind, for every kind and type."""
    model = data.draw(models(name))
    domain = TupleDomain({"k": model.domain, "other": Domain.not_null("int")})
    for back in (
        decode_json(encode_json(domain)),
        decode_json(encode_json(domain).decode()),
        decode_binary(encode_binary(domain)),
    ):
        assert back == domain
        found, sent = back.find("k"), domain.find("k")
        assert (found and found.kind) is (sent and sent.kind)


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_the_journey_neither_widens_nor_narrows(name: str, data: st.DataObject) -> None:
    """What came back says of every value what was sent, NULL and NaN among them."""
    domain, asked = data.draw(models(name)).domain, data.draw(probes(name))
    for back in (
        decode_json(encode_json(TupleDomain({"k": domain}))),
        decode_binary(encode_binary(TupleDomain({"k": domain}))),
    ):
        assert [back.contains({"k": x}) for x in asked] == [x in domain for x in asked]


def test_the_documented_form() -> None:
    """The form is the one that is documented, to the letter."""
    domain = TupleDomain({"customer_id": Domain.of("bigint", [5, 1, 2])})
    assert json.loads(encode_json(domain)) == {
        "version": 1,
        "columnDomains": {
            "customer_id": {
                "type": "bigint",
                "nullAllowed": False,
                "values": {"type": "discrete", "values": [1, 2, 5]},
            }
        },
    }
    assert json.loads(encode_json(TupleDomain.none())) == {"version": 1, "columnDomains": None}
    assert json.loads(encode_json(TupleDomain.all())) == {"version": 1, "columnDomains": {}}
    text = document_of(Domain.range("string", "a", "b", low_inclusive=False, high_inclusive=False))
    assert text["columnDomains"]["k"]["values"] == {
        "type": "range",
        "ranges": [{"low": {"value": "a\0", "bound": "EXACTLY"}, "high": {"value": "b", "bound": "BELOW"}}],
    }


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("double", ["NaN", "Infinity", "-Infinity", 1, 0.5], [math.nan, math.inf, -math.inf, 1.0, 0.5]),
        ("float", [0.1], [0.1]),
        ("decimal(7,2)", ["1.5", "-0.00", "99999.99"], [Decimal("1.50"), 0, Decimal("99999.99")]),
        ("decimal(38,0)", ["9" * 38], [10**38 - 1]),
        ("binary", [base64.b64encode(b"\0a").decode()], [b"\0a"]),
        ("boolean", [True], [True]),
        ("date", [0, -1], [0, -1]),
        ("timestamp", [INT64_MAX, INT64_MIN], [INT64_MAX, INT64_MIN]),
        ("string", ["\0", "\U0001f600", ""], ["\0", "\U0001f600", ""]),
    ],
)
def test_values_as_they_are_written(name: str, written: list[Any], expected: list[Any]) -> None:
    """Dates are days, timestamps microseconds, decimals text, binary base64, odd floats words."""
    found = decode_json(column({"type": "discrete", "values": written}, name=name)).find("k")
    assert found == Domain.of(name, expected)


def test_open_ends_are_read() -> None:
    """ABOVE and BELOW leave the end itself out, and a missing end is no end."""
    ranges = [
        {"low": {"value": 1, "bound": "ABOVE"}, "high": {"value": 5, "bound": "BELOW"}},
        {"low": {"value": 100, "bound": "EXACTLY"}},
    ]
    found = decode_json(column({"type": "range", "ranges": ranges})).find("k")
    assert found == Domain.range("bigint", 2, 4) | Domain.range("bigint", 100)
    assert decode_json(column({"type": "range", "ranges": [{}]})).find("k") == Domain.not_null("bigint")
    assert decode_json(column({"type": "range", "ranges": []})).is_none
    assert decode_json(column({"type": "discrete", "values": []}, null=True)).find("k") == Domain.only_null("bigint")


def test_types_may_come_from_outside() -> None:
    """A column without a type takes the one that the reader knows, and may not contradict it."""
    untyped = {"values": {"type": "discrete", "values": [1]}, "nullAllowed": False}
    data = json.dumps({"columnDomains": {"k": untyped}})
    assert decode_json(data, {"k": value_type("int")}).find("k") == Domain.of("int", [1])
    with pytest.raises(InvalidFilter, match="missing") as missing:
        decode_json(data)
    assert missing.value.path == "$.columnDomains.k.type"
    with pytest.raises(InvalidFilter, match="the column of int") as wrong:
        decode_json(column({"type": "all"}), {"k": value_type("int")})
    assert wrong.value.path == "$.columnDomains.k.type"


K, V, R = "$.columnDomains.k", "$.columnDomains.k.values", "$.columnDomains.k.values.ranges[0]"
BITS = base64.b64encode(BloomBits(1, np.zeros(1, dtype=np.uint64)).to_spark()).decode()


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", "$"),
        (b"{", "$"),
        (b"\xff", "$"),
        (b"[]", "$"),
        (b"[" * 100_000, "$"),
        (b"1" * 5000, "$"),
        (b"{}", "$.columnDomains"),
        (b'{"columnDomains": 1}', "$.columnDomains"),
        (b'{"columnDomains": {}, "x": 1}', "$.x"),
        (b'{"columnDomains": {}, "columnDomains": null}', "$"),
        (b'{"columnDomains": null, "version": 2}', "$.version"),
        (b'{"columnDomains": null, "version": true}', "$.version"),
        (b'{"columnDomains": null, "version": 1.0}', "$.version"),
        (b'{"columnDomains": {"k": 1}}', K),
        (column({"type": "all"}).replace(b'"k"', b'"\\ud800"'), "$.columnDomains"),
        (column({"type": "all"}, null=1), K + ".nullAllowed"),
        (column({"type": "all"}, null=None), K + ".nullAllowed"),
        (column({"type": "all"}, name="varchar"), K + ".type"),
        (column({"type": "all"}, name=7), K + ".type"),  # type: ignore[arg-type]
        (column(None), V),
        (column({}), V),
        (column({"type": 1}), V),
        (column({"type": "some"}), V + ".type"),
        (column({"type": "all", "values": [1]}), V + ".values"),
        (column({"type": "none", "x": 1}), V + ".x"),
        (column({"type": "discrete"}), V + ".values"),
        (column({"type": "discrete", "values": 1}), V + ".values"),
        (column({"type": "discrete", "values": [1, "2"]}), V + ".values[1]"),
        (column({"type": "discrete", "values": [1, 2.0]}), V + ".values[1]"),
        (column({"type": "discrete", "values": [1, True]}), V + ".values[1]"),
        (column({"type": "discrete", "values": [1, None]}), V + ".values[1]"),
        (column({"type": "discrete", "values": [0, 2**63]}), V + ".values[1]"),
        (column({"type": "discrete", "values": [300]}, name="tinyint"), V + ".values[0]"),
        (column({"type": "discrete", "values": [1]}, name="boolean"), V + ".values[0]"),
        (column({"type": "discrete", "values": [1]}, name="string"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["\ud800"]}, name="string"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["a"]}, name="binary"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["QR=="]}, name="binary"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["Q Q=="]}, name="binary"), V + ".values[0]"),
        (column({"type": "discrete", "values": [[]]}, name="binary"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["nan"]}, name="double"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["1.5"]}, name="double"), V + ".values[0]"),
        (column({"type": "discrete", "values": [True]}, name="double"), V + ".values[0]"),
        (column({"type": "discrete", "values": [1e39]}, name="float"), V + ".values[0]"),
        (column({"type": "discrete", "values": [math.nan]}, name="double"), "$"),
        (column({"type": "discrete", "values": [7]}, name="double").replace(b"7", b"1e999"), V + ".values[0]"),
        (column({"type": "discrete", "values": [10**400]}, name="double"), V + ".values[0]"),
        (column({"type": "discrete", "values": [1.5]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["1.555"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["1e2"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": [" 1"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["1_0"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["\uff11"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": ["NaN"]}, name="decimal(7,2)"), V + ".values[0]"),
        (column({"type": "discrete", "values": [1], "int64": ""}), V + ".values"),
        (column({"type": "discrete", "int64": ""}), V + ".int64"),
        (column({"type": "range"}), V + ".ranges"),
        (column({"type": "range", "ranges": {}}), V + ".ranges"),
        (column({"type": "range", "ranges": [1]}), R),
        (column({"type": "range", "ranges": [{"min": 1}]}), R + ".min"),
        (column({"type": "range", "ranges": [{"low": None}]}), R + ".low"),
        (column({"type": "range", "ranges": [{"low": {"value": 1}}]}), R + ".low.bound"),
        (column({"type": "range", "ranges": [{"low": {"bound": "EXACTLY"}}]}), R + ".low.value"),
        (column({"type": "range", "ranges": [{}, {"low": {"value": 1, "bound": "no"}}]}), V + ".ranges[1].low.bound"),
        (column({"type": "range", "ranges": [{"low": {"value": 1, "bound": "BELOW"}}]}), R + ".low.bound"),
        (column({"type": "range", "ranges": [{"high": {"value": 1, "bound": "ABOVE"}}]}), R + ".high.bound"),
        (column({"type": "range", "ranges": [{"high": {"value": 1, "bound": []}}]}), R + ".high.bound"),
        (column({"type": "range", "ranges": [{"high": {"value": "1", "bound": "BELOW"}}]}), R + ".high.value"),
        (column({"type": "range", "ranges": [{"low": at(2), "high": at(1)}]}), R),
        (column({"type": "range", "ranges": [{"low": {"value": INT64_MAX, "bound": "ABOVE"}}]}), R),
        (column({"type": "bitmap", "bits": ""}), V + ".width"),
        (column({"type": "bitmap", "width": 32}), V + ".bits"),
        (column({"type": "bitmap", "width": 16, "bits": ""}), V + ".width"),
        (column({"type": "bitmap", "width": 32.0, "bits": ""}), V + ".width"),
        (column({"type": "bitmap", "width": [], "bits": ""}), V + ".width"),
        (column({"type": "bitmap", "width": 32, "bits": ""}), V + ".bits"),
        (column({"type": "bitmap", "width": 32, "bits": 5}), V + ".bits"),
        (column({"type": "bitmap", "width": 32, "bits": "AAAA"}), V + ".bits"),
        (column({"type": "bitmap", "width": 32, "bits": ""}, name="string"), V + ".type"),
        (column({"type": "bitmap", "width": 32, "bits": ""}, name="double"), V + ".type"),
        (json.dumps(document_of(Domain.bitmap("int", [300]))).replace('"int"', '"tinyint"'), V + ".bits"),
        (json.dumps(document_of(Domain.bitmap("int", [-300]))).replace('"int"', '"tinyint"'), V + ".bits"),
        (column({"type": "bloom", "bits": BITS}), V + ".ranges"),
        (column({"type": "bloom", "ranges": [{}]}), V + ".bits"),
        (column({"type": "bloom", "bits": BITS, "ranges": []}), V + ".ranges"),
        (column({"type": "bloom", "bits": "AAAA", "ranges": [{}]}), V + ".bits"),
        (column({"type": "bloom", "bits": BITS, "ranges": [{"low": 1}]}), R + ".low"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(data: bytes | str, path: str) -> None:
    """Malformed JSON is an InvalidFilter with the path of the bad field."""
    with pytest.raises(InvalidFilter) as refused:
        decode_json(data)
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path}: ")
    assert len(str(refused.value)) < 300


def test_columns_travel_under_names() -> None:
    """A column keyed by anything but text cannot be told from another after the journey, so it is refused."""
    for key in (1, None, b"k", ("a",), "\ud800"):
        for encode in (encode_json, encode_binary):
            with pytest.raises(InvalidFilter, match="must be valid text"):
                encode(TupleDomain({key: Domain.of("int", [1])}))


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_random_bytes_and_text_are_refused(data: bytes | str) -> None:
    """Nothing random is a domain, and nothing random raises anything but InvalidFilter."""
    with pytest.raises(InvalidFilter) as refused:
        decode_json(data)
    assert refused.value.path.startswith("$")


@given(DOCUMENTS)
def test_random_documents_are_refused(document: Any) -> None:
    """A document that is JSON but no domain is refused, with a path."""
    with pytest.raises(InvalidFilter) as refused:
        decode_json(json.dumps(document))
    assert refused.value.path.startswith("$")


def places_in(document: Any) -> list[tuple[Any, Any]]:
    """Every container in a document with every key or index in it."""
    found = []
    keys = document.keys() if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in keys:
        found += [(document, key), *places_in(document[key])]
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """The document of a domain with one value replaced, dropped, doubled or added somewhere."""
    name = draw(st.sampled_from(TYPES))
    document = copy.deepcopy(document_of(draw(models(name, tuple(k for k in KINDS if k != "all"))).domain))
    container, key = draw(st.sampled_from(places_in(document)))
    match draw(st.sampled_from(["replace", "drop", "add"])):
        case "drop":
            del container[key]
        case "add" if isinstance(container, dict):
            container[draw(TEXTS)] = draw(SCALARS)
        case "add":
            container.append(draw(DOCUMENTS))
        case _:
            words = ["all", "none", "range", "discrete", "EXACTLY", "ABOVE", "BELOW", *TYPES]
            container[key] = draw(DOCUMENTS | st.sampled_from(words) | st.sampled_from([0, 1, -1, 2**63, 32, 64]))
    return document


def holds(values: dict[str, Any], name: str, asked: Any) -> bool:
    """What a document says of a value, read as plainly as can be; for documents of whole numbers and text."""
    match values["type"]:
        case "all":
            return True
        case "none":
            return False
        case "discrete":
            return asked in values["values"]

    def within(entry: dict[str, Any]) -> bool:
        low, high = entry.get("low"), entry.get("high")
        above = low is None or asked > low["value"] or (asked == low["value"] and low["bound"] == "EXACTLY")
        below = high is None or asked < high["value"] or (asked == high["value"] and high["bound"] == "EXACTLY")
        return above and below

    return any(within(entry) for entry in values["ranges"])


def read_or_refused(text: str) -> TupleDomain | None:
    """The domain, or None where the text is refused as it should be: by an InvalidFilter with a path."""
    try:
        return decode_json(text)
    except InvalidFilter as error:
        return None if error.path.startswith("$") else pytest.fail(f"no path in {error}")


@settings(max_examples=settings().max_examples * 4)
@given(mutated(), st.data())
def test_a_changed_document_is_refused_or_read_as_it_says(document: dict[str, Any], data: st.DataObject) -> None:
    """One change anywhere raises only InvalidFilter; what is still accepted means what the document says, no more."""
    text = json.dumps(document)
    domain = read_or_refused(text)
    if domain is None:
        return
    assert decode_json(encode_json(domain)) == domain
    columns = json.loads(text)["columnDomains"]
    if columns is None:
        assert domain.is_none
        return
    for name, written in columns.items():
        if written["type"] not in ("int", "bigint", "string") or written["values"]["type"] in ("bloom", "bitmap"):
            continue
        for asked in data.draw(probes(written["type"])):
            says = written["nullAllowed"] if asked is None else holds(written["values"], written["type"], asked)
            found = domain.find(name)
            if not domain.is_none:
                assert says == (True if found is None else asked in found)
            elif len(columns) == 1:
                assert not says
