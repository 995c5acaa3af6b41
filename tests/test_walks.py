"""The walks in ARCHITECTURE.md are true: each file exists, comes once in its walk, and has the functions named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headgate"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALKS = dict(re.findall(r"^\*\*(.+?)\*\*.*?\n\n((?:\|.*\n)+)", PAGE.partition("## Three walks")[2], re.MULTILINE))


def rows(walk: str) -> list[tuple[list[str], list[str]]]:
    """Return the files of each step, and the names in its description."""
    found = []
    for line in WALKS[walk].splitlines()[2:]:
        _, _, files, functions, _ = line.split("|")
        found.append((re.findall(r"`([^`]+)`", files), re.findall(r"`([\w.]+)`", functions)))
    return found


def source(name: str, beside: str) -> Path | None:
    """Return the file of a step; a class without a folder lies beside the one before it. A star is a whole folder."""
    if name.endswith(("*", "*.py")):
        return None
    path = name if "/" in name or name.endswith(".py") else f"{beside.rpartition('/')[0]}/{name}"
    return SOURCE / (f"catalyst/{path}.java" if path.startswith("java/") else path)


@pytest.mark.parametrize("walk", WALKS)
def test_each_step_is_there(walk: str) -> None:
    for files, functions in rows(walk):
        paths = [path for name in files if (path := source(name, files[0])) is not None]
        assert all(path.is_file() for path in paths), files
        text = "".join(path.read_text(encoding="utf-8") for path in paths) + " ".join(files)
        for name in functions if paths else []:
            assert re.search(rf"\b{name.rpartition('.')[2]}\b", text), f"{name} is not in {files}"


@pytest.mark.parametrize("walk", WALKS)
def test_no_file_comes_twice(walk: str) -> None:
    names = [name for files, _ in rows(walk) for name in files]
    assert len(names) == len(set(names))


def test_there_are_three_walks() -> None:
    assert list(WALKS) == ["A batch query", "A late filter", "A micro-batch"]
