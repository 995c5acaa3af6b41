"""Write sizes for people, in reports and in the reasons that rules give."""

from __future__ import annotations


def readable_bytes(count: int) -> str:
    """Return a size in the unit a person would choose.

    >>> readable_bytes(512), readable_bytes(1_048_576)
    ('512 B', '1.0 MB')
    """
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")
