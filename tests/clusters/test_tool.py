"""`python tools/standalone.py` as a person uses it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from standalone import NoCluster, Place, Standalone

from tests.clusters.submitting import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.slow, pytest.mark.thorough]


def processes_with(text: str) -> list[int]:
    """Return the processes whose environment or command has a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:  # it has ended, or belongs to somebody else
                continue
            if text.encode() in told:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_cluster_and_removes_its_folder(tmp_path: Path, number: signal.Signals) -> None:
    """The address is printed when the worker is registered; after the signal no process is left, and no file."""
    command = [sys.executable, str(ROOT / "tools" / "standalone.py"), "--workers", "1"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout is not None
        address = tool.stdout.readline()
        running = processes_with(str(tmp_path))
        tool.send_signal(number)
        ended = tool.wait(60)

    assert re.fullmatch(r"spark://127\.0\.0\.1:\d+\n", address)
    assert len(running) == 3  # the tool, the master and the worker
    assert ended == 128 + number
    assert processes_with(str(tmp_path)) == []
    assert list(tmp_path.glob("standalone-*")) == []


def test_a_worker_that_cannot_start_is_told_with_its_log(tmp_path: Path) -> None:
    """A worker at an address that this machine does not have ends at once, and nothing is left running."""
    with (
        pytest.raises(NoCluster, match="could not bind"),
        Standalone([Place("192.0.2.77")], home=tmp_path / "cluster"),
    ):
        pass

    assert processes_with(str(tmp_path / "cluster")) == []
