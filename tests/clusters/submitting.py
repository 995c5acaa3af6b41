"""Build Headgate's wheel, and submit a program with it to a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standalone import SPARK

ROOT = Path(__file__).resolve().parents[2]
# the interpreter that this environment was made from: no package of this environment is in its reach
BARE_PYTHON = getattr(sys, "_base_executable", sys.executable)


def build_wheel(folder: Path) -> Path:
    """Return the wheel of this repository."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    ran = subprocess.run([*pip, "-w", str(folder), str(ROOT)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return next(folder.glob("headgate-*.whl"))


def submit(
    master: str, program: Path, home: Path, arguments: Mapping[str, Any], *, wheel: Path, host: str
) -> dict[str, Any]:
    """Return what a program found: one line of JSON. What it says stays in the folder, and is shown else."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),  # for the helpers of the program; the driver finds Headgate in the wheel
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": host,
        "PYSPARK_PYTHON": BARE_PYTHON,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    command = ["bash", str(SPARK / "bin" / "spark-submit"), "--master", master, "--py-files", str(wheel)]
    driver = ["--driver-memory", "1g", "--conf", f"spark.driver.host={host}", "--conf", "spark.ui.enabled=false"]
    with (home / "log").open("w") as log, (home / "told").open("w") as told:
        subprocess.run(
            [*command, *driver, str(program), str(home), json.dumps(dict(arguments))],
            cwd=home,
            env=environment,
            stdout=told,
            stderr=log,
            timeout=270,
            check=False,
        )
    said = (home / "told").read_text()
    lines = [line for line in said.splitlines() if line.startswith("RESULT ")]
    assert lines, (home / "log").read_text()[-2000:] + said[-5000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT "))
    return found
