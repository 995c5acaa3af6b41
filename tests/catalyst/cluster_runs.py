"""Run a script in a process of its own against a small cluster, and take the one line of JSON that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.spark_home import spark_home

ROOT = Path(__file__).resolve().parents[2]


def run_script(module: str, home: Path, *arguments: str, timeout: float = 270) -> dict[str, Any]:
    """Return what the script found; its log stays in the folder, and is shown when it found nothing."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "SPARK_HOME": str(spark_home(home / "spark")),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    with (home / "log").open("w") as log:
        ran = subprocess.run(
            [sys.executable, "-m", module, str(home), *arguments],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=timeout,
            check=False,
        )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, (home / "log").read_text()[-5000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT "))
    return found
