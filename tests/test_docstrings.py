"""Run the examples in the docstrings of every module."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
NAMES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.glob("headgate/**/*.py")
)


@pytest.mark.parametrize("name", NAMES)
def test_docstring_examples_hold(name: str) -> None:
    """What a docstring shows is what happens."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_examples_are_found() -> None:
    """The test above has something to run."""
    assert doctest.testmod(importlib.import_module("headgate.domain.domain")).attempted > 0
