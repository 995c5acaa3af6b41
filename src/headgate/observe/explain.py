"""Print a query's plan with its dynamic filters, and for each join and scan without one the reason.

Join INNER  k = id                            feeds df_0
  Scan fact                                   df_0: k in set of 3 values -> 2 of 64 files, 31.0 MB of 2.1 GB
  Filter (flag = 7)
    Scan dim                                  no filter: the build side has no predicate, so it keeps every key
"""

from __future__ import annotations

from headgate.observe.report import FilterReport, QueryReport, ScanReport
from headgate.plan import nodes
from headgate.plan.nodes import Node
from headgate.plan.sizes import readable_bytes


def explain_text(root: Node, report: QueryReport) -> str:
    """Return the plan as text, one line a node, with what Headgate did to it."""
    scans = {scan.node: scan for scan in report.scans}
    joins = {join.node: join for join in report.joins}
    filters = {f.id: f for f in report.filters}
    lines: list[tuple[str, str]] = []
    _walk(root, 0, lines, scans, joins, filters)
    width = min(72, max((len(left) for left, _ in lines), default=0)) + 3
    plan = "\n".join((left.ljust(width) + right).rstrip() for left, right in lines)
    return f"{plan}\n\n{_filters(report)}"


def _walk(node: Node, depth: int, lines: list, scans: dict, joins: dict, filters: dict) -> None:  # type: ignore[type-arg]
    lines.append(("  " * depth + _shown(node), _remark(node, scans, joins, filters)))
    for child in node.children:
        _walk(child, depth + 1, lines, scans, joins, filters)


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


def _remark(node: Node, scans: dict[int, ScanReport], joins: dict, filters: dict[str, FilterReport]) -> str:  # type: ignore[type-arg]
    match node:
        case nodes.Scan() if (scan := scans.get(node.id)) is not None:
            if not scan.filters:
                return f"no filter: {scan.reason}"
            filtered = "; ".join(
                f"{name}: {filters[name].column} {filters[name].kind or filters[name].state}" for name in scan.filters
            )
            size = f"{readable_bytes(scan.bytes_read)} of {readable_bytes(scan.bytes_total)}"
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
