"""A Connect client enables Headgate in its own session of a server that knows nothing of it.

One server in a process of its own, with executors of their own, and one client; each test looks at what the client saw.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import build_bootstrap
import pytest

from headgate.beside.start import NEEDED
from tests.connect.server import connect_server

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.slow, pytest.mark.xdist_group("connect")]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio in the client")
    home = tmp_path_factory.mktemp("connect")
    script = Path(__file__).with_name("client_script.py")
    with connect_server(home) as (address, server):
        done = subprocess.run(
            [sys.executable, script, address, home, str(server.pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_query_reads_less_and_gives_the_same_rows(told: dict[str, Any]) -> None:
    assert told["batch"] == {"same": True, "files": [2, 8], "states": ["applied"], "failures": []}


def test_late_filters_reach_the_executors_of_a_server(told: dict[str, Any]) -> None:
    assert told["late"]["same"]
    assert told["late"]["failures"] == []
    assert told["late"]["states"]
    assert set(told["late"]["states"]) <= {"applied", "applied late", "late"}


def test_explain_and_the_page_come_from_the_server(told: dict[str, Any]) -> None:
    assert "feeds df_" in told["explained"]
    assert told["page"].startswith("http://")
    assert told["left in the settings"] == "nothing"  # Spark writes settings into its event log, and there is a token
    assert told["views"] == ["dim", "fact", "middle"]
    assert all("\n" not in shown for shown in told["shown"])


def test_sessions_do_not_see_each_other(told: dict[str, Any]) -> None:
    assert not told["other session"]
    assert told["the other goes on"]


def test_disabling_puts_the_session_back(told: dict[str, Any]) -> None:
    same, note = told["disabled"]
    assert same
    assert "not enabled" in note
    assert told["enabled again"]["files"] == [2, 8]


def test_a_closed_session_ends_its_process(told: dict[str, Any]) -> None:
    assert told["closed"]


def test_a_killed_process_costs_the_filters_only(told: dict[str, Any]) -> None:
    assert told["killed"]
    assert "has ended" in told["killed, asked"] or "beside the Connect server failed" in told["killed, asked"]
    assert told["killed, enabled again"]


def test_what_cannot_be_done_is_told_in_a_sentence(told: dict[str, Any]) -> None:
    assert "'eval' is not a command" in told["unknown command"]
    assert "cost, always or never" in told["bad setting"]
    assert "classic PySpark" in told["publish"]
    assert "has no Python to run Headgate with" in told["no python"]
    assert "lacks" in told["no packages"]
    assert "-m pip install" in told["no packages"]
    assert told["still answers"]
    forbidden, same = told["no artifacts"]
    assert forbidden.startswith("this Spark Connect server does not let a session bring a jar with a Java function: ")
    assert "artifacts are not allowed here" in forbidden
    assert "\n" not in forbidden
    assert same


def test_a_copy_of_an_enabled_session_runs_without_headgate(told: dict[str, Any]) -> None:
    """It has the rules of the original, but its executors have no classes of Headgate: its queries must not fail."""
    same, note, *enabled = told["cloned"]
    assert same, told["cloned"]
    assert enabled in ([], ["it was not refused"]), told["cloned"]
    assert note


def test_the_jar_is_made_of_the_sources() -> None:
    """`tools/build_bootstrap.py` makes it anew."""
    with zipfile.ZipFile(build_bootstrap.JAR) as jar:
        assert jar.read("SOURCES").decode() == build_bootstrap.sources_hash()


def test_the_server_is_asked_for_all_that_headgate_needs() -> None:
    """Each dependency of the package, by the name it is imported by."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[<>=;]", one)[0].strip() for one in project["dependencies"]}
    assert wanted - {"uvloop"} <= set(NEEDED)  # without uvloop, asyncio's own loop serves
