"""Write what a benchmark found: JSON for machines, a Markdown table for the docs, a page with pictures for people."""

from __future__ import annotations

import datetime as dt
import html
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from headgate.plan.sizes import readable_bytes
from headgate.suites.runner import QueryResult

_WORST = 5
_PLAN, _BUILD, _SCAN = "#b58900", "#268bd2", "#3a7"
ANCHORS = {
    "lowered": "Spark alone with its own dynamic pruning and bloom filters at a threshold of 1 byte",
    "limit": "The hand-written limit (dates as literals, only the files that hold them)",
    "duckdb": "DuckDB",
    "datafusion": "DataFusion",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run: what was run, on what, and the results."""

    title: str
    command: str
    results: Sequence[QueryResult]
    rounds: int

    @property
    def timed(self) -> list[QueryResult]:
        """The queries that ran, slowest against Spark alone first."""
        return sorted((r for r in self.results if not r.failed and r.on), key=lambda r: r.times_faster)

    def summary(self) -> list[str]:
        """Return the run in a few sentences."""
        timed, ran = self.timed, [r for r in self.results if not r.failed]
        lines = [f"{sum(not r.differs for r in ran)} of {len(self.results)} queries gave the same rows off and on."]
        lines += [f"{r.name} differs: {r.differs}" for r in ran if r.differs]
        lines += [f"{r.name} does not run in Spark alone: {r.failed}" for r in self.results if r.failed]
        if timed:
            mean = math.exp(sum(math.log(r.times_faster) for r in timed) / len(timed))
            best = ", ".join(f"{r.name} {r.times_faster:.2f}" for r in timed[:-11:-1])
            off, on = sum(r.off_bytes for r in timed), sum(r.on_bytes for r in timed)
            seconds = f"{sum(r.off for r in timed):.1f} s off, {sum(r.on for r in timed):.1f} s on"
            lines.append(f"Geometric mean of off/on {mean:.2f}; lowest {timed[0].times_faster:.2f} ({timed[0].name}).")
            lines.append(f"The ten best: {best}.")
            lines.append(f"In all {seconds}; {readable_bytes(off)} read off, {readable_bytes(on)} on.")
        return [*lines, *(self._against(name) for name in self.anchors)]

    @property
    def anchors(self) -> list[str]:
        """The anchors that ran anything."""
        return list(dict.fromkeys(name for r in self.timed for name in (*r.anchors, *r.anchors_failed)))

    def _against(self, anchor: str) -> str:
        both = [(r.anchors[anchor], r.on) for r in self.timed if anchor in r.anchors]
        refused = [r.name for r in self.timed if anchor in r.anchors_failed]
        text = f"{ANCHORS.get(anchor, anchor)}: {len(both)} queries"
        if both:
            mean = math.exp(sum(math.log(theirs / ours) for theirs, ours in both) / len(both))
            text += (
                f" in {sum(theirs for theirs, _ in both):.1f} s, where Headgate takes {sum(o for _, o in both):.1f} s"
            )
            text += (
                f" (geometric mean of its seconds over Headgate's {mean:.2f}; it wins {sum(t < o for t, o in both)})"
            )
        return text + (f"; it cannot run {', '.join(refused)}." if refused else ".")


def machine() -> str:
    """Return the machine and the versions in one line."""
    versions = []
    for package in ("headgate", "pyspark", "pyarrow", "duckdb", "datafusion"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {', '.join(versions)}"


def to_json(run: Run) -> bytes:
    """Return the run as JSON."""
    body = {
        "title": run.title,
        "command": run.command,
        "machine": machine(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "rounds": run.rounds,
        "queries": [asdict(result) for result in run.results],
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def to_markdown(run: Run) -> str:
    """Return the run as Markdown: where it ran, its summary, and a table of all queries."""
    rounds = f"medians of {run.rounds} interleaved round{'s' if run.rounds > 1 else ''}, or of more as the table says"
    lines = [f"## {run.title}", "", f"`{run.command}`, {rounds}", ""]
    lines += [f"{machine()}; {dt.datetime.now(dt.UTC).date().isoformat()}", "", *run.summary(), ""]
    heads = ["query", "rounds", "off s", "on s", "off/on", "MB off", "MB on", "files", "filters", "plan ms", "build ms"]
    lines += [_row([*heads, *(f"{name} s" for name in run.anchors)]), "|---" * (len(heads) + len(run.anchors)) + "|"]
    for r in sorted(run.results, key=lambda r: r.name):
        files = f"{r.files_read} of {r.files_total}" if r.files_total else ""
        cells = [
            r.name,
            str(len(r.rounds["on"])),
            f"{r.off:.2f}",
            f"{r.on:.2f}",
            f"{r.times_faster:.2f}",
            f"{r.off_bytes / 1e6:,.0f}",
        ]
        cells += [f"{r.on_bytes / 1e6:,.0f}", files, f"{r.filters}", f"{r.plan_ms:.0f}", f"{r.build_ms:.0f}"]
        cells += [f"{r.anchors[name]:.2f}" if name in r.anchors else "" for name in run.anchors]
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def into_document(document: Path, name: str, text: str) -> None:
    """Put a text between the marks ``<!-- bench: name -->`` and ``<!-- end -->`` of a document, at its end if new."""
    start, end = f"<!-- bench: {name} -->", "<!-- end -->"
    whole = document.read_text() if document.exists() else ""
    block = f"{start}\n{text.strip()}\n{end}"
    head, found, rest = whole.partition(start)
    if not found:
        document.write_text(f"{whole.rstrip()}\n\n{block}\n".lstrip())
        return
    document.write_text(head + block + rest.partition(end)[2])


def to_page(run: Run) -> str:
    """Return a page of its own: pictures of speed and bytes, and the five worst queries explained."""
    summary = "".join(f"<li>{html.escape(line)}</li>" for line in run.summary())
    worst = "".join(
        f"<h3>{html.escape(r.name)}: {r.times_faster:.2f}</h3><pre>{html.escape(r.explain)}</pre>"
        for r in run.timed[:_WORST]
    )
    speed = _bars([(r.name, r.times_faster, f"{r.times_faster:.2f}") for r in reversed(run.timed)], mark=1.0)
    less = [(r.name, r.on_bytes / max(1, r.off_bytes), f"{r.on_bytes / max(1, r.off_bytes):.0%}") for r in run.timed]
    files = [
        (r.name, r.files_read / r.files_total, f"{r.files_read} of {r.files_total}") for r in run.timed if r.files_total
    ]
    return f"""<!doctype html><meta charset="utf-8"><title>{html.escape(run.title)}</title>
<style>body{{font:15px/1.5 system-ui;margin:2rem auto;max-width:60rem;color:#222}}pre{{overflow:auto;background:#f6f6f6;
padding:1rem}}svg text{{font:12px system-ui}}</style>
<h1>{html.escape(run.title)}</h1><p>{html.escape(machine())}<br><code>{html.escape(run.command)}</code></p><ul>{summary}</ul>
<h2>The worst {_WORST}, explained</h2>{worst}
<h2>Seconds off over seconds on</h2>{speed}
<h2>Bytes read on, of bytes read off</h2>{_bars(less, mark=1.0)}
<h2>Files read, of files there are</h2>{_bars(files, mark=1.0)}
<h2>Where the time goes: <span style="color:{_PLAN}">planning</span>, <span style="color:{_BUILD}">builds</span>,
<span style="color:{_SCAN}">scans and the rest</span></h2>{_split(run.timed)}"""


def write(run: Run, folder: Path) -> list[Path]:
    """Write all three forms into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    forms = {"results.json": to_json(run), "results.md": to_markdown(run).encode(), "index.html": to_page(run).encode()}
    for name, body in forms.items():
        (folder / name).write_bytes(body)
    return [folder / name for name in forms]


def _split(results: Sequence[QueryResult]) -> str:
    """Return one bar of three parts for each query, the slowest first."""
    slowest = sorted(results, key=lambda r: -r.on)
    scale = 560 / max([r.on for r in slowest] + [1e-9])
    bars = []
    for i, r in enumerate(slowest):
        plan, build = r.plan_ms / 1000, r.build_ms / 1000
        bars.append(f'<text x="0" y="{18 * i + 14}">{html.escape(r.name)}</text>')
        left = 60.0
        for seconds, color in ((plan, _PLAN), (build, _BUILD), (max(0.0, r.on - plan - build), _SCAN)):
            bars.append(
                f'<rect x="{left:.1f}" y="{18 * i + 3}" width="{seconds * scale:.1f}" height="13" fill="{color}"/>'
            )
            left += seconds * scale
        label = f"{plan:.2f} + {build:.2f} + {max(0.0, r.on - plan - build):.2f} s"
        bars.append(f'<text x="{left + 6:.1f}" y="{18 * i + 14}">{label}</text>')
    return f'<svg width="760" height="{18 * len(slowest) + 6}" role="img">{"".join(bars)}</svg>'


def _bars(rows: Sequence[tuple[str, float, str]], mark: float) -> str:
    top = max([value for _, value, _ in rows] + [mark, 1e-9])
    scale, height = 560 / top, 18 * len(rows) + 6
    bars = "".join(
        f'<text x="0" y="{18 * i + 14}">{html.escape(name)}</text>'
        f'<rect x="60" y="{18 * i + 3}" width="{max(1.0, value * scale):.1f}" height="13" '
        f'fill="{"#c44" if mark and value < 0.95 * mark and mark == 1.0 and top > 1.5 else "#3a7"}"/>'
        f'<text x="{66 + value * scale:.1f}" y="{18 * i + 14}">{html.escape(label)}</text>'
        for i, (name, value, label) in enumerate(rows)
    )
    line = (
        f'<line x1="{60 + mark * scale:.1f}" x2="{60 + mark * scale:.1f}" y1="0" y2="{height}" stroke="#888"/>'
        if mark
        else ""
    )
    return f'<svg width="760" height="{height}" role="img">{bars}{line}</svg>'
