"""Run what the README shows, and check what it names.

Python blocks run in order in one namespace, in an empty directory. A block fenced as `output` is what the Python block
before it prints, to the character. Shell blocks may only name make targets that exist. Links must lead somewhere.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.query import waiting
from tests.batch.differential import settings

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SHELLS = {"sh", "bash", "shell", "console"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the line its text starts at, and its text."""

    language: str
    line: int
    text: str


def blocks_of(markdown: str) -> list[Block]:
    found = []
    for fence in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", markdown, re.MULTILINE | re.DOTALL):
        line = markdown.count("\n", 0, fence.start(2)) + 1
        found.append(Block(fence[1], line, fence[2]))
    return found


def run_blocks(blocks: list[Block], namespace: dict[str, object], page: str) -> None:
    """Execute the Python blocks; compare each `output` block with what the one before it printed."""
    printed = None
    for block in blocks:
        if block.language == "python":
            # The empty lines in front make a traceback name the line of the page.
            code = compile("\n" * (block.line - 1) + block.text, page, "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)  # the page's own code is the subject of this test
            printed = out.getvalue()
        elif block.language == "output":
            assert printed is not None, f"{page}:{block.line}: no Python block before this output"
            assert printed.rstrip() == block.text.rstrip(), f"{page}:{block.line}: the page shows other output"


def make_targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


def named_targets(blocks: list[Block]) -> set[str]:
    shell = "\n".join(block.text for block in blocks if block.language in SHELLS)
    commands = re.findall(r"(?:^|[;&|])[ \t]*(?:\$[ \t]+)?make((?:[ \t]+[^\s;&|#]+)*)", shell, re.MULTILINE)
    words = [word for arguments in commands for word in arguments.split()]
    return {word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)}


def broken_links(page: Path) -> list[str]:
    prose = re.sub(r"^```.*?^```\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
    inside = [target for target in targets if target and not re.match(r"[a-z]+:", target)]
    return [target for target in inside if not (page.parent / target).exists()]


@pytest.mark.spark
def test_readme_blocks_run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Python block of the README runs, and prints what the README says it prints."""
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    code = [block.text for block in blocks if block.language == "python"]
    assert code, "the README shows no Python"
    namespace: dict[str, object] = {"__name__": "__readme__"}
    if any(re.search(r"\bspark\b|SparkSession", text) for text in code):
        namespace["spark"] = request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, namespace, README.name)


def test_the_first_example_prints_the_same_on_a_busy_machine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query of a user may start before its filters are there; here it does, unless the example says otherwise."""
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    first = next(i for i, block in enumerate(blocks) if block.language == "output")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waiting, "_PATIENCE", 0.0)
    with settings(spark, spark_headgate_nonBlocking="true"):
        run_blocks(blocks[: first + 1], {"__name__": "__readme__"}, README.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_shell_blocks_name_real_targets(page: Path) -> None:
    """A reader can type each make command that a page shows."""
    targets = make_targets((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert {"test", "help"} <= targets
    assert named_targets(blocks_of(page.read_text(encoding="utf-8"))) <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page names a file of this repository."""
    assert broken_links(page) == []


def test_make_help_is_short() -> None:
    """`make help` stays short enough to read at a glance, and lists every target."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    explained = re.findall(r"^([a-z][a-z-]*):.*## ", makefile, re.MULTILINE)
    assert len(explained) <= 20
    assert set(explained) == make_targets(makefile)


def test_the_runner_sees_wrong_output() -> None:
    """The checks above can fail: wrong output, an unknown target and a dead link are each seen."""
    page = "```python\nprint(1 + 1)\n```\n\n```output\n3\n```\n"
    with pytest.raises(AssertionError, match="other output"):
        run_blocks(blocks_of(page), {}, "page.md")
    run_blocks(blocks_of(page.replace("3", "2")), {}, "page.md")


def test_the_reader_of_commands_sees_targets() -> None:
    shell = "```sh\ngit clone x && make demo   # make nothing\nmake test ARGS=-x\n$ make help\n```\n"
    assert named_targets(blocks_of(shell)) == {"demo", "test", "help"}


def test_the_reader_of_links_sees_dead_ones(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#there) [b](https://example.org) [c](gone.md)\n```\n[d](x.md)\n```\n", encoding="utf-8")
    assert broken_links(page) == ["gone.md"]
