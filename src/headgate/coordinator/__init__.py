"""Filters that arrive while tasks run: the registry of queries, and the HTTP through which executors reach it."""

from headgate.coordinator.guard import ServerLimits
from headgate.coordinator.query import Outcome, QueryState, TrackedQuery
from headgate.coordinator.registry import Registry
from headgate.coordinator.server import Coordinator, bind_address

__all__ = ["Coordinator", "Outcome", "QueryState", "Registry", "ServerLimits", "TrackedQuery", "bind_address"]
