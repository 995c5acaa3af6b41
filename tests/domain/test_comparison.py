"""What a join clause lets through on the probe side follows from the domain of the build side."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Comparison, Domain, Kind, TupleDomain, applied, onto_probe, value_type
from headgate.domain.comparison import COMPARISONS
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, maybe_null, models, order_key, per_type, probes

NAN = float("nan")
every_type = pytest.mark.parametrize("name", TYPES)
every_op = pytest.mark.parametrize("op", COMPARISONS)


def joins(op: str, name: str, probe: Any, build: Any) -> bool:
    """Whether Spark's ``probe op build`` is true of two values."""
    if probe is None or build is None:
        return op == "<=>" and probe is build
    a, b = order_key(name, probe), order_key(name, build)
    return {"=": a == b, "<=>": a == b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


@every_type
@per_type
@given(data=st.data())
def test_a_probe_value_that_joins_is_let_through(name: str, data: st.DataObject) -> None:
    """For each operator, a value that compares true with some build value is in, and any other is out (B34).

    NULL is out, but for ``<=>``, which always lets it in. A build side of every value there is counts as unknown, and
    lets every value through.
    """
    build, asked = data.draw(st.lists(maybe_null(name), max_size=5)), data.draw(probes(name))
    domain = Domain.of_array(name, build)
    for op in COMPARISONS:
        kept = [x for x in asked if x in applied(op, domain)]
        wanted = [x for x in asked if any(joins(op, name, x, y) for y in build) or (x is None and op == "<=>")]
        if op in ("=", "<=>") or domain.kind not in (Kind.NOT_NULL, Kind.ALL):
            assert [repr(x) for x in kept] == [repr(x) for x in wanted]
        else:
            assert {repr(x) for x in wanted} <= {repr(x) for x in kept}


@every_type
@per_type
@given(data=st.data())
def test_every_kind_of_build_domain_is_applied_soundly(name: str, data: st.DataObject) -> None:
    """Whatever form the build values are kept in, a probe value that joins one of them is let through."""
    model, asked = data.draw(models(name)), data.draw(probes(name))
    members = [y for y in asked if y in model.domain]
    for op in COMPARISONS:
        probe = applied(op, model.domain)
        lost = [x for x in asked if x not in probe and any(joins(op, name, x, y) for y in members)]
        assert not lost
        assert probe.null_allowed == (op == "<=>")


@every_type
@every_op
def test_the_ends(name: str, op: str) -> None:
    """NONE stays NONE and ALL stays ALL without NULL; an all-NULL build side matches nothing (B34)."""
    null_safe = op == "<=>"
    assert applied(op, Domain.none(name)) == Domain.none(name).with_null(null_safe)
    assert applied(op, Domain.only_null(name)) == Domain.none(name).with_null(null_safe)
    assert applied(op, Domain.all(name)) == Domain.not_null(name).with_null(null_safe)
    assert applied(op, Domain.not_null(name)) == Domain.not_null(name).with_null(null_safe)


def test_null_safe_equality_keeps_nulls() -> None:
    """``<=>`` lets NULL through; an empty build side then lets only NULL through (B35)."""
    assert applied("<=>", Domain.of("int", [1])) == Domain.of("int", [1], null_allowed=True)
    assert applied("<=>", Domain.none("int")) == Domain.only_null("int")
    assert applied("=", Domain.of("int", [1], null_allowed=True)) == Domain.of("int", [1])


def test_nan_is_the_largest_build_value() -> None:
    """With a NaN in the build side, all numbers are below its largest; above the smallest stays as it is (B34)."""
    build = Domain.of("double", [1.0, NAN])
    assert applied("<", build) == Domain.range("double", high=math.inf)
    assert applied("<=", build) == Domain.not_null("double")
    assert applied(">", build) == Domain.range("double", 1.0, low_inclusive=False)
    assert NAN in applied(">", build)
    assert applied(">", Domain.single("double", NAN)).is_none


def test_ends_of_a_type_leave_nothing_beyond() -> None:
    """Nothing is below the smallest value of a type or above its largest."""
    assert applied("<", Domain.single("tinyint", -128)).is_none
    assert applied(">", Domain.single("tinyint", 127)).is_none
    assert applied("<", Domain.single("string", "")).is_none
    assert applied(">", Domain.single("string", "\U0010ffff")) == Domain.range("string", "\U0010ffff\0")


def test_other_operators_are_refused() -> None:
    """An operator that is not a comparison is an InvalidFilter that names those that are."""
    for op in ("<>", "==", "like", ""):
        with pytest.raises(InvalidFilter, match="expected one of =, <=>"):
            applied(op, Domain.all("int"))


def test_one_build_column_to_many_probe_columns() -> None:
    """One build column constrains every probe column that is compared with it, each by its own operator (B33)."""
    clauses = [Comparison("a", "=", "k"), Comparison("b", "<", "k"), Comparison("c", "<=>", "k")]
    probe = onto_probe(clauses, {"k": Domain.of("int", [3, 7])})
    assert probe == TupleDomain(
        {
            "a": Domain.of("int", [3, 7]),
            "b": Domain.range("int", high=6),
            "c": Domain.of("int", [3, 7], null_allowed=True),
        }
    )


def test_two_build_columns_onto_one_probe_column() -> None:
    """A probe column compared with two build columns must satisfy both (B36)."""
    clauses = [Comparison("a", ">=", "low"), Comparison("a", "<=", "high")]
    build = {"low": Domain.of("int", [3, 5]), "high": Domain.of("int", [8, 9])}
    assert onto_probe(clauses, build) == TupleDomain({"a": Domain.range("int", 3, 9)})
    apart = {"low": Domain.of("int", [10]), "high": Domain.of("int", [8])}
    assert onto_probe(clauses, apart).is_none


def test_unused_and_unknown_columns_are_harmless() -> None:
    """A build column that nobody compares constrains nothing; a clause whose column is unknown lets all pass (B37)."""
    build = {"k": Domain.of("int", [1]), "unused": Domain.none("int")}
    clauses = [Comparison("a", "=", "k"), Comparison("b", "=", "missing")]
    assert onto_probe(clauses, build) == TupleDomain({"a": Domain.of("int", [1])})
    assert onto_probe([], build).is_all


def test_an_all_null_column_does_not_close_the_others() -> None:
    """With ``<=>`` on a column that is NULL in every build row, probe rows with NULL there still match (B35).

    Trino loses them (its issue 25943): one such column makes every filter of the join NONE.
    """
    clauses = [Comparison("a", "<=>", "x"), Comparison("b", "=", "y")]
    for all_null in (Domain.only_null("int"), Domain.none("int")):
        probe = onto_probe(clauses, {"x": all_null, "y": Domain.of("int", [1])})
        assert probe.contains({"a": None, "b": 1})
        assert not probe.contains({"a": 5, "b": 1})


def test_the_probe_column_may_be_stored_in_a_narrower_type() -> None:
    """The domain of the comparison is carried to the type of the column; a lossy cast lets everything through (B31)."""
    build = {"k": Domain.of("bigint", [1, 2**40])}
    narrow = [Comparison("a", "=", "k", stored=value_type("int"))]
    assert onto_probe(narrow, build) == TupleDomain({"a": Domain.of("int", [1])})
    lossy = [Comparison("a", "=", "k", stored=value_type("string"))]
    assert onto_probe(lossy, build).is_all
    open_end = [Comparison("a", "<", "k", stored=value_type("int"))]
    assert onto_probe(open_end, build) == TupleDomain({"a": Domain.not_null("int")})
