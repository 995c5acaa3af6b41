"""Domains of several columns: all must hold, one impossible column makes everything impossible."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, TupleDomain, column_wise_union, strict_union
from headgate.domain.tuples import as_predicate
from headgate.errors import InvalidFilter
from tests.domain.strategies import exact_models, maybe_null, models

NAMES = {"k": "bigint", "s": "string", "d": "double"}
rows = st.fixed_dictionaries({column: maybe_null(name) for column, name in NAMES.items()})


@st.composite
def tuple_domains(draw: st.DrawFn, exact: bool = True) -> TupleDomain:
    """Domains of up to three columns, NONE and ALL among them."""
    strategy = exact_models if exact else models
    columns = draw(st.sets(st.sampled_from(sorted(NAMES))))
    return TupleDomain({column: draw(strategy(NAMES[column])).domain for column in sorted(columns)})


@given(tuple_domains(), tuple_domains(), rows)
def test_intersection_is_both(a: TupleDomain, b: TupleDomain, row: dict[str, Any]) -> None:
    """A row is in the intersection exactly when both let it through, whichever columns they constrain (F94)."""
    assert (a & b).contains(row) == (a.contains(row) and b.contains(row))
    assert a & b == b & a
    assert a & a == a
    assert (a & TupleDomain.none()).is_none
    assert a & TupleDomain.all() == a
    assert isinstance(a & b, TupleDomain)


@given(st.lists(tuple_domains(exact=False), max_size=4), rows)
def test_column_wise_union_covers(parts: list[TupleDomain], row: dict[str, Any]) -> None:
    """What any part lets through is let through; a column that some part does not constrain is dropped (F95)."""
    union = column_wise_union(parts)
    if any(part.contains(row) for part in parts):
        assert union.contains(row)
    filled = [part for part in parts if not part.is_none]
    assert union.is_none == (not filled)
    for column in union.domains or {}:
        assert all(part.find(column) is not None for part in filled)


def test_column_wise_union_drops_columns_that_are_not_in_all() -> None:
    """`k = 1 or (k = 2 and s = 'a')` says something of k and nothing of s (F95)."""
    one = TupleDomain({"k": Domain.of("int", [1])})
    two = TupleDomain({"k": Domain.of("int", [2]), "s": Domain.of("string", ["a"])})
    assert column_wise_union([one, two]) == TupleDomain({"k": Domain.of("int", [1, 2])})
    assert column_wise_union([one, TupleDomain.none()]) == one
    assert column_wise_union([one, TupleDomain.all()]).is_all
    assert column_wise_union([]).is_none


@given(st.lists(tuple_domains(), max_size=3), rows)
def test_strict_union_is_exact_or_refuses(parts: list[TupleDomain], row: dict[str, Any]) -> None:
    """Where there is a strict union, it lets through exactly what some part does (F96)."""
    union = strict_union(parts)
    if union is not None:
        assert union.contains(row) == any(part.contains(row) for part in parts)


def test_strict_union_of_parts_that_differ_in_one_column() -> None:
    """One differing column is united; two differing columns, or a missing one, have no exact union (F96)."""
    both = lambda k, s: TupleDomain({"k": Domain.of("int", [k]), "s": Domain.of("string", [s])})  # noqa: E731
    expected = TupleDomain({"k": Domain.of("int", [1, 2]), "s": Domain.of("string", ["a"])})
    assert strict_union([both(1, "a"), both(2, "a")]) == expected
    assert strict_union([both(1, "a"), both(2, "b")]) is None
    assert strict_union([both(1, "a"), TupleDomain({"k": Domain.of("int", [2])})]) is None
    assert strict_union([both(1, "a"), TupleDomain({"k": Domain.of("int", [1])})]) == TupleDomain(
        {"k": Domain.of("int", [1])}
    )
    assert strict_union([both(1, "a"), TupleDomain.all()]) == TupleDomain.all()
    assert strict_union([both(1, "a"), TupleDomain.none()]) == both(1, "a")
    assert strict_union([]) == TupleDomain.none()


def test_strict_union_does_not_add_nan() -> None:
    """All numbers below 1 and all from 1 up are all numbers without NaN, which has its own place in the order (F96).

    In Trino two such ranges become ALL, NaN implicitly added, so it has to refuse; here the union is exact.
    """
    below = TupleDomain({"d": Domain.range("double", high=1.0, high_inclusive=False)})
    above = TupleDomain({"d": Domain.range("double", 1.0, float("inf"))})
    union = strict_union([below, above])
    assert union is not None
    assert union.contains({"d": 0.5})
    assert union.contains({"d": 1.0})
    assert not union.contains({"d": float("nan")})
    assert not union.contains({"d": None})


def test_fixed_values() -> None:
    """Columns with one possible value give it; NULL alone is a fixed value too, a value or NULL is not (F97)."""
    domain = TupleDomain(
        {
            "one": Domain.of("int", [5]),
            "bitmap": Domain.bitmap("int", [7]),
            "null": Domain.only_null("int"),
            "two": Domain.of("int", [1, 2]),
            "or_null": Domain.of("int", [1], null_allowed=True),
            "range": Domain.range("int", 1, 5),
        }
    )
    assert domain.fixed_values() == {"one": 5, "bitmap": 7, "null": None}
    assert TupleDomain.none().fixed_values() == TupleDomain.all().fixed_values() == {}


def test_columns_are_renamed_one_to_one() -> None:
    """Keys are renamed, keys renamed to None are dropped, and two keys may not become one (F97)."""
    domain = TupleDomain({"a": Domain.of("int", [1]), "b": Domain.of("int", [2])})
    assert domain.transform_keys({"a": "x", "b": "y"}.get) == TupleDomain(
        {"x": Domain.of("int", [1]), "y": Domain.of("int", [2])}
    )
    assert domain.transform_keys({"a": "x"}.get) == TupleDomain({"x": Domain.of("int", [1])})
    assert TupleDomain.none().transform_keys(lambda _: None).is_none
    with pytest.raises(InvalidFilter, match="two columns cannot both become 'x'"):
        domain.transform_keys(lambda _: "x")


@given(tuple_domains(exact=False), rows, st.sets(st.sampled_from(sorted(NAMES))))
def test_as_predicate_asks_only_about_what_is_known(domain: TupleDomain, row: dict[str, Any], known: set[str]) -> None:
    """A row of which only some columns are known may match unless one of them cannot (F98)."""
    predicate = as_predicate(domain)
    part = {column: row[column] for column in known}
    if domain.is_none:
        assert not predicate(part)
    else:
        assert predicate(part) == domain.only(known).contains(row)
    assert predicate(row) == domain.contains(row)
    assert predicate({}) == (not domain.is_none)
    assert predicate({**row, "stranger": 1}) == domain.contains(row)


def test_none_and_all() -> None:
    """One impossible column makes NONE, and unconstrained columns are left out."""
    assert TupleDomain({"k": Domain.none("int"), "s": Domain.of("int", [1])}).is_none
    assert TupleDomain({"k": Domain.all("int")}).is_all
    assert TupleDomain({"k": Domain.all("int")}) == TupleDomain.all()
    assert TupleDomain.none().domains is None
    assert TupleDomain.all().domains == {}
    assert TupleDomain.none().find("k") is TupleDomain.all().find("k") is None
    assert not TupleDomain.none().contains({})
    assert TupleDomain.all().contains({})
    assert TupleDomain.none() != TupleDomain.all()
    assert TupleDomain.none().simplify(1).is_none
    assert TupleDomain.none().only({"k"}).is_none
    assert TupleDomain.none().nbytes == 0


def test_the_columns_of_a_tuple_cannot_be_changed_from_outside() -> None:
    """The mapping that went in, and the one that comes out, are copies."""
    given_domains = {"k": Domain.of("int", [1])}
    domain = TupleDomain(given_domains)
    given_domains["k"] = Domain.none("int")
    out = domain.domains
    assert isinstance(out, dict)
    out.clear()
    assert domain == TupleDomain({"k": Domain.of("int", [1])})


def test_covering() -> None:
    """Fewer columns and wider domains cover; NONE is covered by everything and covers only itself."""
    wide = TupleDomain({"k": Domain.range("int", 0, 9)})
    narrow = TupleDomain({"k": Domain.of("int", [1]), "s": Domain.of("string", ["a"])})
    assert wide.covers(narrow)
    assert not narrow.covers(wide)
    assert wide.covers(TupleDomain.none())
    assert not TupleDomain.none().covers(wide)
    assert TupleDomain.none().covers(TupleDomain.none())
    assert not wide.covers(TupleDomain.all())
    assert TupleDomain.all().covers(wide)


def test_only_domains_are_taken() -> None:
    """A column needs a Domain; anything else is refused where it is put in."""
    with pytest.raises(InvalidFilter, match="column 'k' needs a Domain"):
        TupleDomain({"k": [1, 2]})  # type: ignore[dict-item]


def test_tuple_domains_are_values() -> None:
    """Equal tuple domains have equal hashes, and describe themselves by column."""
    one, two = (TupleDomain({"k": Domain.of("int", [1, 2]), "s": Domain.not_null("string")}) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != "x"
    assert hash(TupleDomain.none()) == hash(TupleDomain.none())
    assert repr(one) == "TupleDomain(k: set of 2 values, s: not null)"
    assert repr(TupleDomain.all()) == "TupleDomain(all)"
    assert repr(TupleDomain.none()) == "TupleDomain(none)"
    assert one.simplify(1).find("k") == Domain.range("int", 1, 2)
    assert one.nbytes > 0
