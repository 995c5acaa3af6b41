"""One soundness bug to plant: a text to replace in one file, and the tests that should fail then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One bug: its name, where it is planted, what is written in place of what, and who should notice."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]
    needs_spark: bool = False
