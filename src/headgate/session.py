"""The conductor: one query's journey through Headgate, in order, and the gate that sends each query on it.

read the plan -> plan its filters -> collect the builds, wave by wave -> prune the scans -> write the plan -> report
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import msgspec

from headgate.catalyst import Query, SparkBridge, read_plan
from headgate.collect import collect_builds
from headgate.config import SETTINGS, Settings, checked, read_settings
from headgate.domain import Limits
from headgate.journey import Journey, Scans
from headgate.observe import QueryReport
from headgate.plan import RuleContext, Strategy, plan_filters
from headgate.plan.nodes import Node
from headgate.tables import LayoutCache


def travel(query: Query, cache: LayoutCache) -> tuple[Any, QueryReport, Node]:
    """Take one query all the way; return the new Catalyst plan (None: nothing changed), its report and its nodes."""
    started = time.perf_counter()
    root, configured = read_plan(query.read())
    settings = read_settings(configured)
    broadcast, by_case = int(configured["broadcast"]), bool(configured["caseSensitive"])
    scans = Scans(query, root, cache, settings, case_sensitive=by_case, by_name=not configured["fieldIds"])
    plan = plan_filters(root, _context(settings, scans, broadcast))
    journey = Journey(plan, scans, settings, broadcast_bytes=broadcast)
    if settings.strategy != "never":
        for wave in journey.waves():
            began = time.perf_counter()
            journey.take_in(wave, collect_builds(query, wave, _limits(settings)))
            journey.build_ms += (time.perf_counter() - began) * 1000
            if query.was_cancelled:
                return None, journey.report(), root
    edits = journey.edits()
    rewritten = query.write(msgspec.json.encode(edits).decode()) if edits else None
    report = journey.report()
    report.plan_ms = (time.perf_counter() - started) * 1000 - report.build_ms
    return rewritten, report, root


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_distinct_values, settings.max_filter_bytes, ranges=settings.range_filters)


def _context(settings: Settings, scans: Scans, broadcast: int) -> RuleContext:
    return RuleContext(
        strategy=Strategy(settings.strategy),
        broadcast_bytes=max(broadcast, 0),
        min_selectivity=settings.min_selectivity,
        range_filters=settings.range_filters,
        filter_rows=settings.filter_rows,
        clustering=scans.clustering,
    )


class Gate:
    """Headgate inside one Spark session: made by `headgate.enable`, closed by `headgate.disable` or ``close()``."""

    def __init__(self, spark: Any, **options: Any) -> None:
        texts = {name: checked(name, value) for name, value in options.items()}
        self._spark = spark
        self._cache = LayoutCache()
        self.reports: deque[QueryReport] = deque(maxlen=100)
        self._reported = 0
        self._bridge = SparkBridge(spark, self._rewrite)
        self._bridge.declare(SETTINGS)
        self._before = self._bridge.configure(texts)
        self.is_closed = False

    def configure(self, **options: Any) -> None:
        """Change settings of the session."""
        before = self._bridge.configure({name: checked(name, value) for name, value in options.items()})
        self._before = {**before, **self._before}

    def _rewrite(self, query: Query) -> Any:
        rewritten, report, _ = travel(query, self._cache)
        self._note(report)
        return rewritten

    def _note(self, report: QueryReport) -> None:
        report.failures = self._bridge.failures
        self.reports.append(report)
        self._reported = self._bridge.plans_seen()

    def report(self) -> QueryReport:
        """Return the report of the last query of the session."""
        try:
            self._note_unfiltered()
        except Exception as error:  # noqa: BLE001 - telling what happened must not fail either
            return QueryReport(failures=[*self._bridge.failures, str(error)], note="the last query could not be read")
        report = self.reports[-1] if self.reports else QueryReport(note="no query has run yet")
        report.failures = self._bridge.failures
        return report

    def _note_unfiltered(self) -> None:
        """A query without a join never leaves the JVM, so its report is made when it is asked for."""
        if self._bridge.plans_seen() != self._reported and (query := self._bridge.last_seen()) is not None:
            root, configured = read_plan(query.read())
            settings = read_settings(configured)
            scans = Scans(query, root, self._cache, settings)
            plan = plan_filters(root, _context(settings, scans, 0), rules=())
            self._note(Journey(plan, scans, settings).report())

    def explain(self, frame: Any) -> tuple[Node, QueryReport]:
        """Take a DataFrame's query on the journey without running it; return its nodes and its report."""
        _, report, root = travel(self._bridge.query_of(frame), self._cache)
        return root, report

    def filtered(self, frame: Any) -> Any:
        """Return the DataFrame with its dynamic filters applied, or itself where there is nothing to apply."""
        query = self._bridge.query_of(frame)
        try:
            rewritten = self._rewrite(query)
            return frame if rewritten is None else self._bridge.frame_of(rewritten)
        except Exception as error:  # noqa: BLE001 - a query must never fail because of Headgate
            self._bridge.note_failure(error)
            return frame

    def close(self) -> None:
        """Take the rule out of the session and put its settings back."""
        if not self.is_closed:
            self.is_closed = True
            self._bridge.remove()
            self._bridge.restore(self._before)
