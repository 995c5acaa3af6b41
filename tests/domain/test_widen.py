"""A domain over a stored type becomes one over the type of a comparison, with the same members."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.domain import Domain, Kind, coerce, value_type, widen
from tests.domain.strategies import models, per_type, pool, values
from tests.domain.test_coerce import LOSSLESS, cast


@pytest.mark.parametrize(("stored", "compared"), LOSSLESS)
@settings(per_type, max_examples=max(1, per_type.max_examples // 2))
@given(data=st.data())
def test_a_cast_value_matches_when_the_value_does(stored: str, compared: str, data: st.DataObject) -> None:
    """cast(x) is in the widened domain exactly when x is in the domain; for a bloom, at least then."""
    domain = data.draw(models(stored)).domain
    wide = widen(domain, value_type(compared))
    assert wide is not None
    assert wide.type == value_type(compared)
    for x in (None, *pool(stored), *data.draw(st.lists(values(stored), max_size=3))):
        if domain.is_exact:
            assert (cast(x, stored, compared) in wide) == (x in domain), x
        elif x in domain:
            assert cast(x, stored, compared) in wide


@pytest.mark.parametrize(("stored", "compared"), LOSSLESS)
@settings(per_type, max_examples=max(1, per_type.max_examples // 4))
@given(data=st.data())
def test_there_and_back_is_the_same_domain(stored: str, compared: str, data: st.DataObject) -> None:
    """Widened and coerced back, an exact domain is what it was."""
    domain = data.draw(models(stored)).domain
    wide = widen(domain, value_type(compared))
    assert wide is not None
    if domain.is_exact:
        assert coerce(wide, value_type(stored)) == domain


def test_casts_that_lose_something_have_no_domain() -> None:
    """Where the cast loses something there is no wider domain; where there is no cast nothing changes."""
    domain = Domain.of("bigint", [1])
    assert widen(domain, value_type("double")) is None
    assert widen(domain, value_type("int")) is None
    assert widen(domain, value_type("bigint")) is domain


def test_bitmaps_stay_bitmaps() -> None:
    """A bitmap over int is a bitmap over bigint, and a set where the wider type has no bitmaps."""
    ids = Domain.bitmap("int", range(0, 100, 3))
    wide, decimal, double = (widen(ids, value_type(t)) for t in ("bigint", "decimal(38,2)", "double"))
    assert wide is not None
    assert decimal is not None
    assert double is not None
    assert (wide.kind, decimal.kind, double.kind) == (Kind.BITMAP, Kind.SET, Kind.SET)
