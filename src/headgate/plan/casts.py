"""Say whether a chain of casts loses nothing, step by step: a lossy step hides behind a wider one after it."""

from __future__ import annotations

from headgate.domain import loses_nothing, value_type
from headgate.errors import InvalidFilter


def lossy_cast(stored: str, steps: tuple[str, ...], what: str = "the column") -> str:
    """Return one sentence on the first step in which ``what`` loses something, or nothing where none does."""
    before = stored
    for after in steps:
        try:
            if not loses_nothing(value_type(before), value_type(after)):
                return loss(before, after, what)
        except InvalidFilter:
            return loss(before, after, what)
        before = after
    return ""


def loss(before: str, after: str, what: str = "the column") -> str:
    """Return the sentence on a cast that loses something."""
    return (
        f"{what} is cast from {before} to {after}, which may change values; compare columns of one type to get a filter"
    )
