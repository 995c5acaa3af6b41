"""The strategies draw what they promise; a law tried on too little proves too little."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from headgate.domain import Domain, Kind, value_type
from tests.domain.strategies import (
    BITMAP_TYPES,
    KINDS,
    TYPES,
    exact_models,
    maybe_null,
    models,
    order_key,
    pool,
    probes,
    values,
)

T = TypeVar("T")


def find_any(strategy: st.SearchStrategy[T], condition: Callable[[T], bool]) -> T:
    """The first example that is found, as it is."""
    return find(strategy, condition, settings=settings(phases=[Phase.generate], max_examples=500))


def kinds_of(name: str) -> list[Kind]:
    """The kinds that a type can have: two booleans are all there are, and a bitmap holds whole numbers."""
    impossible = {Kind.SET, Kind.RANGES} if name == "boolean" else set()
    return [k for k in Kind if k not in impossible and (k is not Kind.BITMAP or name in BITMAP_TYPES)]


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in TYPES for kind in kinds_of(name)])
def test_every_kind_of_domain_is_drawn_for_every_type(name: str, kind: Kind) -> None:
    """For every type there is an example of every kind that the type can have."""
    assert find_any(models(name, (kind.value,)), lambda model: model.domain.kind is kind).domain.type.name == name


@pytest.mark.parametrize("name", TYPES)
def test_null_is_drawn_for_every_type(name: str) -> None:
    """NULL is among the values, and among what a domain is asked about."""
    assert find_any(maybe_null(name), lambda value: value is None) is None
    assert None in find_any(probes(name), lambda _: True)


@pytest.mark.parametrize("name", ["float", "double"])
@pytest.mark.parametrize("what", [math.isnan, math.isinf, lambda v: v == 0 and math.copysign(1, v) < 0])
def test_odd_floats_are_drawn_outside_the_pool_too(name: str, what: object) -> None:
    """NaN, the infinities and -0.0 are in the pool, and so in every test that walks it."""
    assert any(what(value) for value in pool(name))  # type: ignore[operator]


def test_text_that_trips_other_orders_is_in_the_pool() -> None:
    """The pool has the empty text, NUL, and a pair that UTF-16 sorts the other way round."""
    assert {"", "\0", "a\0", "\uffff", "\U00010000"} <= set(pool("string"))
    assert "\uffff".encode("utf-16-be") > "\U00010000".encode("utf-16-be")
    assert order_key("string", "\uffff") < order_key("string", "\U00010000")


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=20)
@given(data=st.data())
def test_every_value_drawn_is_a_value_of_its_type(name: str, data: st.DataObject) -> None:
    """A domain can be made of any value that is drawn, and holds it."""
    value = data.draw(values(name))
    assert value in Domain.single(name, value)


@settings(max_examples=20)
@given(data=st.data())
def test_exact_models_are_exact(data: st.DataObject) -> None:
    """No bloom is drawn where exact domains are asked for."""
    assert data.draw(exact_models("bigint")).domain.is_exact


def test_all_kinds_and_types_are_covered() -> None:
    """The lists that the laws run over leave nothing out."""
    assert set(TYPES) >= {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"}
    assert set(TYPES) >= {"float", "double", "string", "binary"}
    assert {value_type(t).precision > 18 for t in TYPES if t.startswith("decimal")} == {True, False}
    assert len(KINDS) == len(Kind) + 1  # one range and several are drawn apart
