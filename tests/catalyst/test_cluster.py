"""Executors in processes of their own read narrowed scans and test rows as the driver's own threads do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalyst.cluster_runs import run_script

# a usual run has tests/clusters, whose executors are in processes of their own too
pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.xdist_group("cluster"),
]

SCRIPT = "tests.catalyst.cluster_script"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script found on a cluster of two executors."""
    return run_script(SCRIPT, tmp_path_factory.mktemp("cluster"))


def test_executors_read_narrowed_scans(told: dict[str, Any]) -> None:
    """A scan narrowed to row groups gives the same rows on executors: they have got Headgate's classes."""
    found = told["narrowed"]

    assert found["failures"] == []
    assert found["same"]
    assert found["rows"] == 10
    assert found["applied"] == ["k"]
    assert found["files"] == [1, 6]
    assert found["groups"] == [1, 48]
    assert found["executors"] == 2


def test_executors_test_rows_against_a_bitmap(told: dict[str, Any]) -> None:
    """A row filter of a thousand keys travels to executors as a bitmap."""
    found = told["bitmap"]

    assert found["failures"] == []
    assert found["same"]
    assert found["rows"] == 1000
    assert found["applied"] == ["k"]
    assert found["bits"]
    assert found["groups"][0] < found["groups"][1]


@pytest.mark.thorough
def test_an_executor_that_dies_changes_no_row(told: dict[str, Any]) -> None:
    """After kill -9 of one executor the query's tasks run again, and the rows are the same."""
    found = told["killed"]

    assert found["errors"] == []
    assert found["was_running"]
    assert found["one_died"]
    assert found["same"]
    assert found["rows"] == 1000
    assert found["applied"] == ["k"]
    assert found["failures"] == []
