"""A measured figure beside its bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table; without a bar it is there to be known."""

    what: str
    measured: float
    shown: Callable[[float], str]
    bar: float | None = None
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the measured value is on the right side of its bar."""
        if self.bar is None:
            return True
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        if self.bar is None:
            return self.what, self.shown(self.measured), "", ""
        verdict = "[green]yes[/]" if self.is_met else "[red]no[/]"
        return self.what, self.shown(self.measured), f"{'≥' if self.at_least else '≤'} {self.shown(self.bar)}", verdict


def all_met(title: str, results: Sequence[Result]) -> bool:
    """Print the figures as a table; return whether all bars are met."""
    table = Table(title=title)
    table.add_column("what")
    for column in ("measured", "bar", "met"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in results:
        table.add_row(*result.row())
    Console().print(table)
    return all(result.is_met for result in results)
