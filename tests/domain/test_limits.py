"""A domain over its limits takes a cheaper form that holds everything it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import BloomBits, Domain, Kind, Limits, value_type, within
from headgate.domain.limits import cheaper, fits
from headgate.domain.values import is_full
from tests.domain.strategies import TYPES, models, per_type, probes

LIMITS = st.builds(
    Limits,
    max_distinct=st.integers(0, 6),
    max_bytes=st.sampled_from([0, 7, 8, 40, 120, 1000, 10**6]),
    ranges=st.booleans(),
    bloom_items=st.sampled_from([1, 8, 64, 1000]),
)


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data(), limits=LIMITS)
def test_no_form_loses_a_value(name: str, data: st.DataObject, limits: Limits) -> None:
    """Whatever the limits, the domain within them holds everything that the domain does, and respects them."""
    domain, asked = data.draw(models(name)).domain, data.draw(probes(name))
    limited = within(domain, limits)
    assert not [x for x in asked if x in domain and x not in limited]
    assert fits(limited.values, limits)
    assert within(limited, limits) == limited
    if fits(domain.values, limits):
        assert limited == domain
    if not limited.is_all:
        assert limited.null_allowed == domain.null_allowed


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data(), limits=LIMITS)
def test_every_step_holds_all_of_the_one_before(name: str, data: st.DataObject, limits: Limits) -> None:
    """From form to form, down to everything, no value is lost; and the end is reached."""
    domain, asked = data.draw(models(name)).domain, data.draw(probes(name))
    values = domain.values
    for _ in range(6):
        before = Domain(values)
        if not fits(values, Limits(max_distinct=-1, max_bytes=-1, ranges=False)):
            values = cheaper(values, limits)
        assert not [x for x in asked if x is not None and x in before and x not in Domain(values)]
    assert is_full(values) or Domain(values).is_none


@pytest.mark.parametrize(
    ("domain", "limits", "kind"),
    [
        (Domain.of("bigint", range(0, 20, 2)), Limits(max_distinct=10), Kind.SET),
        (Domain.of("bigint", range(0, 22, 2)), Limits(max_distinct=10), Kind.BITMAP),
        (Domain.of("bigint", range(0, 22, 2)), Limits(max_distinct=10, max_bytes=36, bloom_items=20), Kind.BLOOM),
        (Domain.of("bigint", range(0, 22, 2)), Limits(max_distinct=10, max_bytes=16), Kind.RANGES),
        (Domain.of("bigint", range(0, 22, 2)), Limits(max_distinct=10, max_bytes=8), Kind.ALL),
        (Domain.of("bigint", range(0, 22, 2)), Limits(max_distinct=10, max_bytes=16, ranges=False), Kind.ALL),
        (Domain.of("double", [1.0, 2.5, 3.0]), Limits(max_distinct=2), Kind.BLOOM),
        (Domain.of("string", ["a", "b", "c"]), Limits(max_distinct=2), Kind.BLOOM),
        (Domain.of("string", ["a" * 100, "b" * 100]), Limits(max_bytes=100), Kind.ALL),
        (Domain.single("string", "a" * 100), Limits(max_bytes=100), Kind.ALL),
        (Domain.range("bigint", 1, 5), Limits(ranges=False), Kind.ALL),
        (Domain.none("bigint"), Limits(max_distinct=0, max_bytes=0, ranges=False), Kind.NONE),
        (Domain.only_null("bigint"), Limits(max_distinct=0, max_bytes=0, ranges=False), Kind.ONLY_NULL),
        (Domain.not_null("bigint"), Limits(max_distinct=0, max_bytes=0, ranges=False), Kind.NOT_NULL),
    ],
)
def test_the_order_of_the_forms(domain: Domain, limits: Limits, kind: Kind) -> None:
    """Set (the limit itself is still one), bitmap, bloom and range, range, ALL: the first that fits is taken."""
    assert within(domain, limits).kind is kind


def test_a_bloom_that_says_too_little_becomes_a_range() -> None:
    """More than half of the bits set, and the range says more than the bits."""
    full = BloomBits(1, np.full(1, 2**64 - 1, dtype=np.uint64))
    bloom = Domain.bloom("bigint", full, Domain.range("bigint", 5, 9), null_allowed=True)
    assert within(bloom, Limits()) == Domain.range("bigint", 5, 9, null_allowed=True)


def test_many_ranges_become_one() -> None:
    """Ranges that take too much memory together become the one that spans them."""
    many = Domain.of("bigint", []) | Domain.range("bigint", 0, 1) | Domain.range("bigint", 10, 11)
    assert within(many, Limits(max_bytes=16)) == Domain.range("bigint", 0, 11)
    assert within(many, Limits(max_bytes=32)) == many


@given(st.lists(st.integers(1, 3000), min_size=2, max_size=4))
def test_blooms_made_under_the_same_limits_fold_together(sizes: list[int]) -> None:
    """However many values each holds, the union of two blooms made under the same limits is a bloom."""
    limits = Limits(max_distinct=0, max_bytes=4096, bloom_items=100)
    parts: list[Any] = [cheaper(Domain.of("double", np.arange(size) / 2).values, limits) for size in sizes]
    union = Domain(parts[0])
    for part in parts[1:]:
        union = union | Domain(part)
    assert union.kind is Kind.BLOOM
    assert all(x / 2 in union for x in range(0, max(sizes), 7))
    assert value_type("double") == union.type
