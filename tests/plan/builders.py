"""Build small plans of frozen nodes, run rules over them, and read what the rules planned.

Nodes are made without numbers; `planned` numbers them in pre-order, as the reader of Catalyst plans does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headgate.plan import Clustering, PlannedFilter, QueryPlan, Rule, RuleContext, Strategy
from headgate.plan.nodes import (
    Aggregate,
    Column,
    Conjunct,
    Expression,
    Filter,
    Join,
    Limit,
    Node,
    Other,
    Project,
    Repartition,
    Scan,
    Sort,
    Union,
    Window,
)
from headgate.plan.rules.add_dynamic_filters import add_dynamic_filters
from headgate.plan.rules.choose_filters import choose_filters
from headgate.plan.rules.order_filters import order_filters
from headgate.plan.rules.remove_unsupported_filters import remove_unsupported_filters
from headgate.plan.rules.trace_to_scans import trace_to_scans

ADD: tuple[Rule, ...] = (add_dynamic_filters,)
TRACE: tuple[Rule, ...] = (*ADD, trace_to_scans)
SUPPORT: tuple[Rule, ...] = (*TRACE, remove_unsupported_filters)
CHOOSE: tuple[Rule, ...] = (*SUPPORT, choose_filters)
ORDER: tuple[Rule, ...] = (*TRACE, order_filters)

MB = 1024 * 1024
SORTED = Clustering(100, 0.01)
EVERY = RuleContext(strategy=Strategy.ALWAYS)
COST = RuleContext(clustering=lambda scan, column: SORTED)
_HALF = ("LEFT SEMI", "LEFT ANTI")


def column(id: int, name: str = "", type: str = "int") -> Column:
    return Column(id, name or f"c{id}", type)


def ref(of: Column) -> Expression:
    return Expression(references=frozenset({of.id}), column=of.id)


def cast(inner: Expression | Column, *types: str) -> Expression:
    made = ref(inner) if isinstance(inner, Column) else inner
    for kind in types:
        made = Expression(references=made.references, cast=made, type=kind)
    return made


def computed(of: Column, sql: str = "") -> Expression:
    return Expression(references=frozenset({of.id}), sql=sql or f"({of.name} + 1)")


def literal(sql: str) -> Expression:
    return Expression(sql=sql, literal=True)


def clause(
    left: Column | Expression, right: Column | Expression, op: str = "=", *, deterministic: bool = True
) -> Conjunct:
    a, b = (ref(side) if isinstance(side, Column) else side for side in (left, right))
    return Conjunct(op, f"{_sql(left)} {op} {_sql(right)}", a, b, deterministic)


def _sql(side: Column | Expression) -> str:
    return side.name if isinstance(side, Column) else side.sql or "cast"


def scan(table: str, *columns: Column, source: str = "parquet", bytes: int = MB, **more: Any) -> Scan:
    return Scan(-1, columns, source=source, table=table, bytes=bytes, **more)


def where(child: Node, *conjuncts: Conjunct, **more: Any) -> Filter:
    held = conjuncts or (Conjunct("other", "v > 0"),)
    return Filter(-1, child.output, (child,), conjuncts=held, **more)


def project(child: Node, *columns: tuple[Column, Expression], **more: Any) -> Project:
    held = tuple((out.id, expression) for out, expression in columns)
    return Project(-1, tuple(out for out, _ in columns), (child,), columns=held, **more)


def aggregate(
    child: Node, keys: Iterable[Column | Expression], *columns: tuple[Column, Expression], **more: Any
) -> Node:
    grouped = tuple(ref(key) if isinstance(key, Column) else key for key in keys)
    held = tuple((out.id, expression) for out, expression in columns)
    return Aggregate(-1, tuple(out for out, _ in columns), (child,), keys=grouped, columns=held, **more)


def window(child: Node, keys: Iterable[Column], *added: Column, **more: Any) -> Window:
    return Window(-1, (*child.output, *added), (child,), keys=tuple(ref(key) for key in keys), **more)


def limit(child: Node) -> Limit:
    return Limit(-1, child.output, (child,))


def sort(child: Node, **more: Any) -> Sort:
    return Sort(-1, child.output, (child,), **more)


def repartition(child: Node, **more: Any) -> Repartition:
    return Repartition(-1, child.output, (child,), **more)


def union(output: tuple[Column, ...], *children: Node) -> Union:
    return Union(-1, output, children)


def other(name: str, *children: Node, added: tuple[Column, ...] = (), **more: Any) -> Other:
    return Other(-1, (*children[0].output, *added), children, name=name, **more)


def join(left: Node, right: Node, *conjuncts: Conjunct, type: str = "INNER", **more: Any) -> Join:
    output = left.output if type in _HALF else (*left.output, *right.output)
    return Join(-1, output, (left, right), type=type, conjuncts=conjuncts, **more)


def numbered(root: Node) -> Node:
    """Return the same tree with its nodes numbered in pre-order."""

    def visit(node: Node, at: int) -> tuple[Node, int]:
        mine, at, children = at, at + 1, []
        for child in node.children:
            fresh, at = visit(child, at)
            children.append(fresh)
        return replace(node, id=mine, children=tuple(children)), at

    return visit(root, 0)[0]


def planned(root: Node, rules: tuple[Rule, ...], context: RuleContext = EVERY) -> QueryPlan:
    """Number a tree and run rules over it."""
    plan = QueryPlan(numbered(root))
    for rule in rules:
        plan = rule(plan, context)
    return plan


def directions(plan: QueryPlan) -> list[tuple[str, str, str]]:
    """Return (probe, operator, build column) of each filter, by the tables or node kinds of its two sides."""
    return [(_table(plan.node(f.probe)), f.op, _column_name(plan, f)) for f in plan.filters]


def alive(plan: QueryPlan) -> dict[str, list[str]]:
    """Return what each living filter is applied to: build column -> probe columns, each as table.column."""
    return {
        f"{_table(plan.node(f.build))}.{_column_name(plan, f)}": targets(plan, f) for f in plan.filters if f.is_alive
    }


def targets(plan: QueryPlan, of: PlannedFilter) -> list[str]:
    """Return the scan columns that a filter is applied to, as table.column."""
    found = []
    for consumer in of.consumers:
        at = plan.node(consumer.scan)
        assert isinstance(at, Scan)
        held = at.find_column(consumer.column)
        assert held is not None
        found.append(f"{at.table}.{held.name}")
    return found


def scan_id(plan: QueryPlan, table: str) -> int:
    """Return the number of the one scan of a table."""
    (found,) = [node.id for node in plan.root.walk() if isinstance(node, Scan) and node.table == table]
    return found


def _column_name(plan: QueryPlan, of: PlannedFilter) -> str:
    held = plan.node(of.build).find_column(of.build_column)
    assert held is not None
    return held.name


def _table(node: Node) -> str:
    while node.children and len(node.children) == 1:
        node = node.children[0]
    return node.table if isinstance(node, Scan) else type(node).__name__
