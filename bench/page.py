"""Measure the page in Debian's Chromium: `python -m bench.page`. A log of 1,000 queries, and a scan of 10,000 files."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from playwright.sync_api import Page, sync_playwright

from bench.results import Result, all_met
from headgate.history import PartRecord, QueryRecord
from headgate.observe import FilterReport, FilterState, PlanLine, ScanReport
from headgate.observe.explain import LineKind
from headgate.page import document

ROOT = Path(__file__).resolve().parent.parent
FILES, QUERIES, ROUNDS = 10_000, 1_000, 5
_DRAW = """async id => {
    const began = performance.now();
    location.hash = '#queries/' + encodeURIComponent(id);
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - began;
}"""


def _part(files: int) -> PartRecord:
    runs = [1, 1] * (files // 2)  # every other file: no two lie together
    scan = ScanReport("fact", 2, files, files // 2, filters=["df_0"], file_runs=runs, group_runs=runs * 4)
    lines = [
        PlanLine(0, 1, LineKind.JOIN, "Join INNER  k = id", "feeds df_0"),
        PlanLine(1, 2, LineKind.SCAN, "Scan fact", "df_0"),
        PlanLine(1, 3, LineKind.SCAN, "Scan dim", ""),
    ]
    found = FilterReport("df_0", "k = id", "k", "set", FilterState.APPLIED, 3, 96, 12, ["fact"], build=3)
    return PartRecord(plan=lines, filters=[found], scans=[scan])


def _record(number: int, files: int) -> QueryRecord:
    began = 1.7e9 + number
    return QueryRecord(
        id=f"app/{number}",
        state="FINISHED",
        started=began,
        ended=began + 1,
        text=f"select {number}",
        parts=[_part(files)],
    )


def _measured(page: Page, path: Path) -> tuple[float, float]:
    page.goto(path.as_uri())
    timing = "performance.timing.domComplete - performance.timing.navigationStart"
    opened = float(page.evaluate(timing))
    page.evaluate(_DRAW, "app/7")
    return opened, float(page.evaluate(_DRAW, f"app/{QUERIES - 1}"))


def main() -> int:
    """Open the page some times, and print the figures beside their bars."""
    chromium = subprocess.run([ROOT / "tools" / "ensure_chromium.sh"], capture_output=True, text=True, check=True)
    records = [*(_record(number, 64) for number in range(QUERIES - 1)), _record(QUERIES - 1, FILES)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "page.html"
        path.write_text(document([msgspec.json.encode(record) for record in records]), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=chromium.stdout.strip(), args=["--no-sandbox"])
        times = [_measured(browser.new_page(), path) for _ in range(ROUNDS)]
        browser.close()
    opened, drawn = (statistics.median(column) for column in zip(*times, strict=True))
    shown = "{:.0f} ms".format
    results = [
        Result(f"open a log of {QUERIES:,} queries", opened, shown),
        Result(f"draw a scan of {FILES:,} files and {4 * FILES:,} row groups", drawn, shown, 1000),
    ]
    return 0 if all_met("The page", results) else 1


if __name__ == "__main__":
    sys.exit(main())
