"""Read the JSON of a Catalyst plan into frozen nodes."""

from __future__ import annotations

from typing import Any

import msgspec

from headgate.catalyst.wire import SessionFacts
from headgate.plan import nodes
from headgate.plan.kinds import Can, Op, Source
from headgate.plan.nodes import Column, Conjunct, Expression, Node


def read_plan(document: str | bytes) -> tuple[Node, SessionFacts]:
    """Return the root node and the session's facts from what the Java plan reader wrote."""
    decoded = msgspec.json.decode(document)
    return _node(decoded["root"], {}), msgspec.convert(decoded["session"], SessionFacts)


def _node(raw: dict[str, Any], known: dict[tuple[int, str, str], Column]) -> Node:
    common: dict[str, Any] = {
        "id": raw["id"],
        "output": tuple(_column(tuple(column), known) for column in raw["output"]),
        "children": tuple(_node(child, known) for child in raw["children"]),
        "deterministic": raw.get("deterministic", True),
        "streaming": raw.get("streaming", False),
        "has_subquery": raw.get("subquery", False),
        "has_unstable_subquery": raw.get("unstableSubquery", False),
    }
    match raw["op"]:
        case "scan":
            return nodes.Scan(
                **common,
                source=Source(raw["source"]),
                can=frozenset(Can(word) for word in raw["can"]),
                table=raw["table"],
                bytes=int(raw["bytes"]),
                files=raw.get("files", 0),
                format=raw.get("format", ""),
                path=raw.get("path", ""),
                partition_columns=frozenset(raw.get("partitionColumns", ())),
                by_field_id=raw.get("byFieldId", False),
                by_position=raw.get("byPosition", False),
                is_target=raw.get("target", False),
                compares=frozenset(raw["compares"]) if "compares" in raw else None,
                published=tuple((name, column) for name, column in raw.get("published", ())),
            )
        case "join":
            return nodes.Join(**common, type=raw["type"], conjuncts=_conjuncts(raw), smaller_bytes=raw["smaller"])
        case "filter":
            return nodes.Filter(**common, conjuncts=_conjuncts(raw))
        case "project":
            return nodes.Project(**common, columns=_columns(raw), is_numbered=raw.get("numbered", False))
        case "aggregate":
            keys = tuple(_expression(key) for key in raw["keys"])
            return nodes.Aggregate(**common, keys=keys, columns=_columns(raw), repeatable=raw["repeatable"])
        case "window":
            return nodes.Window(**common, keys=tuple(_expression(key) for key in raw["keys"]))
        case "other":
            return nodes.Other(**common, name=raw["name"])
    plain = {"union": nodes.Union, "limit": nodes.Limit, "sort": nodes.Sort, "repartition": nodes.Repartition}
    return plain[raw["op"]](**common)


def _column(described: tuple[int, str, str], known: dict[tuple[int, str, str], Column]) -> Column:
    """Return a column; most nodes put out what those below them do, so each is made once."""
    if described not in known:
        known[described] = Column(*described)
    return known[described]


def _columns(raw: dict[str, Any]) -> tuple[tuple[int, Expression], ...]:
    return tuple((number, _expression(expression)) for number, expression in raw["columns"])


def _conjuncts(raw: dict[str, Any]) -> tuple[Conjunct, ...]:
    return tuple(
        Conjunct(
            op=Op(conjunct["op"]),
            sql=conjunct["sql"],
            left=_expression(conjunct["left"]) if "left" in conjunct else None,
            right=_expression(conjunct["right"]) if "right" in conjunct else None,
            deterministic=conjunct["deterministic"],
        )
        for conjunct in raw["conjuncts"]
    )


def _expression(raw: dict[str, Any]) -> Expression:
    return Expression(
        references=frozenset(raw["references"]),
        column=raw.get("column"),
        cast=_expression(raw["cast"]) if "cast" in raw else None,
        type=raw.get("type", ""),
        sql=raw.get("sql", ""),
        literal=raw.get("literal", False),
        deterministic=raw.get("deterministic", True),
    )
