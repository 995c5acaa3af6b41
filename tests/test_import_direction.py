"""Check the shape of the source: who may import whom, who may touch Java, how long things may be.

Each room (a folder or module directly under `src/headgate`) imports only itself and rooms above it in `ROOMS`.
All imports count: absolute, relative, inside functions and inside `if TYPE_CHECKING`.

The checker takes the folder to look at, so the tests at the end can show it a made-up tree and see it complain.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "headgate"

# The way of a filter, first to last. A room imports only what stands before it.
ROOMS = (
    "domain",
    "filters",
    "plan",
    "tables",
    "prune",
    "catalyst",
    "collect",
    "page",
    "coordinator",
    "observe",
    "query",
    "stream",
    "history",
    "session",
    "publish",
    "connect",
    "api",
    "beside",
    "comparison",
    "notebook",
    "graph",
    "read",
    "advise",
    "suites",
    "demo",
    "cli",
)
FOUNDATIONS = {"config", "errors", "typing"}  # importable from everywhere; import no room
ROOFS = {"__init__", "testing"}  # import everything; imported by no room
PLAN_NEVER_IMPORTS = {"pyspark", "py4j", "pyarrow"}
JAVA_ATTRIBUTES = {"_jvm", "_jdf", "_jsparkSession", "_jsc", "_gateway"}
NO_NAMES = {"utils", "util", "common"}
FILE_LINES = 420
FUNCTION_LINES = 50


@dataclass(frozen=True)
class Module:
    """One Python file below `root`, the folder of the package."""

    root: Path
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    @property
    def where(self) -> str:
        return self.path.relative_to(self.root).as_posix()

    @property
    def room(self) -> str:
        return self.path.relative_to(self.root).with_suffix("").parts[0]

    @property
    def package(self) -> tuple[str, ...]:
        """The package that a relative import of this module starts from."""
        return (self.root.name, *self.path.relative_to(self.root).parent.parts)

    def imports(self) -> Iterator[tuple[int, str]]:
        """Each (line, dotted name) this module imports, `from` names included, relative ones resolved."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from ((node.lineno, alias.name) for alias in names)
                case ast.ImportFrom(module=module, names=names, level=level):
                    base = ".".join([*self.package[: len(self.package) + 1 - level]] if level else [])
                    prefix = ".".join(part for part in (base, module) if part)
                    yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in names)
                case ast.Call(
                    func=ast.Name(id="__import__" | "import_module"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield node.lineno, name
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                    yield node.lineno, name


def modules_of(root: Path) -> list[Module]:
    return [Module(root, path) for path in sorted(root.rglob("*.py"))]


def wrong_directions(root: Path) -> Iterator[str]:
    """Imports that point down the list of rooms, and rooms that are not on it."""
    for module in modules_of(root):
        if module.room in ROOFS:
            continue
        if module.room not in {*ROOMS, *FOUNDATIONS}:
            yield f"{module.where}: {module.room} is not in the list of rooms"
            continue
        for line, name in module.imports():
            package, *inside = name.split(".")
            if package == root.name and (reason := why_not(module.room, inside)):
                yield f"{module.where}:{line}: imports {name}: {reason}"


def why_not(room: str, inside: list[str]) -> str | None:
    """The reason why `room` may not import the dotted name below the package, or None if it may."""
    target = inside[0] if inside else "__init__"
    if target in FOUNDATIONS or target == room:
        return None
    if room in FOUNDATIONS:
        return f"{room} imports no rooms"
    if target not in ROOMS:
        # The package itself offers every room at once; only the outermost room may take it.
        return None if room == ROOMS[-1] else "take it from the room that defines it"
    return None if ROOMS.index(target) < ROOMS.index(room) else f"{target} is not above {room}"


def foreign_imports_of_plan(root: Path) -> Iterator[str]:
    for module in modules_of(root):
        for line, name in module.imports():
            if module.room == "plan" and name.split(".")[0] in PLAN_NEVER_IMPORTS:
                yield f"{module.where}:{line}: plan imports {name}"


def java_outside_catalyst(root: Path) -> Iterator[str]:
    """Uses of py4j, or of the attributes through which PySpark reaches it, outside the one room for that."""
    for module in modules_of(root):
        if module.room == "catalyst":
            continue
        for line, name in module.imports():
            if name.split(".")[0] == "py4j":
                yield f"{module.where}:{line}: imports {name}"
        for node in ast.walk(module.tree):
            match node:
                case ast.Attribute(attr=name) if name in JAVA_ATTRIBUTES:
                    yield f"{module.where}:{node.lineno}: uses {name}"
                case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                    if name in JAVA_ATTRIBUTES:
                        yield f"{module.where}:{node.lineno}: uses {name}"


def missing_docstrings(root: Path) -> Iterator[str]:
    return (f"{module.where}: no docstring" for module in modules_of(root) if not ast.get_docstring(module.tree))


def too_long(root: Path) -> Iterator[str]:
    """Files and functions over the limit. A function's docstring does not count."""
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.java")]):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            yield f"{path.relative_to(root).as_posix()}: {lines} lines, the limit is {FILE_LINES}"
    for module in modules_of(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := length(node)) > FUNCTION_LINES:
                yield f"{module.where}:{node.lineno}: {node.name} has {lines} lines, the limit is {FUNCTION_LINES}"


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def nameless_names(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.stem in NO_NAMES:
            yield f"{path.relative_to(root).as_posix()}: say what it does, not that others use it"


CHECKS = (
    wrong_directions,
    foreign_imports_of_plan,
    java_outside_catalyst,
    missing_docstrings,
    too_long,
    nameless_names,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_source(check) -> None:
    assert modules_of(SOURCE), f"nothing to check in {SOURCE}"
    assert list(check(SOURCE)) == []


def test_architecture_page_names_the_rooms_that_exist() -> None:
    """The map in ARCHITECTURE.md has each room once, in import order, and no room that is not there."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^  ([a-z]+)(?:/|\.py) ", page, re.MULTILINE)
    exist = {module.room for module in modules_of(SOURCE)}
    assert [room for room in drawn if room in ROOMS] == [room for room in ROOMS if room in exist]
    assert set(drawn) == exist - {"__init__"}


# The checker itself, on a made-up tree.


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a package called headgate with these files, each with a docstring in front."""
    package = root / "headgate"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Stand in for a module."""\n{text}', encoding="utf-8")
    return package


SOUND = {
    "__init__.py": "from .session import enable\nfrom headgate.graph import expand\n",
    "config.py": "from .errors import Wrong\n",
    "errors.py": "",
    "testing.py": "from headgate import cli\n",
    "domain/__init__.py": "from .sets import DiscreteSet\n",
    "domain/sets.py": "from ..errors import Wrong\nfrom . import ordinals\nimport numpy\n",
    "domain/ordinals.py": "",
    "plan/__init__.py": "",
    "plan/rules/trace.py": "from ...domain import Domain\nfrom ..nodes import Scan\n",
    "prune/files.py": "import pyarrow\nfrom headgate.domain.sets import Sets\nfrom headgate import config, tables\n",
    "catalyst/hook.py": "import py4j\nfrom headgate.plan import RULES\nspark._jvm.x\n",
    "session.py": "from . import catalyst, config\nfrom .observe.report import QueryReport\n",
    "cli.py": "from headgate import __version__\n",
}


def test_sound_tree_passes(tmp_path: Path) -> None:
    """A tree in order draws no complaint, with half of the rooms missing."""
    root = plant(tmp_path, SOUND)
    assert [complaint for check in CHECKS for complaint in check(root)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("domain/sets.py", "from headgate.prune import files\n"),
        ("domain/sets.py", "import headgate.filters.handle\n"),
        ("domain/sets.py", "from headgate import filters\n"),
        ("domain/sets.py", "from .. import filters\n"),
        ("domain/sets.py", "from ..filters import DynamicFilter\n"),
        ("domain/sets.py", "from ..filters.handle import DynamicFilter\n"),
        ("domain/sets.py", "import headgate\n"),
        ("domain/sets.py", "from headgate import Domain\n"),
        ("domain/sets.py", "from headgate.testing import parquet_folder\n"),
        ("domain/sets.py", "def late():\n    from ..filters import DynamicFilter\n"),
        ("domain/sets.py", "import importlib\nimportlib.import_module('headgate.filters')\n"),
        (
            "domain/sets.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..filters import DynamicFilter\n",
        ),
        ("domain/__init__.py", "from ..plan import Scan\n"),
        ("plan/rules/trace.py", "from ...tables import TableLayout\n"),
        ("session.py", "from .graph import walk\n"),
        ("errors.py", "from .domain import Domain\n"),
        ("config.py", "from headgate.session import enable\n"),
        ("typing.py", "from .plan import Scan\n"),
        ("extras/thing.py", ""),
        ("extras.py", ""),
    ],
)
def test_wrong_direction_is_seen(tmp_path: Path, name: str, text: str) -> None:
    root = plant(tmp_path, SOUND | {name: text})
    assert len(list(wrong_directions(root))) == 1


@pytest.mark.parametrize(
    "text", ["import pyspark.sql\n", "from pyarrow import parquet\n", "def f():\n    import py4j\n"]
)
def test_foreign_import_of_plan_is_seen(tmp_path: Path, text: str) -> None:
    root = plant(tmp_path, {"plan/rules/trace.py": text, "tables/parquet.py": text.replace("py4j", "pyarrow")})
    assert [complaint.split(":")[0] for complaint in foreign_imports_of_plan(root)] == ["plan/rules/trace.py"]


@pytest.mark.parametrize(
    "text",
    ["from py4j.java_gateway import JavaObject\n", "spark._jvm.x()\n", "df._jdf\n", "getattr(s, '_jsparkSession')\n"],
)
def test_java_outside_catalyst_is_seen(tmp_path: Path, text: str) -> None:
    root = plant(tmp_path, {"session.py": text, "testing.py": text, "catalyst/hook.py": text})
    assert [complaint.split(":")[0] for complaint in java_outside_catalyst(root)] == ["session.py", "testing.py"]


def test_missing_docstring_is_seen(tmp_path: Path) -> None:
    root = plant(tmp_path, SOUND)
    (root / "domain" / "sets.py").write_text("# no docstring\nx = 1\n", encoding="utf-8")
    assert list(missing_docstrings(root)) == ["domain/sets.py: no docstring"]


@pytest.mark.parametrize(
    ("body", "complaints"),
    [
        (FUNCTION_LINES - 1, 0),
        (FUNCTION_LINES, 1),
        (FILE_LINES, 2),
    ],
)
def test_length_is_seen(tmp_path: Path, body: int, complaints: int) -> None:
    """The limits are inclusive, and the docstring of a function is not counted."""
    text = 'def f():\n    """Two\n    lines."""\n' + "    x = 1\n" * body
    assert len(list(too_long(plant(tmp_path, {"session.py": text})))) == complaints


@pytest.mark.parametrize("name", ["utils.py", "plan/utils.py", "common/text.py", "plan/common/text.py"])
def test_nameless_name_is_seen(tmp_path: Path, name: str) -> None:
    assert len(list(nameless_names(plant(tmp_path, SOUND | {name: ""})))) == 1
