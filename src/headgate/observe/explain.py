"""Print a query's plan with its dynamic filters, and for each join and scan without one the reason.

Join INNER  k = id                            feeds df_0
  Scan fact                                   df_0: k set -> 2 of 64 files, 31.0 MB of 2.1 GB
  Filter (flag = 7)
    Scan dim                                  no filter: the build side has no predicate, so it keeps every key
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headgate.observe.report import FilterReport, JoinReport, QueryReport, ScanReport
from headgate.plan import nodes
from headgate.plan.nodes import Node
from headgate.plan.sizes import readable_bytes

_COMMAND = (
    "This is what a command has said. It ran when its DataFrame was made, and is not run again; "
    "headgate.report(spark) tells of it."
)


class LineKind(StrEnum):
    """What a line of a plan stands for."""

    SCAN = "scan"
    JOIN = "join"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One node of a plan as people read it: how deep it lies, its number, what it is, and what Headgate did to it."""

    depth: int
    node: int
    kind: LineKind
    text: str
    remark: str


def explain_text(root: Node, report: QueryReport) -> str:
    """Return the plan as text, one line a node, with what Headgate did to it."""
    lines = [("  " * line.depth + line.text, line.remark) for line in plan_lines(root, report)]
    width = min(72, max((len(left) for left, _ in lines), default=0)) + 3
    plan = "\n".join((left.ljust(width) + right).rstrip() for left, right in lines)
    outcome = isinstance(root, nodes.Scan) and root.table == "CommandResult"
    return f"{plan}\n\n{_COMMAND if outcome else _filters(report)}"


def plan_lines(root: Node, report: QueryReport) -> list[PlanLine]:
    """Return the plan from top to bottom, each node before what it reads."""
    scans = {scan.node: scan for scan in report.scans}
    joins = {join.node: join for join in report.joins}
    filters = {f.id: f for f in report.filters}
    lines: list[PlanLine] = []

    def walk(node: Node, depth: int) -> None:
        lines.append(PlanLine(depth, node.id, _kind(node), _shown(node), _remark(node, scans, joins, filters)))
        for child in node.children:
            walk(child, depth + 1)

    walk(root, 0)
    return lines


def _kind(node: Node) -> LineKind:
    match node:
        case nodes.Scan():
            return LineKind.SCAN
        case nodes.Join():
            return LineKind.JOIN
    return LineKind.OTHER


def _shown(node: Node) -> str:
    names = {column.id: column.name for column in node.output}
    match node:
        case nodes.Scan():
            return f"Scan {node.table.rsplit('/', 1)[-1]}"
        case nodes.Join():
            return f"Join {node.type}  " + " AND ".join(conjunct.sql for conjunct in node.conjuncts)
        case nodes.Filter():
            shown = [c.sql for c in node.conjuncts if c.op != "is not null"]
            return "Filter " + (" AND ".join(shown) or "is not null")
        case nodes.Aggregate():
            keys = [names.get(key.column or -1, key.sql or "?") for key in node.keys]
            return "Aggregate by " + (", ".join(keys) or "nothing")
        case nodes.Other():
            return node.name
    return type(node).__name__


def _remark(
    node: Node, scans: dict[int, ScanReport], joins: dict[int, JoinReport], filters: dict[str, FilterReport]
) -> str:
    match node:
        case nodes.Scan() if (scan := scans.get(node.id)) is not None:
            if not scan.filters:
                return f"no filter: {scan.reason}"
            filtered = "; ".join(
                f"{name}: {filters[name].column} {filters[name].kind or filters[name].state}" for name in scan.filters
            )
            size = f"{readable_bytes(scan.bytes_read)} of {readable_bytes(scan.bytes_total)}"
            if not scan.files_total:
                return f"{filtered} -> the table skips by its own statistics: what it reads shows after the run"
            return f"{filtered} -> {scan.files_read} of {scan.files_total} files, {size}"
        case nodes.Join() if (join := joins.get(node.id)) is not None:
            return f"feeds {', '.join(join.filters)}" if join.filters else f"no filter: {join.reason}"
    return ""


def _filters(report: QueryReport) -> str:
    if not report.filters:
        return "No dynamic filters: " + (report.note or "no join of this query can feed one") + "."
    lines = ["Dynamic filters"]
    for f in report.filters:
        what = f"{f.kind}" + (f" of {f.values:,}" if f.values is not None and f.kind not in ("value", "none") else "")
        tail = f"-> {', '.join(f.applied_to)}" if f.applied_to else f"({f.reason})"
        lines.append(f"  {f.id}  {f.join}  on {f.column}: {f.state}{' ' + what if what else ''} {tail}")
    lines.append(f"planning {report.plan_ms:.0f} ms, builds {report.build_ms:.0f} ms")
    return "\n".join(lines)


def why_lines(report: QueryReport) -> list[str]:
    """Say in words what filters each scan and, for each join and scan without a filter, why and what to do."""
    lines = []
    for scan in report.scans:
        name = scan.name
        if scan.filters:
            files = f"reads {scan.files_read:,} of {scan.files_total:,} files"
            told = "skips by its own statistics: what it reads shows after the run"
            why = f": {scan.reason}" if scan.reason else ""
            reads = files if scan.files_total else told
            lines.append(f"{name} is filtered by {', '.join(scan.filters)}, and {reads}{why}.")
        else:
            lines.append(f"{name} is read whole: {scan.reason}.")
    for f in report.filters:
        values = "" if f.values is None else f" of {f.values:,} values"
        what = f"{f.id}, from {f.join}, on {f.column}"
        if f.kind and f.applied_to:
            lines.append(f"{what}: a {f.kind}{values} that narrows {', '.join(f.applied_to)}.")
        else:
            lines.append(f"{what}: not used, {f.reason or f.state}.")
    lines += [
        f"The join on {join.condition or join.type} feeds no filter: {join.reason}."
        for join in report.joins
        if join.reason
    ]
    lines += [f"Headgate failed in this query, and went on without: {failure}." for failure in report.failures]
    if report.note:
        lines.append(report.note)
    return lines or ["The query has no join and no scan that a filter could narrow."]
