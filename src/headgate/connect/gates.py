"""The gates of Connect sessions, by session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.connect.client import ConnectGate

_gates: dict[str, ConnectGate] = {}


def enable_connect(spark: Any, options: Mapping[str, Any]) -> ConnectGate:
    """Open the gate of a session, or change its settings where it is open."""
    gate = gate_of_connect(spark)
    if gate is not None:
        gate.configure(**options)
        return gate
    made = _gates[spark.session_id] = ConnectGate(spark, options)
    return made


def disable_connect(spark: Any) -> None:
    """Close the gate of a session, if it has one."""
    if (gate := _gates.pop(spark.session_id, None)) is not None:
        gate.close()


def gate_of_connect(spark: Any) -> ConnectGate | None:
    """Return the gate of an enabled session, or None."""
    gate = _gates.get(spark.session_id)
    return None if gate is None or gate.is_closed else gate
