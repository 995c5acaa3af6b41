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

from headgate.bench.runner import QueryResult
from headgate.observe.report import readable_bytes

_WORST = 5


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
        return lines


def machine() -> str:
    """Return the machine and the versions in one line."""
    versions = []
    for package in ("headgate", "pyspark", "pyarrow", "duckdb"):
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
    lines = [f"## {run.title}", "", f"`{run.command}`, median of {run.rounds} interleaved rounds", ""]
    lines += [f"{machine()}; {dt.datetime.now(dt.UTC).date().isoformat()}", "", *run.summary(), ""]
    lines += ["| query | off s | on s | off/on | MB off | MB on | files | filters | plan ms | build ms |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for r in sorted(run.results, key=lambda r: r.name):
        files = f"{r.files_read} of {r.files_total}" if r.files_total else ""
        lines.append(
            f"| {r.name} | {r.off:.2f} | {r.on:.2f} | {r.times_faster:.2f} | {r.off_bytes / 1e6:,.0f} | "
            f"{r.on_bytes / 1e6:,.0f} | {files} | {r.filters} | {r.plan_ms:.0f} | {r.build_ms:.0f} |"
        )
    return "\n".join(lines) + "\n"


def to_page(run: Run) -> str:
    """Return a page of its own: pictures of speed and bytes, and the five worst queries explained."""
    summary = "".join(f"<li>{html.escape(line)}</li>" for line in run.summary())
    worst = "".join(
        f"<h3>{html.escape(r.name)}: {r.times_faster:.2f}</h3><pre>{html.escape(r.explain)}</pre>"
        for r in run.timed[:_WORST]
    )
    speed = _bars([(r.name, r.times_faster, f"{r.times_faster:.2f}") for r in reversed(run.timed)], mark=1.0)
    less = [(r.name, r.on_bytes / max(1, r.off_bytes), f"{r.on_bytes / max(1, r.off_bytes):.0%}") for r in run.timed]
    split = [(r.name, (r.plan_ms + r.build_ms) / 1000, f"{r.plan_ms:.0f} + {r.build_ms:.0f} ms") for r in run.timed]
    return f"""<!doctype html><meta charset="utf-8"><title>{html.escape(run.title)}</title>
<style>body{{font:15px/1.5 system-ui;margin:2rem auto;max-width:60rem;color:#222}}pre{{overflow:auto;background:#f6f6f6;
padding:1rem}}svg text{{font:12px system-ui}}</style>
<h1>{html.escape(run.title)}</h1><p>{html.escape(machine())}<br><code>{html.escape(run.command)}</code></p><ul>{summary}</ul>
<h2>The worst {_WORST}, explained</h2>{worst}
<h2>Seconds off over seconds on</h2>{speed}
<h2>Bytes read on, of bytes read off</h2>{_bars(less, mark=1.0)}
<h2>Planning and build time of Headgate</h2>{_bars(split, mark=0.0)}"""


def write(run: Run, folder: Path) -> list[Path]:
    """Write all three forms into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    forms = {"results.json": to_json(run), "results.md": to_markdown(run).encode(), "index.html": to_page(run).encode()}
    for name, body in forms.items():
        (folder / name).write_bytes(body)
    return [folder / name for name in forms]


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
