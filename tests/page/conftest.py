"""Debian's Chromium, driven by Playwright; where there is none, the tests of the page are skipped in one sentence."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the tests of the page need playwright")
    found = subprocess.run([ROOT / "tools" / "ensure_chromium.sh"], capture_output=True, text=True, check=False)
    if not found.stdout.strip():
        pytest.skip("the tests of the page need Chromium, and it cannot be installed here")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found.stdout.strip(), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may ask nothing of the outside, and in which nothing may go wrong."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    problems: list[str] = []

    def refuse_outside(route: Any) -> None:
        if not route.request.url.startswith(("http://127.0.0.1:", "file://", "data:")):
            problems.append(f"asked for {route.request.url}")
        route.continue_()

    opened.route("**/*", refuse_outside)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
    assert problems == []
