"""Bring the pages at the root of the repository, and all decisions, into the site; a hook of MkDocs.

Pages are written so that their links work where the repository is read. Here a link to a page at the root leads to that
page of the site, and a link to anything else outside the site becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
FROM_ROOT = {f"{name.lower()}.md": f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")}
"""Pages of the site that lie at the root of the repository, and their files."""

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```\s*$)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put the decisions at the end of the navigation."""
    decisions = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    config.nav.append({"Decisions": [f"decisions/{name}" for name in decisions]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages at the root."""
    for page, name in FROM_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, files: Any, **_: Any) -> str:
    """Turn links within the repository into links within the site."""
    uri = page.file.src_uri
    place = FROM_ROOT.get(uri) or f"docs/{uri}"
    known = {file.src_uri for file in files}

    def linked(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        inside = site_path(posixpath.normpath(posixpath.join(posixpath.dirname(place), path)))
        if inside not in known:
            return text if inside is None else found[0]
        return f"[{text}]({posixpath.relpath(inside, posixpath.dirname(uri) or '.')}{anchor and '#' + anchor})"

    parts = _FENCE.split(markdown)
    return "".join(part if number % 2 else _LINK.sub(linked, part) for number, part in enumerate(parts))


def site_path(place: str) -> str | None:
    """Return the page of the site for a file of the repository; None for what the site does not have.

    >>> site_path("docs/rules.md"), site_path("SECURITY.md"), site_path("LICENSE"), site_path("docs/decisions")
    ('rules.md', 'security.md', None, None)
    """
    for page, name in FROM_ROOT.items():
        if place == name:
            return page
    inside = place.removeprefix("docs/")
    return inside if inside != place and Path(inside).suffix else None
