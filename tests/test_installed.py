"""The wheel in an empty environment: its declared dependencies suffice, the README's first lines run, and the command.

The packages that it declares, and those that they declare, come from the environment of the tests; nothing else does.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.clusters.submitting import build_wheel
from tests.test_readme import README, blocks_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

AFTERWARDS = """
from headgate.cli.app import app
query = ["sql", "select count(*) n from days", "--table", f"days={home}/days.parquet", "--format", "csv"]
app(query, standalone_mode=False)
"""


def needed(names: list[str]) -> set[str]:
    """Return some packages and all that they declare for this platform, without extras."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name in found:
            continue
        found.add(name)
        wanted = (Requirement(line) for line in distribution(name).requires or [])
        names += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def link(name: str, site: Path) -> None:
    """Put an installed package into another environment, as it lies here."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files if file.parts[0] != ".."}:
        target = Path(str(distribution(name).locate_file(top)))
        if target.name != "__pycache__" and not (site / top).exists():
            (site / top).symlink_to(target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that pip has put the wheel into, and was not allowed to look for more."""
    home = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(home)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    (site,) = (home / "venv").glob("lib/python*/site-packages")
    declared = [Requirement(line) for line in distribution("headgate").requires or []]
    for name in needed([one.name for one in declared if one.marker is None or one.marker.evaluate({"extra": ""})]):
        link(name, site)
    programs = home / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-index"]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return programs


def run(*command: str | Path, where: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=where)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_command_tells_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "headgate", "--version", where=tmp_path).strip().endswith(distribution("headgate").version)


def test_the_first_lines_of_the_readme_and_a_query(installed: Path, tmp_path: Path) -> None:
    """In one process, as Spark takes long to start; the command finds the session of the README."""
    example, shown = (
        next(block.text for block in blocks_of(README.read_text()) if block.language == language)
        for language in ("python", "output")
    )
    (tmp_path / "example.py").write_text(example + AFTERWARDS)
    told = run(installed / "python", "-I", "example.py", where=tmp_path)
    assert told.splitlines() == [*shown.splitlines(), '"n"', "200"]


def test_nothing_else_is_there(installed: Path, tmp_path: Path) -> None:
    """What only the tests need cannot be imported, so what ran above needed none of it."""
    told = "import importlib.util as u; print([n for n in ('pytest', 'hypothesis', 'lance', 'grpc') if u.find_spec(n)])"
    assert run(installed / "python", "-I", "-c", told, where=tmp_path).strip() == "[]"
