"""Draw values, domains and what they should mean, for every type and every kind of domain.

The meaning is kept apart from the code under test: a `Model` carries a plain Python predicate beside the domain, and
values are compared by `order_key`, which knows nothing of Headgate's axes. Every type has a pool of values that are
likely to go wrong; drawing from it makes two domains share values often.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from headgate.domain import BloomBits, Domain, ValueType, union_all, value_type
from headgate.domain.arrays import places_of
from headgate.domain.hashing import xxhash64

TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "float", "double",
    "decimal(7,2)", "decimal(18,18)", "decimal(19,3)", "decimal(38,0)", "string", "binary",
)  # fmt: skip
BITMAP_TYPES = tuple(t for t in TYPES if value_type(t).fits_bitmap)
EXACT_KINDS = ("none", "all", "only null", "not null", "value", "set", "range", "ranges", "bitmap")
KINDS = (*EXACT_KINDS, "bloom")

# A law is tried on each type apart, so a share of the profile's examples is enough for one of them.
per_type = settings(max_examples=max(1, settings().max_examples // 4))

TEXTS = (
    "", "\0", "\0\0", "a", "a\0", "a\0\0", "a\0b", "aa", "ab", "b", "\x7f", "é", "zz",
    "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001f600", "\U0010ffff", "\U0010ffff\U0010ffff", "a" * 40,
)  # fmt: skip
FLOATS = (
    math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 1.5, 2.0, 3.0, 100.0,
    struct.unpack("<f", b"\x01\0\0\0")[0], -struct.unpack("<f", b"\x01\0\0\0")[0],
    struct.unpack("<f", b"\xff\xff\x7f\x7f")[0], float(np.float32(0.1)),
)  # fmt: skip
DOUBLES = (*FLOATS, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, 2.0**53, math.nextafter(1.0, 2.0))


def pool(name: str) -> list[Any]:
    """The values of a type that are most likely to go wrong."""
    column_type = value_type(name)
    match name:
        case "boolean":
            return [False, True]
        case "string":
            return list(TEXTS)
        case "binary":
            return [*(text.encode() for text in TEXTS), b"\xff", b"\xff\xff", b"\xfe\xff", b"\x80"]
        case "float":
            return list(FLOATS)
        case "double":
            return list(DOUBLES)
    if column_type.is_decimal:
        ends = [
            column_type.low,
            column_type.low + 1,
            -101,
            -100,
            -1,
            0,
            1,
            2,
            3,
            99,
            100,
            column_type.high - 1,
            column_type.high,
        ]
        return [unscaled(column_type, place) for place in ends if column_type.low <= place <= column_type.high]
    whole = [column_type.low, column_type.low + 1, -2, -1, 0, 1, 2, 3, 7, 100, column_type.high - 1, column_type.high]
    if name == "date":
        return [*whole, dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)]
    if name == "timestamp":
        return [*whole, dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), dt.datetime(1900, 1, 1, tzinfo=dt.UTC)]
    if name == "timestamp_ntz":
        return [*whole, dt.datetime(2024, 2, 29, 12), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]  # noqa: DTZ001
    return whole


def unscaled(column_type: ValueType, place: int) -> decimal.Decimal:
    """The decimal with an unscaled value, built digit by digit."""
    digits = tuple(map(int, str(abs(place))))
    return decimal.Decimal((int(place < 0), digits, -column_type.scale))


@cache
def values(name: str) -> st.SearchStrategy[Any]:
    """Values of a type: half of them from its pool."""
    column_type = value_type(name)
    match name:
        case "boolean":
            anything: st.SearchStrategy[Any] = st.booleans()
        case "string":
            anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
        case "binary":
            anything = st.binary(max_size=6)
        case "float":
            anything = st.floats(width=32)
        case "double":
            anything = st.floats()
        case _ if column_type.is_decimal:
            anything = st.integers(column_type.low, column_type.high).map(lambda place: unscaled(column_type, place))
        case _:
            anything = st.integers(column_type.low, column_type.high) | st.integers(max(column_type.low, -20), 20)
    return st.sampled_from(pool(name)) | anything


@cache
def maybe_null(name: str) -> st.SearchStrategy[Any]:
    """Values of a type, and NULL."""
    return st.none() | values(name)


def order_key(name: str, value: Any) -> Any:
    """A key that sorts as Spark sorts the type: NaN above all numbers, -0.0 with 0.0, text by its UTF-8 bytes."""
    if name in ("float", "double"):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if name == "string":
        return value.encode()
    if isinstance(value, dt.datetime):
        epoch = dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - epoch) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return value.toordinal() - dt.date(1970, 1, 1).toordinal()
    return value


@dataclass(frozen=True)
class Model:
    """A domain and what it should mean: ``holds`` is exact for exact domains, and the least it may hold for a bloom."""

    domain: Domain
    holds: Callable[[Any], bool]
    what: str

    def __repr__(self) -> str:
        return f"{self.what}: {self.domain}"


@cache
def models(name: str, kinds: tuple[str, ...] = KINDS) -> st.SearchStrategy[Model]:
    """Domains of a type, of any of some kinds."""
    return st.one_of([_KINDS[kind](name) for kind in kinds if kind != "bitmap" or name in BITMAP_TYPES])


@cache
def exact_models(name: str) -> st.SearchStrategy[Model]:
    """Domains of a type that hold exactly what was put in."""
    return models(name, EXACT_KINDS)


@cache
def probes(name: str) -> st.SearchStrategy[list[Any]]:
    """Values to ask a domain about: NULL, the whole pool and some drawn."""
    return st.lists(values(name), max_size=5).map(lambda drawn: [None, *pool(name), *drawn])


def _fixed(make: Callable[[str], Domain], what: str, *, values_match: bool, null: bool) -> Any:
    return lambda name: st.just(Model(make(name), lambda x: null if x is None else values_match, what))


def _set(name: str, least: int = 2, most: int = 8) -> st.SearchStrategy[Model]:
    def build(drawn: list[Any], null: bool) -> Model:
        keys = {order_key(name, v) for v in drawn}
        domain = Domain.of(name, drawn, null_allowed=null)
        return Model(domain, _membership(name, keys, null), f"set of {drawn}, null={null}")

    return st.builds(build, st.lists(values(name), min_size=least, max_size=most), st.booleans())


def _bitmap(name: str) -> st.SearchStrategy[Model]:
    def build(drawn: list[Any], null: bool) -> Model:
        keys = {order_key(name, v) for v in drawn}
        domain = Domain.bitmap(name, drawn, null_allowed=null)
        return Model(domain, _membership(name, keys, null), f"bitmap of {drawn}, null={null}")

    return st.builds(build, st.lists(values(name), min_size=1, max_size=12), st.booleans())


def _range(name: str) -> st.SearchStrategy[Model]:
    def build(low: Any, high: Any, low_in: bool, high_in: bool, null: bool) -> Model:
        domain = Domain.range(name, low, high, low_inclusive=low_in, high_inclusive=high_in, null_allowed=null)

        def holds(x: Any) -> bool:
            if x is None:
                return null
            key = order_key(name, x)
            if low is not None and not (key >= order_key(name, low) if low_in else key > order_key(name, low)):
                return False
            return high is None or bool(key <= order_key(name, high) if high_in else key < order_key(name, high))

        return Model(domain, holds, f"range {low!r}..{high!r}, {low_in=}, {high_in=}, {null=}")

    flag = st.booleans()
    return st.builds(build, maybe_null(name), maybe_null(name), flag, flag, flag)


def _ranges(name: str) -> st.SearchStrategy[Model]:
    def build(parts: list[Model]) -> Model:
        domain = union_all([part.domain for part in parts])
        return Model(domain, lambda x: any(part.holds(x) for part in parts), f"ranges {parts}")

    return st.builds(build, st.lists(_range(name), min_size=2, max_size=4))


def _bloom(name: str) -> st.SearchStrategy[Model]:
    column_type = value_type(name)

    def build(drawn: list[Any], words: int, functions: int, spanned: bool, null: bool) -> Model:
        bits = BloomBits(functions, np.zeros(words, dtype=np.uint64)).add(
            xxhash64(column_type, places_of(column_type, drawn))
        )
        span = Domain.of(name, drawn).span() if spanned else None
        keys = {order_key(name, v) for v in drawn}
        domain = Domain.bloom(name, bits, span, null_allowed=null)
        return Model(domain, _membership(name, keys, null), f"bloom of {drawn}, {words=}, {functions=}, {null=}")

    sizes = st.sampled_from([1, 2, 4, 6, 16])
    return st.builds(
        build, st.lists(values(name), min_size=1, max_size=8), sizes, st.integers(1, 6), st.booleans(), st.booleans()
    )


def _membership(name: str, keys: set[Any], null: bool) -> Callable[[Any], bool]:
    return lambda x: null if x is None else order_key(name, x) in keys


_KINDS: dict[str, Callable[[str], st.SearchStrategy[Model]]] = {
    "none": _fixed(Domain.none, "none", values_match=False, null=False),
    "all": _fixed(Domain.all, "all", values_match=True, null=True),
    "only null": _fixed(Domain.only_null, "only null", values_match=False, null=True),
    "not null": _fixed(Domain.not_null, "not null", values_match=True, null=False),
    "value": lambda name: _set(name, 1, 1),
    "set": _set,
    "range": _range,
    "ranges": _ranges,
    "bitmap": _bitmap,
    "bloom": _bloom,
}
