"""The binary form is small, leads back, and is never read when a bit is wrong."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, TupleDomain, decode_binary, encode_binary, encode_json
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, models


def packed(body: Any) -> bytes:
    """A body under a header that fits it."""
    raw = body if isinstance(body, bytes) else msgspec.msgpack.encode(body)
    return b"HGD\x01" + zlib.crc32(raw).to_bytes(4, "little") + raw


V = "$.columnDomains.k.values"
INT64 = V + ".int64"


def one_column(values: Any, *, name: str = "bigint") -> bytes:
    return packed({"columnDomains": {"k": {"type": name, "values": values, "nullAllowed": False}}})


@given(st.sampled_from(TYPES).flatmap(models), st.data())
def test_a_flipped_bit_is_refused(model: Any, data: st.DataObject) -> None:
    """Whichever bit is flipped, the bytes are refused and never read as another domain."""
    raw = bytearray(encode_binary(TupleDomain({"k": model.domain})))
    position = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[position // 8] ^= 1 << position % 8
    with pytest.raises(InvalidFilter) as refused:
        decode_binary(bytes(raw))
    assert refused.value.path.startswith("$")


@given(st.sampled_from(TYPES).flatmap(models), st.data())
def test_cut_off_and_left_over_bytes_are_refused(model: Any, data: st.DataObject) -> None:
    """The first n bytes are not a domain, nor is one with bytes after it."""
    raw = encode_binary(TupleDomain({"k": model.domain}))
    for wrong in (raw[: data.draw(st.integers(0, len(raw) - 1))], raw + data.draw(st.binary(min_size=1, max_size=4))):
        with pytest.raises(InvalidFilter):
            decode_binary(wrong)


@given(st.binary(max_size=80))
def test_random_bytes_are_refused(data: bytes) -> None:
    """Random bytes are no domain, and neither is a random body with the right checksum."""
    for wrong in (data, packed(data)):
        with pytest.raises(InvalidFilter) as refused:
            decode_binary(wrong)
        assert refused.value.path.startswith("$")


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=4)
KEYS = st.text(max_size=4) | st.integers(0, 5) | st.binary(max_size=3)


@given(
    st.recursive(
        SCALARS | st.binary(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    )
)
def test_random_documents_are_refused(document: Any) -> None:
    """A body that is MessagePack but no domain is refused, in the place of each part of a domain too."""
    wrong = [document, {"columnDomains": document}, {"columnDomains": {"k": document}}]
    for body in wrong:
        if body in ({"columnDomains": None}, {"columnDomains": {}}):
            continue
        with pytest.raises(InvalidFilter):
            decode_binary(packed(body))
    with pytest.raises(InvalidFilter):
        decode_binary(one_column({"type": "discrete", "values": [document, []]}))


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", "$"),
        (b"HGD", "$"),
        (b"XGD\x01" + packed({})[4:], "$"),
        (b"HGD\x02" + packed({})[4:], "$.version"),
        (packed({}), "$.columnDomains"),
        (packed({"columnDomains": {5: {"type": "int", "values": {"type": "all"}, "nullAllowed": True}}}), V[:15]),
        (one_column({"type": "discrete", "int64": b"1234567"}), INT64),
        (one_column({"type": "discrete", "int64": "12345678"}), INT64),
        (one_column({"type": "discrete", "int64": b"\0" * 8, "values": []}), V + ".values"),
        (one_column({"type": "range", "int64": b"\0" * 8}), V + ".ranges"),
        (one_column({"type": "discrete", "int64": b"\2" + b"\0" * 7}, name="boolean"), INT64),
        (one_column({"type": "discrete", "int64": b"\0\1" + b"\0" * 6}, name="tinyint"), INT64),
        (one_column({"type": "discrete", "int64": b"\0" * 8}, name="double"), INT64),
        (one_column({"type": "discrete", "int64": b"\0" * 8}, name="decimal(7,2)"), INT64),
        (one_column({"type": "discrete", "int64": b"\0" * 8}, name="string"), INT64),
        (one_column({"type": "discrete", "values": [b"a"]}, name="string"), V + ".values[0]"),
        (
            one_column({"type": "discrete", "values": [msgspec.msgpack.Ext(-1, b"\0\0\0\0")]}, name="timestamp"),
            V + ".values[0]",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(data: bytes, path: str) -> None:
    """Malformed bytes are an InvalidFilter with the path of the bad field, damaged values among them."""
    with pytest.raises(InvalidFilter) as refused:
        decode_binary(data)
    assert refused.value.path == path


def test_ids_and_bits_are_kept_raw() -> None:
    """Ids take eight bytes, bitmaps and blooms their own size: less than their JSON by a quarter and more."""
    ids = TupleDomain({"k": Domain.of_array("bigint", np.arange(0, 10**12, 10**9))})
    bitmap = TupleDomain({"k": Domain.bitmap("bigint", np.arange(0, 300_000, 7))})
    assert len(encode_binary(ids)) < 8 * 1000 + 100
    for domain in (ids, bitmap):
        assert decode_binary(encode_binary(domain)) == domain
        assert len(encode_binary(domain)) < 0.76 * len(encode_json(domain))


def test_the_ends() -> None:
    """NONE and ALL are a few bytes."""
    for domain in (TupleDomain.none(), TupleDomain.all()):
        assert decode_binary(encode_binary(domain)) == domain
        assert len(encode_binary(domain)) < 32
