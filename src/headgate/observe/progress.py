"""Tell a person in a shell or notebook that a query waits for its filters: `told_while_waiting`.

A program that nobody watches is told nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

PATIENCE = 1.0  # seconds before the first word, and between words


@contextmanager
def told_while_waiting(what: Sequence[str], to: TextIO | None = None) -> Iterator[None]:
    """Write a line that counts the seconds, once the wait has taken longer than a person's patience; then clear it."""
    target = to or (sys.stderr if _is_watched() else None)
    if target is None or not what:
        yield
        return
    done = Event()
    telling = Thread(target=_tell, args=(what, target, done), name="headgate-progress", daemon=True)
    telling.start()
    try:
        yield
    finally:
        done.set()
        telling.join()


def _tell(what: Sequence[str], to: TextIO, done: Event) -> None:
    began, line = time.monotonic(), ""
    while not done.wait(PATIENCE):
        named = ", ".join(what) if len(what) < 4 else f"{len(what)} build sides"
        line = f"Headgate waits for {named} ({time.monotonic() - began:.0f} s)"
        to.write(f"\r{line}")
        to.flush()
    if line:
        to.write("\r" + " " * len(line) + "\r")
        to.flush()


def _is_watched() -> bool:
    """Whether a person types what runs here: Python's own shell, IPython or a notebook."""
    return hasattr(sys, "ps1") or "get_ipython" in vars(__import__("builtins"))
