"""What the operators with a moving value did in each micro-batch: the value, the rows it passed, the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import asdict
from rich.table import Table

from headgate.catalyst.streams import moves_log
from headgate.observe.rendering import plain

_HEADS = ("batch", "operator", "value before", "after", "left rows", "moved in", "out", "kept", "blocks read", "scan")


@dataclass(frozen=True, slots=True)
class MoveReport:
    """One operator in one micro-batch.

    ``left_rows`` arrived; ``moved_in`` and ``moved_out`` were added and taken back because the value moved;
    ``rows_kept`` are in its state. ``scan_micros`` is the time that all vnodes together spent on the move, writing
    state included. ``vnodes_pending`` counts the vnodes that have more to tell in the next batch.
    """

    operator: str
    batch_id: int
    before: str
    after: str
    left_rows: int
    moved_in: int
    moved_out: int
    rows_kept: int
    blocks_read: int
    scan_micros: int
    vnodes_pending: int


def moves_of(query_id: str) -> list[MoveReport]:
    """Return the moves of a query, operator by operator, oldest first."""
    return [MoveReport(**asdict(log)) for log in moves_log(query_id)]


def moves_table(moves: Sequence[MoveReport]) -> Table:
    """Return the moves as a table."""
    table = Table(*_HEADS, title="Moving values", title_justify="left", expand=False)
    for move in moves:
        table.add_row(
            str(move.batch_id),
            plain(move.operator),
            plain(move.before),
            plain(move.after),
            f"{move.left_rows:,}",
            f"{move.moved_in:,}",
            f"{move.moved_out:,}" + (" and more to come" if move.vnodes_pending else ""),
            f"{move.rows_kept:,}",
            f"{move.blocks_read:,}",
            f"{move.scan_micros / 1000:,.1f} ms",
        )
    return table
