"""Two answers are the same when their rows are, whatever the order of ties; decimals exactly, doubles to 1e-9."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headgate.suites.compare import difference
from headgate.suites.queries import is_ordered, to_spark


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([(1, "a")], [(1, "a")]),
        ([(1,), (2,)], [(2,), (1,)]),
        ([(1.0,)], [(1.0 + 1e-12,)]),
        ([(float("nan"), None)], [(float("nan"), None)]),
        ([(None,), (1,)], [(1,), (None,)]),
    ],
)
def test_same(expected: list, found: list) -> None:
    """What Spark itself may give in another order or with another last digit is the same."""
    assert difference(expected, found) == ""


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([(1,)], []),
        ([(1,)], [(2,)]),
        ([(Decimal("1.10"),)], [(Decimal("1.11"),)]),
        ([(1.0,)], [(1.0 + 1e-6,)]),
        ([(None,)], [(0,)]),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)]),
    ],
)
def test_different(expected: list, found: list) -> None:
    """A missing, an extra or a changed row is told."""
    assert difference(expected, found)


def test_dialect() -> None:
    """Names in double quotes become names in backticks; intervals and dates take Spark's form."""
    assert to_spark('select 1 AS "order count"') == "select 1 AS `order count`"
    assert (
        to_spark("where d > cast('2000-01-01' as date) + interval '60' day")
        == "where d > DATE '2000-01-01' + interval 60 day"
    )


def test_ordered() -> None:
    """Only an ORDER BY of the whole query orders its rows."""
    assert is_ordered("select * from t order by a limit 3")
    assert not is_ordered("select * from (select * from t order by a)")
    assert not is_ordered("select rank() over (order by a) from t")
