"""Draw tables, strips and lines for shells and notebooks; what is in them is for others to say."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

_STRIP_WIDTH, _STRIP_HEIGHT = 320, 12
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_READ, _SKIPPED = "#2f7d5b", "#c9cfd6"

Titled = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""The title, the heads and the rows of a table."""


def text_width(usual: int) -> int:
    """Return how wide text is drawn: as the terminal is, or as usual where there is none."""
    return shutil.get_terminal_size((usual, 0)).columns or usual


def rich_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table for a shell."""
    table = Table(title=title, title_justify="left", expand=False)
    for head in heads:
        table.add_column(plain(head), overflow="fold")
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def plain(text: str) -> Text:
    """Return text that a shell shows as it is: brackets are no markup, and control characters do nothing."""
    return Text(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))


def filled(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Titled:
    """Return a table without the columns in which no row says anything: a terminal is narrow."""
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return title, [heads[i] for i in kept], [[row[i] for i in kept] for row in rows]


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table for a notebook; nothing where there are no rows."""
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
    return f"<h4>{html.escape(title)}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_line(text: str) -> str:
    """Return a line of text for a notebook."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def html_strip(title: str, runs: Sequence[int]) -> str:
    """Return a strip of what is read and what is not: lengths of runs in turn, beginning with what is read."""
    total = sum(runs)
    if not total:
        return ""
    parts, at = [], 0
    for number, length in enumerate(runs):
        x, width = at * _STRIP_WIDTH / total, max(length * _STRIP_WIDTH / total, 0.5)
        colour = _SKIPPED if number % 2 else _READ
        if length:
            parts.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{_STRIP_HEIGHT}" fill="{colour}"/>')
        at += length
    # what is read is drawn last: where thousands of files share a few pixels, it is what must be seen
    shown = "".join(sorted(parts, key=lambda part: _READ in part))
    size = f'width="{_STRIP_WIDTH}" height="{_STRIP_HEIGHT}"'
    label = html.escape(title)
    return f'<div><svg {size} role="img" aria-label="{label}">{shown}</svg> {label}</div>'
