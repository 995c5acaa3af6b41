"""Write the metrics of the coordinator in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.coordinator.registry import Registry
from headgate.coordinator.states import QueryState


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name, its type (gauge or counter), what it counts, and its value by label (``""`` for none)."""

    name: str
    type: str
    help: str
    values: Mapping[str, int]


def render_metrics(registry: Registry, long_polls: int, connections: int, requests: Mapping[int, int]) -> str:
    """Return all metrics as text."""
    metrics = _metrics(registry, long_polls, connections, requests)
    return "".join(line for metric in metrics for line in _lines(metric))


def _metrics(registry: Registry, long_polls: int, connections: int, requests: Mapping[int, int]) -> Iterator[Metric]:
    running = [story for story in registry.stories() if story.state is QueryState.RUNNING]
    complete = [made.complete for story in running for made in story.filters]
    states = {'state="complete"': sum(complete), 'state="waiting"': len(complete) - sum(complete)}
    outcomes = {f'outcome="{outcome}"': count for outcome, count in registry.counts().items()}
    statuses = {f'status="{status}"': count for status, count in sorted(requests.items())}
    yield Metric("headgate_queries", "gauge", "Running queries with late filters.", {"": len(running)})
    yield Metric("headgate_filters", "gauge", "Filters of running queries.", states)
    yield Metric("headgate_filter_bytes", "gauge", "Memory used by filters.", {"": registry.memory})
    yield Metric("headgate_long_polls", "gauge", "Executors waiting for news.", {"": long_polls})
    yield Metric("headgate_connections", "gauge", "Open connections.", {"": connections})
    yield Metric("headgate_reports_total", "counter", "Reports, by outcome.", outcomes)
    yield Metric("headgate_requests_total", "counter", "Requests, by status.", statuses)


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.type}\n"
    for label, value in metric.values.items():
        yield f"{metric.name}{{{label}}} {value}\n" if label else f"{metric.name} {value}\n"
