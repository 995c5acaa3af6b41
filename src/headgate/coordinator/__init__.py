"""Deliver filters while tasks run: the registry of queries, and the HTTP server through which executors reach it."""

from headgate.coordinator.app import ForPeople
from headgate.coordinator.guard import ServerLimits
from headgate.coordinator.query import TrackedQuery
from headgate.coordinator.registry import Registry
from headgate.coordinator.server import Coordinator, bind_address
from headgate.coordinator.states import Outcome, QueryState

__all__ = [
    "Coordinator",
    "ForPeople",
    "Outcome",
    "QueryState",
    "Registry",
    "ServerLimits",
    "TrackedQuery",
    "bind_address",
]
