"""The Java classes lie in rooms, as the Python modules do, and a room knows only the rooms before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headgate.catalyst

JAVA = Path(headgate.catalyst.__file__).parent / "java"
# From the ground up. A room imports only what stands before it; there are no exceptions.
ROOMS = ("interop", "scan", "build", "late", "format", "tap", "changes", "stream", "plan")
NAMED = re.compile(r"\bheadgate\.([a-z]+)\.(\w+|\*)")


def sources_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.java") if path.name != "package-info.java")


def room_of(root: Path, path: Path) -> str:
    return "/".join(path.relative_to(root).parent.parts)


def misplaced(root: Path) -> Iterator[str]:
    """Classes outside the rooms, and those whose package is not their folder."""
    for path in sources_of(root):
        room = room_of(root, path)
        if room not in ROOMS:
            yield f"{path.name}: {room or 'the top'} is no room"
        elif not path.read_text().startswith(f"package headgate.{room};\n"):
            yield f"{room}/{path.name}: does not say that it is in {room}"


def wrong_directions(root: Path) -> Iterator[str]:
    """Names of other rooms that stand after their own, imported or written out."""
    for path in sources_of(root):
        room = room_of(root, path)
        for line in path.read_text().splitlines():
            for other, name in NAMED.findall(line) if not line.startswith("package ") else []:
                if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                    yield f"{room}/{path.name}: {other}.{name} stands above it"


def useless_imports(root: Path) -> Iterator[str]:
    for path in sources_of(root):
        text = path.read_text()
        for line, name in re.findall(r"^(import [\w.]+\.([A-Z]\w*\$?);)$", text, re.MULTILINE):
            if not re.search(rf"\b{re.escape(name)}(?!\w)", text.replace(line, "")):
                yield f"{path.name}: {name} is imported and not used"


def hidden_methods(root: Path) -> Iterator[str]:
    """Janino makes static methods of private ones, so Java's serialization does not find them."""
    for path in sources_of(root):
        for name in re.findall(
            r"private [\w ]*\b(writeObject|readObject|writeReplace|readResolve)\(", path.read_text()
        ):
            yield f"{path.name}: {name} is private"


CHECKS = (misplaced, wrong_directions, useless_imports, hidden_methods)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_source(check) -> None:
    assert sources_of(JAVA)
    assert list(check(JAVA)) == []


def test_each_room_says_its_job() -> None:
    assert {folder.name for folder in JAVA.iterdir()} == set(ROOMS)
    for room in ROOMS:
        text = (JAVA / room / "package-info.java").read_text()
        assert re.fullmatch(rf"/\*\*\n( \* .+\n)+ \*/\npackage headgate\.{room};\n", text)


def test_architecture_page_names_the_rooms_in_order() -> None:
    page = (Path(__file__).resolve().parents[2] / "ARCHITECTURE.md").read_text()
    assert tuple(re.findall(r"^\| `java/([a-z]+)` \|", page, re.MULTILINE)) == ROOMS


def test_no_room_is_ignored() -> None:
    """What git ignores does not come into the package either; a folder called build often is."""
    ignored = (Path(__file__).resolve().parents[2] / ".gitignore").read_text().split()
    assert not {f"{room}/" for room in ROOMS} & set(ignored)


# The checks themselves, on a made-up tree.


@pytest.mark.parametrize(
    ("check", "file", "text"),
    [
        (misplaced, "Top.java", "package headgate;\n"),
        (misplaced, "attic/Top.java", "package headgate.attic;\n"),
        (misplaced, "scan/inner/Top.java", "package headgate.scan.inner;\n"),
        (misplaced, "scan/Top.java", "package headgate.build;\n"),
        (wrong_directions, "scan/Top.java", "package headgate.scan;\nimport headgate.build.Build;\n"),
        (wrong_directions, "scan/Top.java", "package headgate.scan;\nimport headgate.plan.*;\n"),
        (wrong_directions, "scan/Top.java", "package headgate.scan;\nheadgate.late.LateState state;\n"),
        (useless_imports, "scan/Top.java", "package headgate.scan;\nimport java.util.List;\nclass Listed {}\n"),
        (hidden_methods, "scan/Top.java", "private synchronized void writeObject(ObjectOutputStream out) {}\n"),
        (hidden_methods, "scan/Top.java", "private Object writeReplace() {}\n"),
    ],
)
def test_a_fault_is_seen(tmp_path: Path, check, file: str, text: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert len(list(check(tmp_path))) == 1


def test_what_is_in_order_draws_no_complaint(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    imports = "import headgate.scan.Snapshot;\nimport java.util.List;\n"
    (tmp_path / "build" / "Kept.java").write_text(
        f"package headgate.build;\n\n{imports}class Kept {{ List of(Snapshot s) {{}} }}\n"
    )
    assert [complaint for check in CHECKS for complaint in check(tmp_path)] == []
