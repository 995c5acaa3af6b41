"""A filter is dropped where its build side could give other rows next time, or its scan could not use it."""

from __future__ import annotations

import pytest

from headgate.plan import PlannedFilter, RuleContext, Strategy
from headgate.plan.nodes import Node
from tests.plan.builders import (
    EVERY,
    SUPPORT,
    aggregate,
    cast,
    clause,
    column,
    computed,
    join,
    limit,
    other,
    planned,
    project,
    ref,
    scan,
    targets,
    union,
    where,
    window,
)

K, ID, X = column(1, "k"), column(11, "id"), column(12, "x", "double")
FACT, DIM = scan("fact", K), scan("dim", ID, X)


def check(build: Node = DIM, probe: Node = FACT, op: str = "=", context: RuleContext = EVERY) -> PlannedFilter:
    """Return the filter from a build side with `id` to a probe side with `k`."""
    plan = planned(join(probe, build, clause(K, ID, op), type="RIGHT OUTER"), SUPPORT, context)
    (found,) = [f for f in plan.filters if f.join == 0]
    return found


@pytest.mark.parametrize("source", ["parquet", "files", "narrowed", "local", "range", "cached", "checkpoint"])
def test_stable_build_sides(source: str) -> None:
    """Files, local data, ranges, caches and checkpoints give the same rows when read again."""
    found = check(scan("dim", ID, source=source))

    assert found.is_alive
    assert not found.build_once_only


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("rdd", "build side reads an RDD: not stable"),
        ("jdbc", "build side reads JDBC: not stable"),
        ("other", "build side reads Kafka: not stable"),
    ],
)
def test_unstable_build_sides(source: str, why: str) -> None:
    """A source that may answer differently next time feeds no filter, wherever it stands in the build side."""
    unstable = scan("Kafka", ID, source=source)

    assert check(unstable).reason == why
    assert check(where(join(scan("d", column(31)), unstable))).reason == why


def test_a_stream_feeds_no_filter() -> None:
    """A build side that reads a stream is not finished when the query is planned."""
    assert check(scan("dim", ID, streaming=True)).reason == "build side reads a stream: not stable"


def test_a_build_side_that_draws_at_random_feeds_no_filter() -> None:
    """A second run would keep other rows."""
    assert check(where(DIM, deterministic=False)).reason == "build side is not deterministic"


@pytest.mark.parametrize("name", ["Generate", "Expand", "SubqueryAlias", "ResolvedHint"])
def test_other_nodes_of_a_build_side_that_are_known(name: str) -> None:
    """Some nodes are known to give the same rows each time."""
    assert check(other(name, DIM)).is_alive


@pytest.mark.parametrize("name", ["Sample", "MapInPandas", "CollectMetrics"])
def test_other_nodes_of_a_build_side_that_are_not_known(name: str) -> None:
    """A node that Headgate does not know may do anything."""
    assert check(other(name, DIM)).reason == f"build side contains {name}"


@pytest.mark.parametrize(
    "build",
    [
        limit(DIM),
        where(limit(DIM)),
        window(DIM, [ID]),
        where(DIM, has_subquery=True),
        project(DIM, (ID, ref(ID)), has_subquery=True),
        aggregate(DIM, [ID], (ID, ref(ID)), repeatable=False),
    ],
    ids=["limit", "below a filter", "window", "subquery in a filter", "subquery in a projection", "sum of doubles"],
)
def test_a_build_side_that_may_differ_next_time_is_run_once_only(build: Node) -> None:
    """Its rows are usable only if they also take the build side's place."""
    found = check(build)

    assert found.is_alive
    assert found.build_once_only


def test_a_repeatable_aggregate_may_run_twice() -> None:
    """A count or a maximum is the same each time."""
    assert not check(aggregate(DIM, [ID], (ID, ref(ID)), repeatable=True)).build_once_only


@pytest.mark.parametrize("kind", ["struct<a:int>", "array<int>", "map<string,int>", "interval day to second", "void"])
def test_types_without_a_domain(kind: str) -> None:
    """A type that cannot be ordered as Headgate needs has no domain."""
    k, key = column(1, "k", kind), column(11, "id", kind)
    plan = planned(join(scan("fact", k), scan("dim", key), clause(k, key), type="RIGHT OUTER"), SUPPORT)

    assert plan.filters[0].reason == f"no domain over type {kind}"


def test_a_probe_column_of_another_type_is_dropped() -> None:
    """Where the compared type is narrower than the scan's column, values do not stand for the column's."""
    k, key = column(1, "k", "bigint"), column(11, "id", "int")
    plan = planned(join(scan("fact", k), scan("dim", key), clause(k, key), type="RIGHT OUTER"), SUPPORT)

    assert plan.filters[0].reason == "column is cast with loss: bigint to int"


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_range_filters_can_be_off(op: str) -> None:
    """Filters from inequalities are planned only with spark.headgate.rangeFilters."""
    off = RuleContext(strategy=Strategy.ALWAYS, range_filters=False)

    assert check(op=op).is_alive
    assert check(op=op, context=off).reason == "range filters are off: spark.headgate.rangeFilters=false"


@pytest.mark.parametrize("op", ["=", "<=>"])
def test_equality_does_not_depend_on_range_filters(op: str) -> None:
    """Filters from equalities stay when range filters are off."""
    assert check(op=op, context=RuleContext(strategy=Strategy.ALWAYS, range_filters=False)).is_alive


def test_a_narrowed_scan_is_not_filtered_again() -> None:
    """A scan that Headgate has narrowed already is left alone."""
    assert check(probe=scan("fact", K, source="narrowed")).reason == "already filtered"


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (scan("fact", K, source="files", format="ORC"), "scan of ORC has no file statistics that Headgate reads"),
        (scan("local data", K, source="local"), "scan of local data has no file statistics that Headgate reads"),
        (scan("RDD", K, source="rdd"), "scan of RDD has no file statistics that Headgate reads"),
    ],
)
def test_only_parquet_scans_are_filtered(probe: Node, why: str) -> None:
    """A scan without footers has nothing to prune by."""
    assert check(probe=probe).reason == why


def test_unusable_consumers_are_left_out_while_one_is_usable() -> None:
    """Of a union of ORC and Parquet files the Parquet branch is filtered."""
    orc = scan("orc", column(31, "o"), source="files", format="ORC")
    parquet = scan("parquet", column(32, "p"))
    root = join(union((K,), orc, parquet), DIM, clause(K, ID), type="RIGHT OUTER")
    plan = planned(root, SUPPORT)

    assert targets(plan, plan.filters[0]) == ["parquet.p"]


def test_dropped_filters_keep_their_first_reason() -> None:
    """A filter that could not be traced is not judged again."""
    build = scan("Kafka", ID, source="other")
    root = join(FACT, build, clause(computed(K, "(k + 1)"), cast(ID, "int")), type="RIGHT OUTER")

    assert planned(root, SUPPORT).filters[0].reason == "column is computed: (k + 1)"
