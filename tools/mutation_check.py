"""Plant known soundness bugs one at a time into a scratch copy of the repository, and see that the tests catch each.

    python tools/mutation_check.py                     every bug
    python tools/mutation_check.py --fast              those that tests without Spark should catch
    python tools/mutation_check.py --only "NULL|NaN"   those whose names a pattern finds

The tests are run once without a bug, and must pass: a test that fails anyway catches nothing. The exit code is 0 when
each bug was caught. Tests of Delta and Iceberg have the PySpark and the jars of tools/with_table_jars.sh; where they
cannot be had, bugs that only these tests can catch are left out, with a sentence.
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
from functools import cache
from pathlib import Path

from mutation import Mutation
from mutations import MUTATIONS

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "bench", "docs", "examples", "pyproject.toml", "README.md", "ARCHITECTURE.md", "Makefile")
PASSED, FAILED = 0, 1
TABLES = "tests/sources/"


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
    if any(test.startswith(TABLES) for test in tests):
        spark, jars = table_places()
        environment |= {"PYTHONPATH": os.pathsep.join((str(scratch / "src"), spark)), "HEADGATE_TABLE_JARS": jars}
    ran = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    return ran.returncode, "\n".join((ran.stdout + ran.stderr).splitlines()[-15:])


@cache
def table_places() -> tuple[str, str]:
    """Return where the PySpark of Delta and Iceberg lies, and their jars; nothing where they cannot be had."""
    tell = "import os; print('found', os.environ['PYTHONPATH'], os.environ['HEADGATE_TABLE_JARS'])"
    command = [str(ROOT / "tools" / "with_table_jars.sh"), os.path.relpath(sys.prefix, ROOT), "-c", tell]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    words = next((line.split() for line in told if line.startswith("found ")), ["", "", ""])
    return words[1], words[2]


def _runnable(mutations: Sequence[Mutation]) -> list[Mutation]:
    """Leave out what needs tables where there are none."""
    of_tables = [m for m in mutations if m.tests[0].startswith(TABLES)]
    if of_tables and not table_places()[1]:
        print(f"{len(of_tables)} bugs are left out: the jars of Delta and Iceberg could not be fetched.")
        return [m for m in mutations if m not in of_tables]
    return list(mutations)


def _fail_anyway(scratch: Path, mutations: Sequence[Mutation]) -> str:
    """Run all tests without a bug, those of tables apart; return what was said if some fail."""
    tests = sorted({test for m in mutations for test in m.tests})
    of_tables = [test for test in tests if test.startswith(TABLES)]
    for some in ([test for test in tests if test not in of_tables], of_tables):
        if some and (ran := run_tests(scratch, some))[0] != PASSED:
            return ran[1]
    return ""


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
    mutations = _runnable(mutations)
    with tempfile.TemporaryDirectory(prefix="headgate-mutations-") as home:
        scratch = Path(home)
        copy_to(scratch)
        if told := _fail_anyway(scratch, mutations):
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
