"""Plant known soundness bugs one at a time into a scratch copy of the repository, and see that the tests catch each.

    python tools/mutation_check.py                     every bug
    python tools/mutation_check.py --fast              those that tests without Spark should catch
    python tools/mutation_check.py --only "NULL|NaN"   those whose names a pattern finds

The tests are run once without a bug, and must pass: a test that fails anyway catches nothing. The exit code is 0 when
each bug was caught.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mutation import Mutation
from mutations import MUTATIONS

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "bench", "docs", "examples", "pyproject.toml", "README.md", "ARCHITECTURE.md", "Makefile")
PASSED, FAILED = 0, 1


def check_texts(mutations: Sequence[Mutation]) -> list[str]:
    """Return what is wrong with the mutations themselves: a text that is not in its file once, or a test gone."""
    wrong = []
    for mutation in mutations:
        path = ROOT / "src" / "headgate" / mutation.file
        count = path.read_text().count(mutation.text) if path.exists() else 0
        if count != 1:
            wrong.append(f"{mutation.name}: the text stands {count} times in {mutation.file}")
        wrong += [f"{mutation.name}: no {test}" for test in mutation.tests if not _exists(test)]
    return wrong


def _exists(test: str) -> bool:
    """Whether there is such a file or folder and, where a test is named, such a function in it."""
    place, _, name = test.partition("::")
    path = ROOT / place
    return path.exists() and (not name or f"def {name.partition('[')[0]}(" in path.read_text())


def copy_to(scratch: Path) -> None:
    """Copy what tests need."""
    skip = shutil.ignore_patterns("__pycache__", ".hypothesis", ".pytest_cache")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, scratch / name, ignore=skip)
        elif source.exists():
            shutil.copy(source, scratch / name)


def run_tests(scratch: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests in the scratch copy until one fails; return pytest's exit code and the end of what it said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *tests]
    # a case that a usual run leaves out may be the one that catches the bug
    environment = os.environ | {
        "PYTHONPATH": str(scratch / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HEADGATE_SUITES": "all",
    }
    ran = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    return ran.returncode, "\n".join((ran.stdout + ran.stderr).splitlines()[-15:])


def catcher(told: str) -> str:
    """Return the test that failed, as pytest names it."""
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", told, re.MULTILINE)
    return found[1] if found else "?"


def plant(scratch: Path, mutation: Mutation) -> tuple[int, str]:
    """Plant one bug, run its tests, and take it out again."""
    path = scratch / "src" / "headgate" / mutation.file
    whole = path.read_text()
    path.write_text(whole.replace(mutation.text, mutation.replacement))
    try:
        return run_tests(scratch, mutation.tests)
    finally:
        path.write_text(whole)


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant each bug; say which were caught and by what."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="leave out bugs that only tests with Spark can catch")
    parser.add_argument("--only", default="", help="plant only bugs whose names this pattern finds")
    chosen = parser.parse_args(arguments)
    mutations = [m for m in MUTATIONS if re.search(chosen.only, m.name) and not (chosen.fast and m.needs_spark)]
    if wrong := check_texts(mutations):
        print("\n".join(wrong))
        return 2
    with tempfile.TemporaryDirectory(prefix="headgate-mutations-") as home:
        scratch = Path(home)
        copy_to(scratch)
        code, told = run_tests(scratch, sorted({test for m in mutations for test in m.tests}))
        if code != PASSED:
            print(f"tests fail without any bug, so they would catch nothing:\n{told}")
            return 2
        caught = 0
        for mutation in mutations:
            code, told = plant(scratch, mutation)
            caught += code == FAILED
            verdict = f"caught by {catcher(told)}" if code == FAILED else "NOT CAUGHT" if code == PASSED else told
            print(f"{mutation.name}: {verdict}", flush=True)
    print(f"{len(mutations)} planted, {caught} caught")
    return 0 if caught == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
