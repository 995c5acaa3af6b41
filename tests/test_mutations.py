"""The bugs that `make mutation` plants can be planted, and the tests that should catch them exist."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(TOOLS)
    return import_module("mutation_check")


def test_each_bug_can_be_planted(checker: Any) -> None:
    assert checker.check_texts(checker.MUTATIONS) == []


def test_what_is_gone_is_told(checker: Any) -> None:
    """A text that is not in its file, a file and a test that are not there: the check above can fail."""
    bug = checker.MUTATIONS[0]
    gone = [replace(bug, text="not there"), replace(bug, tests=("tests/test_gone.py",))]
    gone.append(replace(bug, tests=("tests/test_mutations.py::test_gone",)))
    assert [len(checker.check_texts([mutation])) for mutation in [bug, *gone]] == [0, 1, 1, 1]
