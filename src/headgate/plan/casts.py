"""Say whether a chain of casts loses nothing, step by step: a lossy step hides behind a wider one after it."""

from __future__ import annotations

from headgate.domain import loses_nothing, value_type
from headgate.errors import InvalidFilter


def lossy_cast(stored: str, steps: tuple[str, ...], what: str = "column") -> str:
    """Return one sentence on the first step in which ``what`` loses something, or nothing where none does."""
    before = stored
    for after in steps:
        try:
            if not loses_nothing(value_type(before), value_type(after)):
                return f"{what} is cast with loss: {before} to {after}"
        except InvalidFilter:
            return f"{what} is cast with loss: {before} to {after}"
        before = after
    return ""
