"""The gates of Connect sessions, by session."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from headgate.connect.client import ConnectGate
from headgate.errors import HeadgateError

_changing = Lock()
_gates: dict[str, ConnectGate] = {}


def enable_connect(spark: Any, options: Mapping[str, Any]) -> ConnectGate:
    """Open the gate of a session, or change its settings where it is open."""
    with _changing:
        if (gate := gate_of_connect(spark)) is not None:
            with suppress(HeadgateError):  # its process is gone: another one starts
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
