"""Which side of which join may be filtered: only the side whose unmatched rows the join does not put out."""

from __future__ import annotations

import pytest

from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_reason,
    assert_unfiltered,
    assert_whole,
    filter_on,
    scan_of,
)

FEW = "(select * from dim where grp = 3)"  # 5 keys: 21, 182, 343, 504, 665


def test_inner_join_filters_the_larger_side(check: Check) -> None:
    """An inner join reads only the row groups of the larger side that hold keys of the smaller."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id")
    scan = assert_narrowed(report, "fact", "k")
    assert (scan.files_read, scan.row_groups_read, scan.row_groups_total) == (5, 5, 32)
    assert filter_on(report, "k").values == 5


def test_inner_join_written_either_way_round(check: Check) -> None:
    """Which table is named first does not decide which one is filtered."""
    assert_narrowed(check(f"select * from {FEW} d join fact on d.id = fact.k"), "fact", "k")


def test_left_outer_join_filters_its_right_side_only(check: Check) -> None:
    """LEFT OUTER: rows of the left side all stay; the right side is narrowed to the keys of the left."""
    report = check(f"select * from {FEW} d left join fact on d.id = fact.k")
    assert_narrowed(report, "fact", "k")
    report = check("select * from fact left join (select * from dim where grp = 3) d on fact.k = d.id")
    assert_whole(report, "fact")


def test_full_outer_join_filters_neither_side(check: Check) -> None:
    """FULL OUTER: unmatched rows of both sides stay, and the report says so."""
    report = check(f"select * from fact full join {FEW} d on fact.k = d.id")
    assert_unfiltered(report, "full outer join: it keeps unmatched rows, so neither side can be filtered")
    assert_whole(report, "fact")


def test_right_outer_join_filters_its_left_side_only(check: Check) -> None:
    """RIGHT OUTER: the left side is narrowed, rows of the right side all stay."""
    report = check(f"select * from fact right join {FEW} d on fact.k = d.id")
    assert_narrowed(report, "fact", "k")
    report = check(f"select * from {FEW} d right join fact on fact.k = d.id")
    assert_whole(report, "fact")


def test_right_outer_join_on_a_computed_left_key(check: Check) -> None:
    """RIGHT OUTER over an expression of the left key: statistics say nothing of it, so nothing is filtered."""
    report = check(f"select * from fact right join {FEW} d on fact.k + 1 = d.id")
    assert_unfiltered(report, "column is computed")


def test_right_outer_join_on_an_inequality(check: Check) -> None:
    """RIGHT OUTER with an inequality: the left side is cut at the smallest key of the right."""
    report = check("select * from fact right join (select * from dim where id = 665) d on fact.k > d.id")
    scan = assert_narrowed(report, "fact", "k")
    assert scan.files_read == 2


def test_cross_join_without_condition_has_no_filter(check: Check) -> None:
    """A cross join with nothing to compare keeps everything, and says why."""
    report = check("select fact.k, d.id from fact cross join (select * from dim where grp = 3) d")
    assert_unfiltered(report, "the join has no condition")


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("fact.k < d.low", 2),
        ("d.low > fact.k", 2),
        ("fact.k <= d.low", 3),
        ("fact.k > d.high", 2),
        ("d.high < fact.k", 2),
        ("fact.k >= d.high", 3),
        ("fact.k between d.low and d.high", 4),
        ("fact.k > d.low and fact.k < d.high", 4),
    ],
)
def test_cross_join_with_an_inequality(check: Check, condition: str, files: int) -> None:
    """Each comparison with a one-row side, either way round, cuts the larger side at that value."""
    report = check(f"select fact.k, low, high from fact join (values (200, 599)) d(low, high) on {condition}")
    assert assert_narrowed(report, "fact", "k").files_read == files


def test_inequality_joins_reach_as_far_as_the_furthest_row(check: Check) -> None:
    """Against several rows, `<` reaches up to the largest and `>` down to the smallest."""
    report = check("select fact.k, d.id from fact join (select * from dim where id in (7, 70, 133)) d on fact.k < d.id")
    assert assert_narrowed(report, "fact", "k").files_read == 2
    report = check("select fact.k, d.id from fact join (select * from dim where id in (700, 749)) d on fact.k > d.id")
    assert assert_narrowed(report, "fact", "k").files_read == 1


def test_semi_join_filters_its_left_side(check: Check) -> None:
    """LEFT SEMI, written as IN and as EXISTS: the left side is narrowed to the keys of the right."""
    for query in (
        "select * from fact where k in (select id from dim where grp = 3)",
        "select * from fact where exists (select 1 from dim where dim.id = fact.k and grp = 3)",
        f"select * from fact left semi join {FEW} d on fact.k = d.id",
    ):
        assert_narrowed(check(query), "fact", "k")


def test_semi_join_filters_its_right_side_too(check: Check) -> None:
    """LEFT SEMI the other way: rows of the right side that match no left key are never asked for."""
    report = check(f"select * from {FEW} d left semi join fact on fact.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_semi_join_that_keeps_everything_narrows_nothing(check: Check) -> None:
    """A semi join whose right side holds every key would remove nothing, and says so."""
    report = check("select * from fact where k in (select spread from fact)")
    assert not [f for f in report.filters if f.state == "applied"]
    assert_reason(report, "would skip nothing")


def test_semi_join_beside_a_static_filter(check: Check) -> None:
    """A filter on the scan itself and a semi-join filter both hold."""
    report = check("select * from fact where s < 'k0400' and k in (select id from dim where grp = 3)")
    assert_narrowed(report, "fact", "k")


def test_several_semi_joins_on_one_scan(check: Check) -> None:
    """Two semi joins on one scan narrow it together."""
    report = check(
        "select * from fact where k in (select id from dim where grp = 3) and big in (select big from "
        "dim where id < 400)"
    )
    scan = assert_narrowed(report, "fact", "k")
    assert len(scan.filters) == 2
    assert scan.files_read == 3


def test_existence_join_has_no_filter(check: Check) -> None:
    """IN under OR becomes an existence join, which puts out every left row: it filters nothing, and says why."""
    report = check("select * from fact where k in (select id from dim where grp = 3) or num > 190")
    assert_unfiltered(report, "existence")
    assert_whole(report, "fact")


def test_anti_join_filters_its_right_side_only(check: Check) -> None:
    """LEFT ANTI: the right side is narrowed to keys of the left; the left side, whose unmatched rows go out, is not."""
    report = check(f"select * from {FEW} d left anti join (select * from fact where spread > 300) f on f.k = d.id")
    assert_narrowed(report, "fact", "k")
    report = check(f"select * from fact left anti join {FEW} d on fact.k = d.id")
    assert_whole(report, "fact")


def test_not_exists_is_an_anti_join(check: Check) -> None:
    """NOT EXISTS reads only the part of its subquery that the outer keys can meet."""
    report = check(
        "select * from dim where grp = 3 and not exists (select 1 from fact where fact.k = dim.id and spread > 300)"
    )
    assert_narrowed(report, "fact", "k")


@pytest.mark.parametrize("where", ["", "where n is not null", "where n is null"])
def test_not_in_with_nulls_keeps_everything_that_decides(check: Check, where: str) -> None:
    """NOT IN: one NULL in the subquery empties the answer, so the subquery is not narrowed away from its NULLs."""
    report = check(f"select id from dim where id not in (select n from fact {where})", may_be_empty=True)
    scan_of(report, "fact")
    report = check(f"select id from dim where grp = 3 and id not in (select n from fact {where})", may_be_empty=True)
    scan_of(report, "fact")


def test_not_in_with_nulls_on_the_outer_side(check: Check) -> None:
    """NOT IN drops an outer NULL unless the subquery is empty; both come out the same with Headgate on."""
    outer = "(values (21), (22), (cast(null as int))) d(id)"
    check(f"select id from {outer} where id not in (select k from fact where spread > 100)", may_be_empty=True)
    check(f"select id from {outer} where id not in (select k from fact where k > 5000)")


def test_conditions_on_one_side_in_an_outer_join(check: Check) -> None:
    """A condition on one side inside ON moves rows to 'unmatched', never out of the preserved side."""
    report = check(f"select * from {FEW} d left join fact on d.id = fact.k and fact.spread > 300")
    assert_narrowed(report, "fact", "k")
    report = check(f"select * from {FEW} d left join fact on d.id = fact.k and d.id > 200")
    assert_narrowed(report, "fact", "k")
    report = check(f"select * from fact right join {FEW} d on d.id = fact.k and d.id > 200 and fact.spread > 300")
    assert_narrowed(report, "fact", "k")


def test_condition_that_only_the_join_can_test(check: Check) -> None:
    """A condition over both sides that is no comparison of columns stays in the join and feeds nothing."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id and fact.spread + d.grp > 300")
    assert len(report.filters) == 2
    assert_narrowed(report, "fact", "k")


def test_a_join_on_a_function_of_both_sides_has_no_filter(check: Check) -> None:
    """Spark has no spatial join; its like is a predicate over both sides at once, which feeds no filter."""
    report = check(f"select fact.k, d.id from fact join {FEW} d on abs(fact.k - d.id) < 2")
    assert_unfiltered(report, "not a plain comparison between its two sides")


def test_correlated_scalar_subquery(check: Check) -> None:
    """A correlated scalar subquery becomes an outer or single join: the outer rows all stay."""
    report = check("select id, (select max(num) from fact where fact.k = dim.id) m from dim where grp in (3, 4)")
    assert_narrowed(report, "fact", "k")


def test_lateral_join(check: Check) -> None:
    """LATERAL becomes an ordinary join, and is filtered as one."""
    report = check(f"select d.id, f.num from {FEW} d, lateral (select num from fact where fact.k = d.id) f")
    assert_narrowed(report, "fact", "k")
