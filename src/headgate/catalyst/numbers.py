"""Whole numbers as the JVM takes them."""

from __future__ import annotations

from numbers import Integral


def whole(value: object) -> int | None:
    """Return a whole number of any kind, numpy's too, as an int; None for all else, and for True and False."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
