"""A person who waits is told what for; a program is told nothing."""

from __future__ import annotations

import io
from threading import Event

import pytest

from headgate.observe import progress
from headgate.observe.progress import told_while_waiting


class Written(io.StringIO):
    """A stream that says when it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.was_written = Event()

    def write(self, text: str) -> int:
        self.was_written.set()
        return super().write(text)


def test_a_long_wait_is_told_and_the_line_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    to = Written()
    with told_while_waiting(["df_0 (k = id)"], to):
        assert to.was_written.wait(30)
    assert "Headgate waits for df_0 (k = id)" in to.getvalue()
    assert to.getvalue().rpartition("\r")[2] == ""


def test_a_short_wait_is_not_told() -> None:
    to = Written()
    with told_while_waiting(["df_0"], to):
        pass
    assert to.getvalue() == ""


def test_nothing_is_told_to_a_program(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_is_watched", lambda: False)
    with told_while_waiting(["df_0"]):
        pass
    assert capfd.readouterr() == ("", "")
