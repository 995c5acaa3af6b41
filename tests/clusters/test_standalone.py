"""Headgate on a standalone cluster: a master and two workers, and a driver that was submitted with Headgate's wheel.

Where network namespaces can be made, the workers are in one of their own, and reach the driver through a router.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from standalone import Place, Standalone

from tests.clusters.networks import Network, NoNetwork
from tests.clusters.submitting import build_wheel, submit

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("standalone cluster"),
]

PROGRAM = Path(__file__).with_name("program.py")
# what tests of one process show, too
THOROUGH = ["stream", "taken"]


@dataclass(frozen=True)
class Told:
    """What the program found, how many workers were left when it had ended, and why there was no firewall."""

    found: dict[str, Any]
    workers_left: int
    no_network: str

    def __getitem__(self, scenario: str) -> Any:
        return self.found[scenario]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One cluster, one program: starting them takes longer than what is done on them."""
    home = tmp_path_factory.mktemp("standalone")
    wheel = build_wheel(home / "wheel")
    with ExitStack() as stack:
        network, why = None, ""
        try:
            network = stack.enter_context(Network())
        except NoNetwork as error:
            why = str(error)
        place = Place(network.workers, network.command) if network else Place()
        host = network.driver if network else "127.0.0.1"
        cluster = stack.enter_context(Standalone([place, place], host=host, home=home / "cluster"))
        given = {
            "workers": [worker.pid for worker in cluster.workers],
            "router": network.router if network else "",
            "left_out": [] if os.environ.get("HEADGATE_SUITES") == "all" else THOROUGH,
        }
        (home / "program").mkdir()
        found = submit(cluster.url, PROGRAM, home / "program", given, wheel=wheel, host=host)
        return Told(found, cluster.registered(), why)


def check_same(found: dict[str, Any]) -> None:
    """The query ended well, with the rows that it has without Headgate."""
    assert found["errors"] == []
    assert found["rows"] > 0
    assert found["ended"]
    assert found["same"]


def test_executors_need_nothing_but_a_bare_python(told: Told) -> None:
    """The driver has Headgate from the wheel; the Python of executors finds it only when a zip archive is shipped."""
    driver, executors = told["python"]

    assert ".whl/headgate/" in driver
    assert executors == [["pyspark"]]
    assert told["shipped"] == [["headgate", "pyspark"]]


def test_filters_of_a_batch_query_leave_files_unread(told: Told) -> None:
    """The rows are the same with filters and without, and two files of forty are read."""
    found = told["batch"]

    assert (found["same"], found["rows"], found["failures"]) == (True, 2, [])
    assert found["states"]["k"] == "applied"
    assert found["files"] == [2, 40]


def check_late(found: dict[str, Any]) -> None:
    """Both executors had begun, then had the filter; the files that they had not begun stayed closed."""
    check_same(found)
    assert found["failures"] == []
    assert found["steps"] == [True, True]
    assert found["states"]["k"] == "applied late"
    assert found["late"]["k"]["files"] == 38
    assert found["files"] == [2, 40]


def test_late_filters_reach_executors(told: Told) -> None:
    """They come through the coordinator to processes that Spark's workers have started."""
    check_late(told["late"])
    assert (told["late"]["late"]["k"]["opened_before"], told["late"]["late"]["k"]["opened_cut_off"]) == (2, 0)


def test_the_coordinator_listens_where_the_settings_say(told: Told) -> None:
    """Executors find it at the host and port of the settings; without a page, its other calls are still answered."""
    url, settings = told["late"]["address"]

    assert url == f"http://{settings['coordinator_host']}:{settings['coordinator_port']}"
    assert told["late"]["statuses"] == [404, 200]


@pytest.mark.thorough
def test_late_rows_of_a_stream_are_not_read(told: Told) -> None:
    """The output is the same; a late file is not opened, and late rows of another are not read."""
    found = told["stream"]

    assert (found["same"], found["rows"]) == (True, 3)
    assert (found["late"][:4], found["skipped"][:4]) == ([0, 0, 1000, 904], [0, 0, 1, 0])


@pytest.mark.thorough
def test_a_taken_port_costs_the_late_filters_alone(told: Told) -> None:
    """The query runs with the same rows, and the report names the port and the setting."""
    found = told["taken"]

    check_same(found)
    assert found["states"] == {}
    assert any(f"port {found['port']}: " in text and "coordinator.port" in text for text in found["failures"])


def test_executors_behind_a_firewall_read_without_late_filters(told: Told) -> None:
    """Rows are the same; the report names the address that executors cannot reach. Opened again, filters arrive."""
    if told.no_network:
        pytest.skip(told.no_network)
    found = told["firewall"]
    for query in found["cut_off"]:
        check_same(query)
        assert (query["failures"], query["states"]) == ([], {"k": "late"})
        assert "no task had it; " in query["arrival"]
        assert query["late"]["k"]["received"] is None
    last = found["cut_off"][-1]

    assert last["late"]["k"]["opened_cut_off"] > 0
    assert last["reason"].startswith("executors could not reach the coordinator at http://")
    assert f":{found['port']}, and opened {last['late']['k']['opened_cut_off']} files" in last["reason"]
    check_late(found["again"])


def test_a_worker_that_is_killed_changes_no_row(told: Told) -> None:
    """It goes with its executor when both executors have the filter and a task each; the other one reads the rest."""
    check_late(told["killed"])
    assert told["killed"]["late"]["k"]["opened_before"] == 1  # the other file was opened again, with the filter
    assert told.workers_left == 1
