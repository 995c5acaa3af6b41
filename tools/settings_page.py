"""Write docs/settings.md from the settings themselves: `python tools/settings_page.py`."""

from __future__ import annotations

from pathlib import Path

from headgate.config import SETTINGS

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"
HEAD = """# Settings

Each setting is a key `spark.headgate.<name>` of the session and a keyword of `headgate.enable`: `maxWait` is
`max_wait`, `coordinator.port` is `coordinator_port`. You can change it between two queries with SQL `SET`. Headgate
refuses a bad value and says what is allowed; a name that `SET` does not know is not an error to Spark.

This page is written by `python tools/settings_page.py`, from `SETTINGS` in `src/headgate/config.py`.

| name | default | takes | what it does |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = (f"| `{s.name}` | `{s.default}` | {s.allowed} | {s.help} |\n" for s in SETTINGS)
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
