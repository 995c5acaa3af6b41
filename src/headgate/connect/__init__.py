"""Headgate for Spark Connect: the client's side. What it starts beside the server is `headgate.beside`."""

from headgate.connect.client import ConnectGate, is_connect
from headgate.connect.gates import disable_connect, enable_connect, gate_of_connect

__all__ = ["ConnectGate", "disable_connect", "enable_connect", "gate_of_connect", "is_connect"]
