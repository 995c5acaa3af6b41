"""The algebra of domains keeps its laws, for every kind and every type, with NULL and NaN everywhere.

Exact kinds combine exactly. With a bloom, and after simplifying, only one direction holds: what may matter stays in.
"""

from __future__ import annotations

import pickle
from functools import reduce
from operator import and_, or_, sub

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, union_all, value_type
from headgate.domain.arrays import axis_column
from headgate.domain.types import Axis
from headgate.errors import InvalidFilter
from tests.domain.strategies import (
    TYPES,
    Model,
    exact_models,
    models,
    order_key,
    per_type,
    pool,
    probes,
    values,
)

every_type = pytest.mark.parametrize("name", TYPES)


def same_members(domain: Domain, expected: list[bool], asked: list[object]) -> None:
    """The domain holds exactly the values expected of it."""
    assert [x in domain for x in asked] == expected


def at_least(domain: Domain, expected: list[bool], asked: list[object]) -> None:
    """The domain holds every value expected of it, and perhaps more."""
    lost = [x for x, wanted in zip(asked, expected, strict=True) if wanted and x not in domain]
    assert not lost


@every_type
@per_type
@given(data=st.data())
def test_a_domain_holds_what_was_put_in(name: str, data: st.DataObject) -> None:
    """An exact domain holds exactly its values; a bloom holds all of them."""
    model, asked = data.draw(models(name)), data.draw(probes(name))
    check = same_members if model.domain.is_exact else at_least
    check(model.domain, [model.holds(x) for x in asked], asked)


@every_type
@per_type
@given(data=st.data())
def test_exact_kinds_combine_exactly(name: str, data: st.DataObject) -> None:
    """x in a|b, a&b, a-b and ~a is what logic says of x in a and x in b."""
    a, b, asked = data.draw(exact_models(name)), data.draw(exact_models(name)), data.draw(probes(name))
    in_a, in_b = [a.holds(x) for x in asked], [b.holds(x) for x in asked]
    pairs = list(zip(in_a, in_b, strict=True))
    same_members(a.domain | b.domain, [p or q for p, q in pairs], asked)
    same_members(a.domain & b.domain, [p and q for p, q in pairs], asked)
    same_members(a.domain - b.domain, [p and not q for p, q in pairs], asked)
    same_members(~a.domain, [not p for p in in_a], asked)


@every_type
@per_type
@given(data=st.data())
def test_no_operation_loses_a_value_that_may_matter(name: str, data: st.DataObject) -> None:
    """With blooms too, union holds what either holds and intersection what both hold."""
    a, b, asked = data.draw(models(name)), data.draw(models(name)), data.draw(probes(name))
    pairs = [(x in a.domain, x in b.domain) for x in asked]
    at_least(a.domain | b.domain, [p or q for p, q in pairs], asked)
    at_least(a.domain & b.domain, [p and q for p, q in pairs], asked)
    at_least(a.domain | b.domain, [a.holds(x) or b.holds(x) for x in asked], asked)
    at_least(a.domain & b.domain, [a.holds(x) and b.holds(x) for x in asked], asked)
    if b.domain.is_exact:
        at_least(a.domain - b.domain, [a.holds(x) and not b.holds(x) for x in asked], asked)


@every_type
@per_type
@given(data=st.data())
def test_exact_kinds_form_a_lattice(name: str, data: st.DataObject) -> None:
    """Union and intersection are commutative, associative, idempotent and absorb each other, whatever the kinds."""
    a, b, c = (data.draw(exact_models(name)).domain for _ in range(3))
    assert a | b == b | a
    assert a & b == b & a
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert a | a == a
    assert a & a == a
    assert a | (a & b) == a
    assert a & (a | b) == a
    assert a & (b | c) == (a & b) | (a & c)
    assert ~(a | b) == ~a & ~b
    assert ~~a == a
    assert a - b == a & ~b


@every_type
@per_type
@given(data=st.data())
def test_none_and_all_are_the_ends(name: str, data: st.DataObject) -> None:
    """NONE adds nothing and absorbs; ALL takes nothing away and absorbs."""
    a = data.draw(models(name)).domain
    none, everything = Domain.none(name), Domain.all(name)
    assert a | none == a
    assert (a & none).is_none
    assert (a | everything).is_all
    assert a & everything == a


@every_type
@per_type
@given(data=st.data())
def test_union_of_many_is_the_union_of_all_pairs(name: str, data: st.DataObject) -> None:
    """union_all, in one pass, is what pairwise union is."""
    parts = [model.domain for model in data.draw(st.lists(exact_models(name), min_size=1, max_size=5))]
    assert union_all(parts) == reduce(or_, parts)


@every_type
@per_type
@given(data=st.data())
def test_equal_domains_have_equal_hashes(name: str, data: st.DataObject) -> None:
    """Two ways to the same values make equal domains, with equal hashes, whatever their kinds."""
    a, b = data.draw(exact_models(name)).domain, data.draw(exact_models(name)).domain
    left, right = (a | b) - b, a - b
    assert left == right
    assert hash(left) == hash(right)
    assert (a == b) == (b == a)
    assert a != "a"


@every_type
@per_type
@given(data=st.data())
def test_span_is_the_tightest_single_range(name: str, data: st.DataObject) -> None:
    """The span holds every value between the smallest and the largest, those included, and nothing outside them."""
    drawn, asked = data.draw(st.lists(values(name), min_size=1, max_size=6)), data.draw(probes(name))
    keys = sorted(order_key(name, v) for v in drawn)
    span = Domain.of(name, drawn, null_allowed=True).span()
    same_members(span, [x is None or keys[0] <= order_key(name, x) <= keys[-1] for x in asked], asked)


@every_type
@per_type
@given(data=st.data())
def test_simplified_domains_cover(name: str, data: st.DataObject) -> None:
    """A simplified domain holds all that it covers, in no more ranges than asked, within the same span."""
    model, most, asked = data.draw(models(name)), data.draw(st.integers(1, 4)), data.draw(probes(name))
    simple = model.domain.simplify(most)
    at_least(simple, [x in model.domain for x in asked], asked)
    assert len(simple.values.intervals()) <= most
    assert simple.null_allowed == model.domain.null_allowed
    assert simple.span() == model.domain.span()


@every_type
@per_type
@given(data=st.data())
def test_covers_is_what_membership_says(name: str, data: st.DataObject) -> None:
    """a covers b exactly when b - a is NONE, and a domain covers itself and its parts."""
    a, b = data.draw(exact_models(name)), data.draw(exact_models(name))
    assert a.domain.covers(b.domain) == (b.domain - a.domain).is_none
    assert (a.domain | b.domain).covers(b.domain)
    bloom = data.draw(models(name, ("bloom",)))
    assert bloom.domain.covers(bloom.domain)
    if bloom.domain.covers(b.domain):
        assert all(x in bloom.domain for x in data.draw(probes(name)) if b.holds(x))


@every_type
@per_type
@given(data=st.data())
def test_whole_columns_are_answered_as_single_values_are(name: str, data: st.DataObject) -> None:
    """`ValueSet.contains` over a column says of each value what ``in`` says of it."""
    model, asked = data.draw(models(name)), [x for x in data.draw(probes(name)) if x is not None]
    places, valid = axis_column(value_type(name), asked)
    assert valid.all()
    answers = model.domain.values.contains(places)
    assert answers.dtype == bool
    assert answers.tolist() == [x in model.domain for x in asked]
    assert model.domain.values.contains(places[:0]).tolist() == []


@every_type
@per_type
@given(data=st.data())
def test_overlap_with_a_range_is_an_intersection(name: str, data: st.DataObject) -> None:
    """A domain overlaps a closed range when they share a value: never False when a member lies between the ends."""
    model, ends = data.draw(models(name)), data.draw(st.tuples(values(name), values(name)))
    low, high = sorted(ends, key=lambda v: order_key(name, v))
    between = [v for v in (*pool(name), *ends) if order_key(name, low) <= order_key(name, v) <= order_key(name, high)]
    if any(v in model.domain for v in between):
        assert model.domain.overlaps(low, high)
    if model.domain.is_exact:
        shared = model.domain & Domain.range(name, low, high)
        assert model.domain.overlaps(low, high) == (not shared.is_none)
    places, _ = axis_column(value_type(name), [low, high])
    vectorised = model.domain.values.overlaps(places[:1], places[1:])
    if model.domain.is_exact:
        assert bool(vectorised[0]) == model.domain.overlaps(low, high)


@every_type
@per_type
@given(data=st.data())
def test_domains_travel_between_processes(name: str, data: st.DataObject) -> None:
    """A pickled domain is the same domain."""
    model = data.draw(models(name))
    assert pickle.loads(pickle.dumps(model.domain)) == model.domain


@given(model=exact_models("bigint"))
def test_every_domain_describes_itself_briefly(model: Model) -> None:
    """The repr of a domain is short, whatever its size."""
    assert len(repr(model.domain | Domain.of_array("bigint", np.arange(10_000)))) < 80


def test_blooms_refuse_what_they_cannot_do_exactly() -> None:
    """The complement of a bloom, and subtracting one, would lose rows; both are refused."""
    from headgate.domain import BloomBits

    bloom = Domain.bloom("bigint", BloomBits(1, np.zeros(1, dtype=np.uint64)))
    with pytest.raises(InvalidFilter, match="no exact complement"):
        _ = ~bloom
    with pytest.raises(InvalidFilter, match="no exact complement"):
        _ = Domain.of("bigint", [1]) - bloom


def test_domains_of_two_types_do_not_mix() -> None:
    """Combining int with bigint is refused, since their values are not the same things."""
    for combine in (or_, and_, sub, Domain.covers):
        with pytest.raises(InvalidFilter, match="int and bigint"):
            combine(Domain.none("int"), Domain.none("bigint"))
    assert Domain.none("int") != Domain.none("bigint")
    assert value_type("decimal(19,0)").axis is Axis.WIDE
