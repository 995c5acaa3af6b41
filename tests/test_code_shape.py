"""Check the shape of the code: how large a class may be, and that public signatures have types with fields.

Like `tests.test_import_direction`, the checks take the folder to look at, so that tests can show them made-up code.
"""

from __future__ import annotations

import ast
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.test_import_direction import SOURCE, modules_of, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef

CLASS_LINES = 200
CLASS_METHODS = 15  # public functions and properties, without those of base classes
UNTYPED = "dict[str, Any]"
# Plain data is the point here: it is written as JSON. Everything else has types with fields.
CODECS = {
    "domain/codec.py:domain_to_dict",
    "observe/report.py:QueryReport.to_dict",
    "stream/report.py:BatchReport.to_dict",
    "stream/report.py:StreamingReport.to_dicts",
    "stream/report.py:streaming_stories",
}


def large_classes(root: Path) -> Iterator[str]:
    """Classes with more lines or public methods than the limit."""
    for module in modules_of(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                where = f"{module.where}:{node.lineno}: {node.name}"
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > CLASS_LINES:
                    yield f"{where} has {lines} lines, the limit is {CLASS_LINES}"
                # a property and its setter have one name
                methods = {each.name for each in node.body if isinstance(each, Function) and is_public(each.name)}
                if len(methods) > CLASS_METHODS:
                    yield f"{where} has {len(methods)} public methods, the limit is {CLASS_METHODS}"


def untyped_signatures(root: Path) -> Iterator[str]:
    """Public functions, other than codecs, that take or return plain dictionaries."""
    for module in modules_of(root):
        for name, function in functions_in(module.tree):
            if is_public(name) and f"{module.where}:{name}" not in CODECS and UNTYPED in signature(function):
                yield f"{module.where}:{function.lineno}: {name} has {UNTYPED} in its signature"


def functions_in(parent: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Each function of a module or class, and of the classes in it, by dotted name; not functions in functions."""
    for node in parent.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name, node
            case ast.ClassDef():
                yield from functions_in(node, f"{prefix}{node.name}.")


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def signature(function: Function) -> str:
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return ast.unparse(function.args) + returns


@pytest.mark.parametrize("check", [large_classes, untyped_signatures], ids=lambda check: check.__name__)
def test_source(check) -> None:
    assert list(check(SOURCE)) == []


def test_the_list_of_codecs_is_exact() -> None:
    """Each function on the list exists and has plain data in its signature."""
    found = {
        f"{module.where}:{name}"
        for module in modules_of(SOURCE)
        for name, function in functions_in(module.tree)
        if UNTYPED in signature(function)
    }
    assert sorted(CODECS - found) == []


# The checks themselves, on made-up code.


@pytest.mark.parametrize(
    ("body", "complaints"),
    [
        ("    def m{i}(self): ...\n" * CLASS_METHODS, 0),
        ("    def m{i}(self): ...\n" * (CLASS_METHODS + 1), 1),
        ("    @property\n    def m{i}(self): ...\n" * (CLASS_METHODS + 1), 1),
        ("    async def m{i}(self): ...\n" * (CLASS_METHODS + 1), 1),
        ("    def _m{i}(self): ...\n" * (CLASS_METHODS + 1), 0),
        ("    m = 1\n" * (CLASS_LINES - 1), 0),
        ("    m = 1\n" * CLASS_LINES, 1),
    ],
)
def test_large_class_is_seen(tmp_path: Path, body: str, complaints: int) -> None:
    numbers = count()
    text = "class C:\n" + re.sub("{i}", lambda _: str(next(numbers)), body)
    assert len(list(large_classes(plant(tmp_path, {"session.py": text})))) == complaints


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("def f(x: int) -> dict[str, Any]: ...\n", 1),
        ("async def f(*x: dict[str, Any]): ...\n", 1),
        ("def f(x: list[dict[str, Any] | None]): ...\n", 1),
        ("class C:\n    def f(self, *, x: dict[str, Any]): ...\n", 1),
        ("class C:\n    class D:\n        def f(self) -> dict[str, Any]: ...\n", 1),
        ("def f(x: dict[str, int]) -> Any:\n    y: dict[str, Any] = {}\n", 0),
        ("def f():\n    def g(x: dict[str, Any]): ...\n", 0),
        ("def _f(x: dict[str, Any]): ...\nclass _C:\n    def f(self, x: dict[str, Any]): ...\n", 0),
    ],
)
def test_untyped_signature_is_seen(tmp_path: Path, text: str, complaints: int) -> None:
    assert len(list(untyped_signatures(plant(tmp_path, {"session.py": text})))) == complaints


def test_a_codec_is_excused_in_its_own_module_only(tmp_path: Path) -> None:
    text = "def domain_to_dict() -> dict[str, Any]: ...\n"
    root = plant(tmp_path, {"domain/codec.py": text, "domain/other.py": text})
    assert [complaint.split(":")[0] for complaint in untyped_signatures(root)] == ["domain/other.py"]
