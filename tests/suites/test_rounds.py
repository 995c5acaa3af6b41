"""How often a query is run: what is slow less often, what is near more often, in both directions alike."""

from __future__ import annotations

import pytest

from headgate.suites.runner import QueryResult


def measured(off: float, on: float, rounds: int) -> QueryResult:
    return QueryResult("q01", rounds={"off": [off] * rounds, "on": [on] * rounds})


@pytest.mark.parametrize(
    ("result", "rounds", "seconds", "expected"),
    [
        pytest.param(measured(1.0, 1.0, 0), 0, 0.0, False, id="only compared"),
        pytest.param(measured(1.0, 1.0, 0), 1, 200.0, True, id="at least one round"),
        pytest.param(measured(1.0, 0.1, 1), 3, 5.0, True, id="as many as were asked for"),
        pytest.param(measured(30.0, 30.0, 1), 3, 90.0, False, id="slow: enough"),
        pytest.param(measured(1.0, 0.5, 1), 1, 3.0, False, id="clearly faster"),
        pytest.param(measured(0.5, 1.0, 1), 1, 3.0, False, id="clearly slower"),
        pytest.param(measured(1.0, 0.9, 1), 1, 4.0, True, id="nearly the same, faster"),
        pytest.param(measured(0.9, 1.0, 2), 1, 6.0, True, id="nearly the same, slower"),
        pytest.param(measured(0.9, 1.0, 3), 1, 8.0, False, id="near, but three rounds are enough"),
        pytest.param(measured(9.0, 9.0, 1), 1, 36.0, False, id="near, but slow"),
    ],
)
def test_rounds(result: QueryResult, rounds: int, seconds: float, *, expected: bool) -> None:
    assert result.needs_another(rounds, seconds) is expected
