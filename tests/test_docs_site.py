"""What the pages of docs/ name is there: pages, settings, sentences, commands and metrics. `make docs` checks links."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from headgate.cli.app import app
from headgate.config import SETTINGS
from headgate.coordinator.metrics import render_metrics
from headgate.coordinator.registry import Registry

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import site_pages  # type: ignore[import-not-found]  # noqa: E402 - the hook of MkDocs, which lies beside the pages

sys.path.remove(str(DOCS))
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
REASONS = ("when-it-does-not-help.md", "troubleshooting.md")
# the operating system says these, or the source puts them together from words
COMPOSED = {
    "Address already in use",
    "Cannot assign requested address",
    "Spark needs Java 17 or later",
    "the DataFrame has no column",
}


def _named(item: Any) -> Iterator[str]:
    match item:
        case str():
            yield item
        case list():
            for one in item:
                yield from _named(one)
        case dict():
            yield from _named(list(item.values()))


def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return loaded


def navigation() -> list[str]:
    return list(_named(config()["nav"]))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def metric_names(text: str) -> set[str]:
    return set(re.findall(r"\bheadgate_[a-z_]+", text))


def known_metrics() -> set[str]:
    shown = render_metrics(Registry(), 0, 0, {200: 1})
    return set(re.findall(r"^# TYPE (\S+)", shown, re.MULTILINE))


def test_every_page_is_in_the_navigation() -> None:
    assert set(PAGES) <= set(navigation())


def test_the_navigation_names_pages_that_exist_and_each_once() -> None:
    named = navigation()
    assert len(named) == len(set(named))
    assert set(named) - set(PAGES) == set(site_pages.FROM_ROOT)
    assert all((ROOT / name).is_file() for name in site_pages.FROM_ROOT.values())


def test_the_site_asks_nothing_of_the_outside() -> None:
    """No fonts, no scripts and no styles from elsewhere; no repository that the theme would ask about its stars."""
    made = config()
    assert made["theme"]["font"] is False
    assert not {"extra_javascript", "repo_url"} & made.keys()
    assert all((DOCS / style).is_file() for style in made["extra_css"])
    assert not any(
        "```mermaid" in text_of(page) for page in PAGES
    )  # which the theme draws with a script from elsewhere


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_a_page_names_exist(page: str) -> None:
    known = {setting.key for setting in SETTINGS}
    named = re.findall(r"spark\.headgate\.([a-zA-Z.]+[a-zA-Z])", text_of(page))
    assert {f"spark.headgate.{name}" for name in named} <= known


def test_the_dashboard_uses_metrics_that_the_coordinator_has() -> None:
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert queries
    assert all(metric_names(query) for query in queries)
    assert metric_names(json.dumps(dashboard)) <= known_metrics()


def test_the_page_on_observing_explains_each_metric() -> None:
    assert metric_names(text_of("observing.md")) == known_metrics()


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_a_page_shows_exist(page: str) -> None:
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    shown = re.findall(r"^headgate ([a-z]+)", text_of(page), re.MULTILINE)
    assert set(shown) <= known


def _sentences(page: str) -> Iterator[str]:
    """The sentences in code in the first column of the page's tables, of several words each."""
    for line in text_of(page).splitlines():
        if line.startswith("| `"):
            yield from (code for code in re.findall(r"`([^`]+)`", line.split(" | ")[0]) if code.count(" ") > 2)


def _sources() -> str:
    """All strings of the source, as one text: pieces that are joined in the source are joined here, too."""
    files = [path for ending in ("py", "java") for path in sorted((ROOT / "src").rglob(f"*.{ending}"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r'"\s*(?:\+\s*)?f?"', "", text)


def _pieces(sentence: str) -> list[str]:
    """What stands between names, numbers and the joints of a sentence, where it is long enough to be told apart."""
    cut = re.split(r"<[^>]*>|'|\.\.\.|[;:,=()]|\band\b|--", sentence)
    return [piece.strip() for piece in cut if len(piece.strip()) > 9]


@pytest.mark.parametrize("page", REASONS)
def test_sentences_that_a_page_explains_are_in_the_source(page: str) -> None:
    source = _sources()
    sentences = list(_sentences(page))
    assert len(sentences) > 20
    lost = {piece for one in sentences for piece in _pieces(one) if piece not in source}
    assert lost <= COMPOSED


def test_a_sentence_that_is_not_in_the_source_is_seen() -> None:
    assert [piece for piece in _pieces("the scan was eaten by <animal>; feed it") if piece not in _sources()]


@pytest.mark.parametrize(
    ("place", "page"),
    [("docs/rules.md", "rules.md"), ("SECURITY.md", "security.md"), ("LICENSE", None), ("docs/decisions", None)],
)
def test_the_hook_knows_which_files_are_pages_of_the_site(place: str, page: str | None) -> None:
    assert site_pages.site_path(place) == page
