"""Late filters reach executors in processes of their own, close what is left to read, and lose no row in a fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalyst.cluster_runs import run_script

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("late cluster"),
]

SCRIPT = "tests.catalyst.late_cluster_script"
# matches lie in the file that is read last, and in one row group of another file, which may be read before or after
LAST_FILE, MATCHING_GROUP = 1_000, 2_000


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script found on a cluster of two executors."""
    return run_script(SCRIPT, tmp_path_factory.mktemp("late"), timeout=850)


def assert_same(found: dict[str, Any]) -> None:
    """The query ended well, with the rows that it has without Headgate."""
    assert found["errors"] == []
    assert found["failures"] == []
    assert found["rows"] > 0
    assert found["ended"]
    assert found["same"]


def check_filters_reach_executors_through_the_coordinator(told: dict[str, Any]) -> None:
    """Executors hear of a filter that nobody waited for, and remove rows or row groups with it."""
    found = told["reaching"]

    assert_same(found)
    assert found["states"] == {"k": "applied late"}
    late = found["late"]["k"]
    assert late["row_groups"] + late["rows"] > 0
    assert late["asked"] <= late["published"] <= late["received"] + 0.001  # executors count whole milliseconds
    assert late["received"] <= late["applied"]


def check_a_filter_that_comes_in_the_middle_closes_the_remaining_files(told: dict[str, Any]) -> None:
    """Tasks that start when executors have the filter read no row, but for the row groups that hold matches."""
    found = told["closing"]

    assert_same(found)
    assert found["steps"] == [True, True, True]  # the query still ran: held back, asked for, informed
    assert found["states"]["k"] == "applied late"
    assert sum(rows > 0 for rows in found["before"]) >= 9  # a tenth of the files were read before it came
    assert len(found["after"]) > 4
    assert sorted(rows for rows in found["after"] if rows) in ([LAST_FILE], [LAST_FILE, MATCHING_GROUP])
    assert found["late"]["k"]["files"] >= len(found["after"]) - 2


def check_losing_the_coordinator_changes_no_row(told: dict[str, Any]) -> None:
    """The coordinator goes while the scan waits for its filter; the query ends, and the next one has filters again."""
    found = told["coordinator"]

    assert_same(found)
    assert found["was_running"]
    assert found["states"] == {"k": "late"}
    assert_same(found["after"])
    assert found["after"]["late"]["k"]["published"] is not None


def check_a_filter_of_a_table_that_has_grown_since_is_not_used(told: dict[str, Any]) -> None:
    """What was learned before the change travels with no task, and no executor asks for it."""
    found = told["outdated"]

    assert found["failures"] == []
    assert len(found["published"]) == 1
    assert found["published"][0] is not None
    assert found["rows"] == 301
    assert found["same"]


def check_killing_an_executor_changes_no_row(told: dict[str, Any], amid: str) -> None:
    """After kill -9 of one executor its tasks run again, and the rows are the same."""
    assert len(told[amid]) == 1
    for found in told[amid]:
        assert_same(found)
        assert found["struck"]
        assert found["died"]
        assert "k" in found["states"]


def test_late_filters_on_a_cluster(told: dict[str, Any]) -> None:
    """One run of the script shows all of it; starting a cluster takes longer than what is done on it."""
    check_filters_reach_executors_through_the_coordinator(told)
    check_a_filter_that_comes_in_the_middle_closes_the_remaining_files(told)
    check_losing_the_coordinator_changes_no_row(told)
    check_a_filter_of_a_table_that_has_grown_since_is_not_used(told)
    for amid in ("collecting", "scanning"):
        check_killing_an_executor_changes_no_row(told, amid)
