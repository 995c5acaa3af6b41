"""How commands are called, and how they end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

QUERY = "select count(*) n, sum(v) s from fact join dim on k = id where flag = 3"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


def in_a_process(*arguments: str, stdin: str = "") -> Done:
    """Run a command as a user does."""
    command = [sys.executable, "-m", "headgate.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)
    return Done(done.returncode, done.stdout, done.stderr)


def refusal(done: Done) -> str:
    """Return the one line that a refused command says, and make sure that it is the only one."""
    assert done.code == 2, done.out + done.err
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("headgate: ")
    return lines[0]
