"""Comparison operators, several clauses, and what each leaves of the probe side."""

from __future__ import annotations

import pytest

from tests.batch.differential import Check, assert_narrowed, assert_reason, assert_unfiltered, assert_whole

TWO = "(values (210), (245)) d(id)"
WITH_NULL = "(values (210), (245), (null)) d(id)"


@pytest.mark.parametrize(("op", "files"), [("=", 1), ("<=>", 1), ("<", 3), ("<=", 3), (">", 6), (">=", 6)])
def test_every_comparison_operator(check: Check, op: str, files: int) -> None:
    """Each operator leaves exactly the files that some build value can reach."""
    report = check(f"select fact.k, d.id from fact join {TWO} on fact.k {op} d.id")
    assert assert_narrowed(report, "fact", "k").files_read == files


@pytest.mark.parametrize(("op", "files"), [("<", 6), ("<=", 6), (">", 3), (">=", 3)])
def test_reversed_conditions(check: Check, op: str, files: int) -> None:
    """`build op probe` is `probe flipped-op build`."""
    report = check(f"select fact.k, d.id from fact join {TWO} on d.id {op} fact.k")
    assert assert_narrowed(report, "fact", "k").files_read == files


@pytest.mark.parametrize(("op", "edge", "files"), [("<", 200, 2), ("<=", 200, 3), (">", 699, 1), (">=", 699, 2)])
def test_inclusive_and_exclusive_ends(check: Check, op: str, edge: int, files: int) -> None:
    """`<` leaves out the very edge and `<=` holds it: 200 and 699 are the first and last keys of their files."""
    report = check(f"select fact.k, d.id from fact join (values ({edge})) d(id) on fact.k {op} d.id")
    assert assert_narrowed(report, "fact", "k").files_read == files


def test_not_equal_has_no_filter(check: Check) -> None:
    """`<>` excludes at most one value a row, and no filter is made of it."""
    report = check(f"select fact.k, d.id from fact join {TWO} on fact.k <> d.id")
    assert_unfiltered(report, "not a plain comparison between its two sides")


def test_casts_beside_an_inequality(check: Check) -> None:
    """A widening cast on either side of an inequality is seen through; a narrowing one stops the filter."""
    few = "(select * from dim where id between 14 and 70)"
    report = check(f"select fact.k, d.id from fact join {few} d on cast(fact.k as bigint) < d.big")
    assert assert_narrowed(report, "fact", "k").files_read == 1
    report = check(f"select fact.k, d.id from fact join {few} d on fact.big < cast(d.id as bigint)")
    assert assert_narrowed(report, "fact", "big").files_read == 1
    report = check(f"select fact.k, d.id from fact join {few} d on cast(fact.num as int) < d.id")
    assert_unfiltered(report, "column is cast from double to int")


def test_null_safe_equality(check: Check) -> None:
    """`<=>` matches NULL with NULL: the file of NULLs is read beside those that hold the values."""
    report = check(f"select fact.k, n, d.id from fact join {WITH_NULL} on fact.n <=> d.id")
    assert assert_narrowed(report, "fact", "n").files_read == 2
    report = check("select fact.k, sparse, d.id from fact join (values (777), (null)) d(id) on fact.sparse <=> d.id")
    assert_unfiltered(report, "would skip nothing")


def test_null_safe_equality_without_nulls_on_the_build_side(check: Check) -> None:
    """`<=>` with a build side of no NULLs reads the files of its values, and at most those of NULLs."""
    report = check("select fact.k, n, d.id from fact join (values (211), (245)) d(id) on fact.n <=> d.id")
    assert assert_narrowed(report, "fact", "n").files_read <= 2


def test_null_safe_equality_over_an_outer_join(check: Check) -> None:
    """`<=>` above a LEFT join meets the NULLs that the LEFT join makes: it must stay a LEFT join."""
    report = check(
        "select j.k, j.id, d.x from (select fact.k, m.id from fact left join (select id from dim where "
        "grp = 3) m on fact.k = m.id) j "
        "join (values (21), (null)) d(x) on j.id <=> d.x"
    )
    assert_whole(report, "fact")


def test_null_safe_equality_with_an_empty_build_side(check: Check) -> None:
    """`<=>` against no rows at all matches nothing, and reads at most the file of NULLs."""
    report = check("select k from fact join (select * from dim where id < 0) d on fact.n <=> d.id", may_be_empty=True)
    assert assert_narrowed(report, "fact", "n").files_read <= 1


def test_null_safe_equality_with_only_null(check: Check) -> None:
    """`<=>` against NULL alone reads only the file that holds NULLs."""
    report = check("select k, n, id from fact join (values (cast(null as int))) d(id) on fact.n <=> d.id")
    assert assert_narrowed(report, "fact", "n").files_read == 1


def test_an_all_null_key_beside_another(check: Check) -> None:
    """Two `<=>` keys, one of them NULL in every build row: the other key still matches by its values."""
    build = "(values (310, cast(null as int)), (315, null)) d(id, nothing)"
    report = check(f"select k, n, id from fact join {build} on fact.k <=> d.id and fact.n <=> d.nothing")
    assert assert_narrowed(report, "fact", "k").files_read == 1
    report = check(f"select k, n, id from fact join {build} on fact.k = d.id and fact.n <=> d.nothing")
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_several_equal_clauses(check: Check) -> None:
    """Each clause of a join on several keys feeds its own filter, and all narrow the scan."""
    build = "(values (210, 'k0210'), (610, 'k0610'), (210, 'k0999')) d(id, name)"
    report = check(f"select k, s from fact join {build} on fact.k = d.id and fact.s = d.name")
    assert len(assert_narrowed(report, "fact", "k").filters) == 2


def test_an_equality_and_an_inequality(check: Check) -> None:
    """An equality on one column and an inequality on another narrow together."""
    build = "(values ('k0210', 220), ('k0610', 220)) d(name, top)"
    report = check(f"select k, s from fact join {build} on fact.s = d.name and fact.k < d.top")
    assert assert_narrowed(report, "fact", "s").files_read == 1


def test_one_column_under_two_clauses(check: Check) -> None:
    """`=` and `<=` on one probe column: both domains hold at once."""
    build = "(values (210, 300), (610, 300)) d(id, top)"
    report = check(f"select k from fact join {build} on fact.k = d.id and fact.k <= d.top")
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_two_joins_on_one_probe_column(check: Check) -> None:
    """Two joins that filter one column leave the values that both hold."""
    report = check(
        "select k from fact join (values (210), (610)) a(id) on fact.k = a.id join (values (210), "
        "(710)) b(id) on fact.k = b.id"
    )
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_two_joins_that_exclude_each_other(check: Check) -> None:
    """Two joins with no common key leave nothing to read."""
    report = check(
        "select k from fact join (select id from dim where id = 210) a on fact.k = a.id "
        "join (select big from dim where id = 700) b on fact.big = b.big and fact.k = b.big",
        may_be_empty=True,
    )
    assert assert_narrowed(report, "fact").files_read == 0


def test_clauses_under_or_feed_nothing(check: Check) -> None:
    """`a = x OR b = y` is no conjunction: either may fail, so neither filters."""
    report = check("select fact.k, d.id from fact join (values (210, 610)) d(id, b) on fact.k = d.id or fact.big = d.b")
    assert_unfiltered(report, "not a plain comparison between its two sides")


def test_clauses_beside_an_or_are_kept(check: Check) -> None:
    """`a = x AND (…OR…)`: the equality filters all the same."""
    report = check(
        "select fact.k, d.id from fact join (values (210, 610)) d(id, b) on fact.k = d.id and (fact.big "
        "= d.b or fact.spread > 5)"
    )
    assert_narrowed(report, "fact", "k")


def test_a_between_over_two_build_columns(check: Check) -> None:
    """BETWEEN is two inequalities: the probe column lies between the smallest low and the largest high."""
    build = "(values (210, 220), (215, 345)) d(low, high)"
    report = check(f"select k from fact join {build} on fact.k between d.low and d.high")
    assert assert_narrowed(report, "fact", "k").files_read == 2


def test_one_column_under_two_names(check: Check) -> None:
    """A probe column under two aliases, each joined to the same build column, is one column to the scan."""
    report = check(
        "select a, b from (select k as a, k as b from fact) f join (values (210), (610)) d(id) on f.a = "
        "d.id and f.b = d.id"
    )
    assert assert_narrowed(report, "fact", "k").files_read == 2


def test_keys_of_different_cardinality(check: Check) -> None:
    """One key with few values and one with many: each has its own kind of filter."""
    report = check(
        "select fact.k from fact join (select id, id % 2 + 5 as two from dim where id < 300) d "
        "on fact.k = d.id and fact.spread >= d.two",
        max_distinct_values=3,
    )
    assert {f.kind for f in report.filters if f.state == "applied"} >= {"bitmap"}
    assert_narrowed(report, "fact", "k")


def test_range_filters_can_be_switched_off(check: Check) -> None:
    """With rangeFilters=false inequalities feed nothing and say why; equalities still do."""
    report = check(f"select fact.k, d.id from fact join {TWO} on fact.k < d.id", range_filters=False)
    assert_unfiltered(report, "rangeFilters=false")
    report = check(f"select fact.k, d.id from fact join {TWO} on fact.k = d.id", range_filters=False)
    assert_narrowed(report, "fact", "k")


def test_computed_columns_have_no_filter(check: Check) -> None:
    """An expression over a probe column, or over a build column, says nothing of the column itself."""
    report = check(f"select fact.k from fact join {TWO} on fact.k * 2 = d.id")
    assert_unfiltered(report, "column is computed")
    report = check("select fact.k from fact join (select id from dim where grp = 3) d on fact.k = d.id * 2")
    assert_reason(report, "computed")


def test_a_computed_build_column_may_be_a_column_of_the_build_side(check: Check) -> None:
    """An expression that the build side itself computes under a name is a build column like any other."""
    report = check(
        "select fact.k from fact join (select distinct id * 2 as twice from dim where grp = 3) d on fact.k = d.twice"
    )
    assert_narrowed(report, "fact", "k")
