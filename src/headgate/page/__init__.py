"""The page that people look at, as one document without requests to the outside: `document`.

Its HTML, CSS and JavaScript are files in this folder. Served by a coordinator it asks for news each second; with
records put into it, it is a report that can be kept and sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

_RECORDS = "<!-- records -->"


def document(records: Sequence[bytes] | None = None) -> str:
    """Return the page, with encoded records in it or, without them, one that asks where it came from."""
    folder = files(__name__)
    page = folder.joinpath("page.html").read_text(encoding="utf-8")
    for name, mark in (("page.css", "/* style */"), ("page.js", "/* script */")):
        page = page.replace(mark, folder.joinpath(name).read_text(encoding="utf-8"), 1)
    if records is None:
        return page
    # a text in a record must not end the element it stands in
    listed = b",".join(records).decode().replace("<", "\\u003c")
    return page.replace(_RECORDS, f'<script type="application/json" id="records">[{listed}]</script>', 1)
