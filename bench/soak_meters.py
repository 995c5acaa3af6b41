"""What the soak counts and measures, and the table that it ends with."""

from __future__ import annotations

import gc
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

INTERVAL = 15.0
MB = 1024**2


class Tally:
    """What was run and what went wrong, counted by all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self.differences: list[str] = []

    def add(self, what: str, count: int = 1) -> None:
        """Count something."""
        with self._lock:
            self._counts[what] += count

    def fail(self, messages: list[str]) -> None:
        """Count failures that Headgate has counted itself."""
        with self._lock:
            self._failures.update(" ".join(message.split())[:160] for message in messages)

    def differ(self, what: str, story: str) -> None:
        """Count an answer or a stream that differs, and print all there is to know of it."""
        with self._lock:
            self._counts[what] += 1
            self.differences.append(story)
            print(f"\nDIFFERS\n{story}\n", flush=True)

    def __getitem__(self, what: str) -> int:
        with self._lock:
            return self._counts[what]

    def failures(self) -> Counter[str]:
        """Return the messages of failures, and how often each came."""
        with self._lock:
            return Counter(self._failures)


class Meters:
    """Figures of the driver, taken every few seconds by a thread of its own.

    ``registered`` says how many queries the coordinators know; ``folders`` are those whose bytes are added up.
    """

    def __init__(self, spark: SparkSession, registered: Callable[[], int], folders: dict[str, Path]) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._pid = int(jvm.java.lang.ProcessHandle.current().pid())
        self._registered, self._folders = registered, folders
        self._times: list[float] = []
        self._samples: dict[str, list[float]] = {}

    def run(self, stop: threading.Event) -> None:
        """Measure until told to stop."""
        while not stop.wait(INTERVAL):
            self.measure()

    def measure(self) -> None:
        """Take one sample of everything."""
        gc.collect()  # stand-ins in Python hold Java objects
        runtime = self._jvm.java.lang.Runtime.getRuntime()
        self._jvm.java.lang.System.gc()
        found = {
            "heap after collection, MB": (runtime.totalMemory() - runtime.freeMemory()) / MB,
            "JVM threads": _status(self._pid, "Threads"),
            "JVM resident, MB": _status(self._pid, "VmRSS") / 1024,
            "JVM open files": _open_files(self._pid),
            "Python resident, MB": _status(os.getpid(), "VmRSS") / 1024,
            "Python threads": float(threading.active_count()),
            "Python open files": _open_files(os.getpid()),
            "registered queries": float(self._registered()),
            **{f"{name}, MB": _bytes_in(folder) / MB for name, folder in self._folders.items()},
        }
        self._times.append(time.monotonic())
        for name, figure in found.items():
            self._samples.setdefault(name, []).append(figure)

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return a line for each meter: medians of the first and the last quarter, growth of all and of the end."""
        return [(name, *self._row(figures)) for name, figures in self._samples.items()]

    def _row(self, figures: list[float]) -> tuple[str, str, str, str]:
        quarter, half = max(1, len(figures) // 4), len(figures) // 2
        first, last = statistics.median(figures[:quarter]), statistics.median(figures[-quarter:])
        whole, end = growth(self._times, figures), growth(self._times[half:], figures[half:])
        return f"{first:,.1f}", f"{last:,.1f}", f"{whole:+,.1f}", f"{end:+,.1f}"


def growth(times: list[float], figures: list[float]) -> float:
    """Return the growth in an hour of the line that fits best."""
    if len(times) < 2:
        return 0.0
    slope, _ = np.polyfit(np.array(times) - times[0], figures, 1)
    return float(slope) * 3600


def _status(pid: int, name: str) -> float:
    """Return a number that the operating system tells of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1])
    return 0.0


def _open_files(pid: int) -> float:
    return float(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files in a folder; those that go meanwhile count for nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total


# --- the table ------------------------------------------------------------------------------------------------------

COUNTED = (
    "queries run",
    "differing answers",
    "queries without a reference: Spark alone failed, a file that it had listed was gone",
    "queries without a reference: Spark alone failed, another error",
    "queries with an applied filter",
    "queries with a late filter",
    "writes",
    "writes that failed after a kill",
    "streams run",
    "differing streams",
    "restarts of streams",
    "late rows left unread in streams",
    "executors killed",
    "executors that did not come back in time",
    "queries run again after a kill",
    "coordinators closed",
    "coordinators closed under a query",
    "sessions disabled",
    "queries registered after the end",
    "threads that failed or did not end",
)


def markdown(tally: Tally, meters: Meters, seconds: float) -> str:
    """Return everything as Markdown."""
    failures = tally.failures()
    lines = [f"Soak of {seconds / 60:.1f} minutes", "", "| what | count |", "|---|---:|"]
    lines += [f"| {name} | {tally[name]:,} |" for name in COUNTED]
    lines += [f"| failures counted by Headgate | {failures.total():,} |"]
    lines += [f"| … {_cell(message)} | {count:,} |" for message, count in failures.most_common(20)]
    heads = ("meter", "first quarter", "last quarter", "growth an hour", "growth an hour, second half")
    lines += ["", f"| {' | '.join(heads)} |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in meters.rows()]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
