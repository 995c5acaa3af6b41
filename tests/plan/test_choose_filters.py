"""Of the legal filters those are kept that pay: a cheap, selective build side and a scan that the column can narrow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.plan import Clustering, RuleContext
from headgate.plan.nodes import Conjunct, Node
from tests.plan.builders import (
    CHOOSE,
    COST,
    EVERY,
    MB,
    SORTED,
    aggregate,
    alive,
    clause,
    column,
    join,
    limit,
    planned,
    ref,
    scan,
    where,
)

K, V, ID, X = column(1, "k"), column(2, "v"), column(11, "id"), column(12, "x")
FACT = scan("fact", K, V, bytes=1000 * MB)
DIM = scan("dim", ID, X, bytes=MB)
FEW = where(DIM)


def star(build: Node = FEW, probe: Node = FACT) -> Node:
    """A join that allows one direction only: from the build side to the probe side."""
    return join(probe, build, clause(K, ID), type="RIGHT OUTER")


def reason(root: Node, context: RuleContext = COST) -> str:
    """Return why the first filter was dropped, or nothing."""
    return planned(root, CHOOSE, context).filters[0].reason


def test_a_filter_that_pays_is_kept() -> None:
    """A small filtered dimension, a large fact table sorted by the key."""
    assert alive(planned(star(), CHOOSE, COST)) == {"dim.id": ["fact.k"]}


@pytest.mark.parametrize(
    "build",
    [
        where(DIM),
        limit(DIM),
        where(DIM, clause(X, ref(ID), "<")),
        join(DIM, scan("other", column(31)), clause(X, column(31)), type="LEFT SEMI"),
        join(DIM, scan("other", column(31)), clause(X, column(31)), type="LEFT ANTI"),
        scan("rows", ID, source="local", bytes=100),
        scan("range", ID, source="range", bytes=100),
        aggregate(where(DIM), [ID], (ID, ref(ID))),
    ],
    ids=["filter", "limit", "comparison", "semi", "anti", "local", "range", "below an aggregate"],
)
def test_build_sides_that_may_lack_keys(build: Node) -> None:
    """Whatever removes rows, and local data, may be selective."""
    assert reason(star(build)) == ""


@pytest.mark.parametrize(
    "build",
    [
        DIM,
        where(DIM, Conjunct("is not null", "id IS NOT NULL")),
        where(DIM, Conjunct("dynamic pruning", "dynamicpruning")),
        aggregate(DIM, [ID], (ID, ref(ID))),
        join(DIM, scan("other", column(31), bytes=MB), clause(X, column(31))),
    ],
    ids=["whole table", "not null", "dynamic pruning", "aggregate", "inner join of whole tables"],
)
def test_build_sides_that_keep_every_key(build: Node) -> None:
    """A build side in which nothing removes rows holds every key: its filter would remove nothing."""
    found = planned(star(build), CHOOSE, COST)

    assert {f.reason for f in found.filters if f.join == 0} == {"build side has no predicate, so it keeps every key"}
    assert reason(star(build), EVERY) == ""


@pytest.mark.parametrize(
    ("probe", "build", "why"),
    [
        (scan("fact", K, bytes=8 * MB - 1), FEW, "scan is small: 8,388,607 bytes"),
        (scan("fact", K, bytes=8 * MB), where(scan("dim", ID, bytes=2 * MB)), ""),
        (
            scan("fact", K, bytes=8 * MB),
            where(scan("dim", ID, bytes=2 * MB + 1)),
            "build side is not cheap: it reads 2,097,153 bytes to narrow a scan of 8,388,608",
        ),
    ],
    ids=["small scan", "just cheap enough", "costly build"],
)
def test_sizes(probe: Node, build: Node, why: str) -> None:
    """The scan has to be worth it, and the build side may read at most a quarter of it; `always` asks neither."""
    assert reason(star(build, probe)) == why
    assert reason(star(build, probe), EVERY) == ""


@pytest.mark.parametrize(
    ("known", "why"),
    [
        (Clustering(100, 0.6), ""),
        (Clustering(100, 0.61), "would remove nothing: 61% of 100 row groups overlap in this column"),
        (Clustering(1, 1.0, "there is one row group only"), "there is one row group only"),
    ],
)
def test_the_column_has_to_be_clustered(known: Clustering, why: str) -> None:
    """Where the values of every row group span the same range no row group can be left out; `always` tries anyway."""
    assert reason(star(), replace(COST, clustering=lambda scan, column: known)) == why
    assert reason(star(), replace(EVERY, clustering=lambda scan, column: known)) == ""


def test_clustering_is_asked_of_the_scan_and_the_column_of_the_filter() -> None:
    """What is known of another column does not count."""
    asked = []

    def clustering(scan: int, column: int) -> Clustering:
        asked.append((scan, column))
        return SORTED

    plan = planned(star(), CHOOSE, replace(COST, clustering=clustering))
    consumer = plan.filters[0].consumers[0]

    assert asked == [(consumer.scan, consumer.column)] == [(1, K.id)]


def test_clustering_is_not_asked_where_sizes_say_no() -> None:
    """Footers are read only for filters that may pay."""

    def never(scan: int, column: int) -> Clustering:
        raise AssertionError("footers were read for nothing")

    assert "scan is small" in reason(star(probe=scan("fact", K, bytes=10)), replace(COST, clustering=never))


S_ID, S_N, N_ID, N_R = column(21, "s_id"), column(22, "s_n"), column(31, "n_id"), column(32, "n_r")
SUPPLIER = scan("supplier", S_ID, S_N, bytes=2 * MB)
NATION = scan("nation", N_ID, N_R, bytes=10_000)


def test_a_filter_to_a_small_scan_is_kept_where_it_feeds_a_build_that_is_kept() -> None:
    """nation -> supplier -> fact: supplier has no filter of its own and is small, and still the chain holds."""
    suppliers = join(SUPPLIER, where(NATION), clause(S_N, N_ID))
    plan = planned(join(FACT, suppliers, clause(K, S_ID)), CHOOSE, COST)

    assert {name: to for name, to in alive(plan).items() if name.startswith("nation")} == {
        "nation.n_id": ["supplier.s_n"]
    }
    assert [f.is_alive for f in plan.filters if f.join == 0 and f.build != 1] == [True]


def test_the_same_filter_is_dropped_where_it_feeds_nothing() -> None:
    """nation -> supplier alone: the scan is small."""
    plan = planned(join(SUPPLIER, where(NATION), clause(S_N, N_ID)), CHOOSE, COST)

    assert alive(plan) == {}
    assert plan.filters[0].reason == "scan is small: 2,097,152 bytes"


def test_a_chain_of_whole_tables_is_dropped() -> None:
    """Without a filter anywhere no build side of the chain lacks a key."""
    plan = planned(join(FACT, join(SUPPLIER, NATION, clause(S_N, N_ID)), clause(K, S_ID)), CHOOSE, COST)

    assert alive(plan) == {}


def test_a_large_build_does_not_make_others_selective() -> None:
    """A build side above the broadcast limit is not run just to narrow a build side."""
    suppliers = join(SUPPLIER, where(NATION), clause(S_N, N_ID), type="LEFT OUTER")
    root = join(FACT, suppliers, clause(K, S_ID), type="RIGHT OUTER")
    narrow = join(SUPPLIER, scan("nation", N_ID, N_R, bytes=10_000), clause(S_N, N_ID))
    small = replace(COST, broadcast_bytes=100)

    assert alive(planned(root, CHOOSE, COST)) != {}
    assert alive(planned(join(FACT, narrow, clause(K, S_ID), type="RIGHT OUTER"), CHOOSE, small)) == {}


@pytest.mark.parametrize("context", [COST, EVERY], ids=["cost", "always"])
def test_one_direction_of_a_clause_is_kept(context: RuleContext) -> None:
    """Two filters over one clause would wait for each other: the side that reads less is built."""
    plan = planned(join(where(FACT), FEW, clause(K, ID)), CHOOSE, context)

    assert alive(plan) == {"dim.id": ["fact.k"]}


def test_the_dropped_direction_names_the_other() -> None:
    """The reason says which filter is cheaper, whichever side of the join it is on."""
    ours = planned(join(where(FACT), FEW, clause(K, ID)), CHOOSE, EVERY)
    theirs = planned(join(FEW, where(FACT), clause(ID, K)), CHOOSE, EVERY)

    assert [f.reason for f in ours.filters] == ["", "the other direction is cheaper: df_0"]
    assert [f.reason for f in theirs.filters] == ["the other direction is cheaper: df_1", ""]


def test_all_clauses_of_a_join_go_one_way() -> None:
    """With two clauses both filters come from the cheaper side."""
    plan = planned(join(where(FACT), FEW, clause(K, ID), clause(V, X)), CHOOSE, EVERY)

    assert [(f.id, f.is_alive) for f in plan.filters] == [
        ("df_0", True),
        ("df_1", False),
        ("df_2", True),
        ("df_3", False),
    ]
    assert alive(plan) == {"dim.id": ["fact.k"], "dim.x": ["fact.v"]}


def test_always_keeps_what_cost_would_drop_and_cost_keeps_a_part_of_always() -> None:
    """The filters of `cost` are among those of `always`, for a star with one useful dimension of three."""
    a, b, c = column(41, "a"), column(42, "b"), column(43, "c")
    fact = scan("fact", K, V, column(3, "w"), bytes=1000 * MB)
    root = join(
        join(join(fact, where(scan("a", a)), clause(K, a)), scan("b", b), clause(V, b)),
        where(scan("c", c, bytes=900 * MB)),
        clause(column(3, "w"), c),
    )
    every, some = planned(root, CHOOSE, EVERY), planned(root, CHOOSE, COST)

    assert set(alive(some)) == {"a.a"}
    assert {"a.a", "b.b", "c.c"} <= set(alive(every))


def test_partitions_that_spark_prunes_itself_are_left_to_it() -> None:
    """Pruning by a broadcast costs nothing more; where the build side is not broadcast it does not happen."""
    pruned = where(FACT, Conjunct("dynamic pruning", "dynamicpruning", left=ref(K)))
    assert reason(star(probe=pruned)).startswith("Spark prunes these partitions itself")
    assert reason(star(where(replace(DIM, bytes=100 * MB)), pruned)) == ""
    other = where(FACT, Conjunct("dynamic pruning", "dynamicpruning", left=ref(V)))
    assert reason(star(probe=other)) == ""
    assert alive(planned(star(probe=pruned), CHOOSE, EVERY)) == {"dim.id": ["fact.k"]}
