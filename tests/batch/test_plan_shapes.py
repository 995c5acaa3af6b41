"""What may stand between a join and a scan, and what may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import IntegerType

from tests.batch.differential import (
    Check,
    assert_narrowed,
    assert_reason,
    assert_unfiltered,
    assert_unread,
    assert_whole,
    compare,
    same_rows,
    scan_of,
)

FEW = "(select * from dim where grp = 3)"


def test_through_renames_filters_and_sorts(check: Check) -> None:
    """Renames, filters and sorts let a filter through."""
    report = check(
        "select a, num from (select k as a, num from (select k, num from fact where spread > 100) "
        f"order by num) f join {FEW} d on f.a = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_an_order_on_the_key(check: Check) -> None:
    """ORDER BY on the join key, below or above the join, changes nothing."""
    report = check(f"select k, num from fact join {FEW} d on fact.k = d.id order by k")
    assert_narrowed(report, "fact", "k")
    report = check(f"select k, num from (select * from fact sort by k) fact join {FEW} d on fact.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_an_aggregate_is_filtered_on_its_keys(check: Check) -> None:
    """A group is dropped or kept as a whole, so a filter on a grouping key goes below."""
    report = check(
        f"select f.k, f.c from (select k, count(*) c, sum(num) t from fact group by k) f join {FEW} d on f.k = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_an_aggregate_is_not_filtered_on_its_results(check: Check) -> None:
    """The result of an aggregate depends on all rows of its group: a filter on it stays above."""
    report = check(f"select f.m from (select spread % 5 g, max(k) m from fact group by 1) f join {FEW} d on f.m > d.id")
    assert_unfiltered(report, "column is computed: max(")


def test_an_aggregate_without_keys(check: Check) -> None:
    """A global aggregate puts out one row whatever comes in: no filter goes below it."""
    report = check("select m from (select max(k) m from fact) f join (values (799), (5)) d(id) on f.m = d.id")
    assert_unfiltered(report, "column is computed: max(")


def test_rollup_is_not_filtered_on_its_keys(check: Check) -> None:
    """ROLLUP makes rows with NULL keys out of all rows: the grand total must not change."""
    report = check(
        f"select f.k, f.c from (select k, count(*) c from fact group by rollup (k)) f join {FEW} d on f.k <=> d.id"
    )
    assert_whole(report, "fact")


def test_distinct_is_filtered(check: Check) -> None:
    """DISTINCT groups by all its columns."""
    report = check(f"select f.k from (select distinct k, late from fact) f join {FEW} d on f.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_drop_duplicates_is_filtered_on_its_keys_only(spark: SparkSession, star: Path) -> None:
    """dropDuplicates keeps some row of each key: a filter on the key is safe, on another column it would choose the row."""
    fact, few = spark.table("fact"), spark.table("dim").where("grp = 3")
    report = same_rows(spark, lambda: fact.dropDuplicates(["k"]).join(few, fact.k == few.id).select("k", "num"))
    assert_narrowed(report, "fact", "k")
    report = same_rows(
        spark,
        lambda: fact.dropDuplicates(["late"]).join(few, fact.k == few.id).select("late").where("1 = 1"),
        may_be_empty=True,
    )
    assert_whole(report, "fact")


def test_a_window_is_filtered_on_its_partition_keys(check: Check) -> None:
    """A window sees whole partitions, so a filter on a partition key goes below."""
    report = check(
        "select f.k, f.r from (select k, row_number() over (partition by k order by num) r from fact) "
        f"f join {FEW} d on f.k = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_a_window_is_not_filtered_on_other_columns(check: Check) -> None:
    """Ranks count the rows around: dropping some would renumber the others."""
    report = check(
        "select f.k, f.r from (select k, row_number() over (partition by late order by k) r from fact) "
        f"f join {FEW} d on f.k = d.id"
    )
    assert_unfiltered(report, "not a partition key")


def test_a_window_without_partitions_is_not_filtered(check: Check) -> None:
    """One partition of everything: no column of it may be filtered."""
    report = check(
        f"select f.k, f.t from (select k, sum(k) over (order by k) t from fact) f join {FEW} d on f.k = d.id"
    )
    assert_unfiltered(report, "not a partition key")


def test_a_ranked_window_with_a_limit_on_the_rank(check: Check) -> None:
    """Keeping the first rows of each partition by rank is a limit in each partition."""
    report = check(
        "select f.k, f.r from (select * from (select k, late, rank() over (partition by late order by "
        "k) r from fact) where r <= 200) f "
        f"join {FEW} d on f.k = d.id"
    )
    assert not [f for f in report.filters if f.state == "applied" and f.column == "k"]
    assert_whole(report, "fact")


def test_every_branch_of_a_union_is_filtered(check: Check) -> None:
    """UNION ALL: each branch is narrowed on its own, by position and not by name."""
    report = check(
        "select u.x, u.t from (select k as x, 'a' as t from fact union all select l_line, 'b' from "
        "lineitem union all select 21, 'c') u "
        f"join {FEW} d on u.x = d.id"
    )
    assert_narrowed(report, "fact", "k")
    assert_narrowed(report, "lineitem")


def test_a_union_with_one_branch_that_stops(check: Check) -> None:
    """A branch that cannot be filtered is read whole and does not stop the others."""
    report = check(
        "select u.x from (select k as x from fact union all select cast(l_line + l_qty as int) from lineitem) u "
        f"join {FEW} d on u.x = d.id"
    )
    assert_narrowed(report, "fact", "k")
    assert_whole(report, "lineitem")


def test_union_distinct(check: Check) -> None:
    """UNION without ALL is a union under a DISTINCT."""
    report = check(
        f"select u.x from (select k as x from fact union select l_line from lineitem) u join {FEW} d on u.x = d.id"
    )
    assert_narrowed(report, "fact", "k")


@pytest.mark.parametrize("operator", ["intersect", "intersect all", "except", "except all"])
def test_set_operations(check: Check, operator: str) -> None:
    """INTERSECT and EXCEPT become joins or counts over NULL-safe equality; rows agree, NULLs included."""
    check(f"select n from fact where k < 420 {operator} select sparse from fact where k > 250")
    check(f"select id from dim where grp in (3, 4) {operator} select k from fact where spread > 300", may_be_empty=True)


def test_a_limit_on_the_probe_side_stops_the_filter(check: Check) -> None:
    """A LIMIT keeps some rows of those that reach it: a filter below it would let in others."""
    report = check(f"select f.k from (select * from fact order by k limit 30) f join {FEW} d on f.k = d.id")
    assert_unfiltered(report, "LIMIT")
    report = check(f"select f.k from (select * from fact order by k offset 700) f join {FEW} d on f.k >= d.id")
    assert_unfiltered(report, "LIMIT")


def test_a_limit_on_the_build_side_is_run_once(check: Check) -> None:
    """A LIMIT without an order may give other rows when run again: its one run takes the place of the build side."""
    report = check("select f.k from fact f join (select id from dim order by id limit 3) d on f.k = d.id")
    assert_narrowed(report, "fact", "k")


def test_a_limit_without_an_order_on_the_build_side(spark: SparkSession, star: Path) -> None:
    """Rows of a LIMIT without an order agree with the filter that was made of them."""
    ran = compare(
        spark,
        lambda: spark.sql(
            "select count(*) c from fact f join (select id from dim where id < 50 limit 3) d on f.k = d.id"
        ),
    )
    assert ran.rows == [(3,)]
    assert_narrowed(ran.report, "fact", "k")


def test_a_limit_above_the_join(check: Check) -> None:
    """A LIMIT above the join takes its rows from the same rows."""
    report = check(f"select fact.k from fact join {FEW} d on fact.k = d.id order by fact.k desc limit 2")
    assert_narrowed(report, "fact", "k")


def test_a_limit_above_an_outer_join(check: Check) -> None:
    """A LIMIT that Spark pushes into the preserved side of an outer join limits the build side: rows still agree."""
    report = check("select count(*) from (select d.id, f.num from dim d left join fact f on f.k = d.id limit 5)")
    assert report.failures == []


def test_a_filter_goes_down_the_probe_side_of_a_join_below(check: Check) -> None:
    """A join between: the filter reaches the scan on the side its column comes from."""
    report = check(
        "select f.k, f.n_name from (select k, n_name from fact join nation on fact.spread % 25 = n_id) "
        f"f join {FEW} d on f.k = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_a_filter_reaches_both_sides_of_an_equality_below(check: Check) -> None:
    """A join below that makes two columns equal lets the filter down both of its sides."""
    below = "(select fact.k, l.l_qty from fact join lineitem l on fact.k = l.l_line)"
    report = check(f"select f.k from {below} f join {FEW} d on f.k = d.id")
    applied = next(f for f in report.filters if f.values == 5 and f.state == "applied")
    assert applied.applied_to == ["fact", "lineitem"]


@pytest.mark.parametrize("kind", ["left", "right", "full"])
def test_outer_joins_below(check: Check, kind: str) -> None:
    """Above an outer join only columns of its preserved side may be filtered below it; rows agree for each kind."""
    inner = (
        f"(select fact.k, l.l_line from fact {kind} join (select * from lineitem where l_line < 500) l "
        "on fact.k = l.l_line)"
    )
    check(f"select f.* from {inner} f join (values (21), (665), (null)) d(id) on f.k <=> d.id")
    check(f"select f.* from {inner} f join (values (21), (665), (null)) d(id) on f.l_line <=> d.id")
    check(f"select f.* from {inner} f join {FEW} d on f.k = d.id")


def test_semi_and_anti_joins_below(check: Check) -> None:
    """Semi and anti joins below only drop rows of their left side: a filter on it may drop them first."""
    report = check(
        "select f.k from (select * from fact where k not in (select l_line from lineitem where l_qty = 3)) f "
        "join (values (21), (185), (504)) d(id) on f.k = d.id"
    )
    assert_narrowed(report, "fact", "k")
    report = check(
        "select f.k from (select * from fact left semi join lineitem on k = l_line and l_qty > 2) f "
        "join (values (26), (185), (504)) d(id) on f.k = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_uncorrelated_scalar_subqueries(spark: SparkSession, star: Path) -> None:
    """A scalar subquery in the build side is part of the build; one with a join of its own has its own filters."""
    query = (
        "select k from fact join (select id from dim where grp = (select max(r_id) - 1 from region)) d on fact.k = d.id"
    )
    assert_narrowed(same_rows(spark, lambda: spark.sql(query)), "fact", "k")
    query = f"select id from dim where id = (select max(k) from fact join {FEW} d on fact.k = d.id)"
    ran = compare(spark, lambda: spark.sql(query))
    assert any(scan.filters for report in ran.reports for scan in report.scans)


def test_a_scalar_subquery_on_the_probe_side(check: Check) -> None:
    """A scalar subquery that filters the probe side stays where it is."""
    report = check(
        f"select k from fact join {FEW} d on fact.k = d.id where fact.spread > (select avg(l_qty) from lineitem)"
    )
    assert_narrowed(report, "fact", "k")


def test_in_and_exists_subqueries_nested(check: Check) -> None:
    """Subqueries inside subqueries become semi joins below semi joins; filters go all the way down."""
    report = check(
        "select * from lineitem where l_supplier in (select s_id from supplier where s_nation in "
        "(select n_id from nation where n_region = 2))"
    )
    assert_narrowed(report, "lineitem", "l_supplier")


def test_a_probe_side_without_files_has_no_filter(check: Check) -> None:
    """Nothing to narrow on either side: the filters are dropped with the reason."""
    report = check("select * from (values (1), (2)) a(x) join (select id from range(10)) b on a.x = b.id")
    assert_unfiltered(report, "")


def test_no_filter_goes_to_its_own_build_side(check: Check) -> None:
    """The side that was built is not narrowed by what it gave."""
    report = check(f"select * from fact join {FEW} d on fact.k = d.id")
    assert scan_of(report, "dim").filters == []


def test_self_join(check: Check) -> None:
    """Two scans of one table are two scans: the narrowed one and the built one do not mix."""
    report = check(
        "select a.k, b.k, b.num from fact a join (select * from fact where spread between 10 and 12) b on a.k = b.k"
    )
    assert [scan.files_read for scan in report.scans if scan.filters] == [3]


def test_self_join_with_both_scans_narrowed_differently(spark: SparkSession, star: Path) -> None:
    """Two scans of one table narrowed to different files are not taken for the same exchange."""
    query = (
        "select a.c, b.c from (select k, count(*) c from fact group by k) a join (values (21)) x(id) on a.k = x.id "
        "cross join (select k, count(*) c from fact group by k) b join (values (665)) y(id) on b.k = y.id"
    )
    ran = compare(spark, lambda: spark.sql(query.replace("a.c, b.c", "a.k, a.c, b.k, b.c")))
    assert [scan.files_read for scan in ran.report.scans] == [1, 1]


@pytest.mark.parametrize("rows", ["true", "false"])
def test_two_narrowed_scans_of_one_file(spark: SparkSession, star: Path, rows: str) -> None:
    """Two scans narrowed to different row groups of the same file are not taken for the same exchange."""
    query = (
        "select a.k, a.c, b.k, b.c from (select k, count(*) c from fact group by k) a join (values "
        "(201)) x(id) on a.k = x.id "
        "cross join (select k, count(*) c from fact group by k) b join (values (290)) y(id) on b.k = y.id"
    )
    ran = compare(spark, lambda: spark.sql(query), filter_rows=rows)
    assert [(scan.files_read, scan.row_groups_read) for scan in ran.report.scans] == [(1, 1), (1, 1)]


def test_a_cte_used_on_both_sides(check: Check) -> None:
    """A CTE that both sides of a join read is read by each for itself."""
    report = check(
        "with c as (select k, spread, num from fact where num >= 0) select a.k, b.num from c a join "
        "(select * from c where spread < 3) b on a.k = b.k"
    )
    assert [scan.files_read for scan in report.scans if scan.filters] == [3]


def test_a_cte_that_is_not_deterministic(spark: SparkSession, star: Path) -> None:
    """A CTE over rand() is computed once and shared; nothing of it is filtered or used as a build side."""
    query = (
        "with c as (select k, rand(7) r from fact) select count(*) c from c a join (select * from c "
        "where r < 0.1) b on a.k = b.k and a.r = b.r"
    )
    report = same_rows(spark, lambda: spark.sql(query))
    assert_unfiltered(report, "")


def test_views(spark: SparkSession, check: Check) -> None:
    """A view is its query."""
    spark.sql("create or replace temp view narrow_dim as select id as dim_key from dim where grp = 3")
    spark.sql(
        "create or replace temp view wide_fact as select k as fact_key, num from fact union all select "
        "l_line, 1.5 from lineitem"
    )
    report = check("select * from wide_fact join narrow_dim on fact_key = dim_key")
    assert_narrowed(report, "fact", "k")


def test_the_same_column_name_on_both_sides(spark: SparkSession, star: Path) -> None:
    """Columns are told apart by identity: two columns called k are two columns."""
    few = spark.table("dim").where("grp = 3").withColumnRenamed("id", "k")
    report = same_rows(spark, lambda: spark.table("fact").join(few, "k"))
    assert assert_narrowed(report, "fact", "k").files_read == 5
    report = same_rows(spark, lambda: spark.table("fact").join(few, spark.table("fact").spread == few.k))
    assert_unfiltered(report, "would skip nothing")


def test_swapped_column_names(spark: SparkSession, star: Path) -> None:
    """A projection that gives a column another column's name does not fool the filter."""
    swapped = spark.table("fact").selectExpr("spread as k", "k as spread")
    few = spark.table("dim").where("grp = 3").selectExpr("id as k")
    report = same_rows(spark, lambda: swapped.join(few, swapped.k == few.k).select(swapped.spread))
    assert_unfiltered(report, "would skip nothing")
    report = same_rows(spark, lambda: swapped.join(few, swapped.spread == few.k).select(swapped.k))
    assert assert_narrowed(report, "fact", "k").files_read == 5


def test_rand_on_the_probe_side_stops_the_filter(check: Check) -> None:
    """rand() below the join gives each row a number by its place: dropping rows would move the others."""
    report = check(f"select f.k, f.r from (select k, rand(3) r from fact) f join {FEW} d on f.k = d.id")
    assert_unfiltered(report, "non-deterministic")
    report = check(f"select f.k from (select k from fact where rand(3) < 0.9) f join {FEW} d on f.k = d.id")
    assert_unfiltered(report, "non-deterministic")


def test_rand_above_the_join_does_not_matter(spark: SparkSession, star: Path) -> None:
    """rand() above the join numbers the rows that the join puts out; filters below stay."""
    report = same_rows(
        spark,
        lambda: spark.sql(
            f"select k from (select fact.k, rand() r from fact join {FEW} d on fact.k = d.id) where r >= 0"
        ),
    )
    assert_narrowed(report, "fact", "k")


def test_rand_on_the_build_side_has_no_filter(check: Check) -> None:
    """A build side with rand() gives other rows each time it runs: it feeds nothing."""
    report = check("select fact.k from fact join (select id from dim where rand(3) < 0.3) d on fact.k = d.id")
    assert_unfiltered(report, "not deterministic")


def test_positions_and_partitions_stop_the_filter(check: Check) -> None:
    """monotonically_increasing_id and spark_partition_id depend on where a row lies."""
    report = check(
        f"select f.k, f.p from (select k, monotonically_increasing_id() p from fact) f join {FEW} d on f.k = d.id"
    )
    assert_unfiltered(report, "non-deterministic")


def test_a_sample_stops_the_filter(spark: SparkSession, star: Path) -> None:
    """A sample draws by position: a filter below it would draw others."""
    few = spark.table("dim").where("grp = 3")
    report = same_rows(
        spark,
        lambda: spark.table("fact").sample(fraction=0.9, seed=5).join(few, sf.col("k") == few.id).select("k"),
        may_be_empty=True,
    )
    assert_unfiltered(report, "Sample")
    report = same_rows(
        spark,
        lambda: (
            spark.table("fact").join(spark.table("dim").sample(fraction=0.9, seed=5), sf.expr("k = id")).select("k")
        ),
    )
    assert_unfiltered(report, "Sample")


def test_a_generator_lets_filters_on_other_columns_through(check: Check) -> None:
    """LATERAL VIEW explode multiplies rows: those of a dropped row are dropped too."""
    report = check(
        f"select k, x from (select * from fact lateral view explode(array(1, 2)) t as x) join {FEW} d on k = d.id"
    )
    assert_narrowed(report, "fact", "k")
    report = check(
        "select k, x from (select * from fact lateral view explode(array(k, 5)) t as x) join (values "
        "(5)) d(id) on x = d.id"
    )
    assert_whole(report, "fact")


def test_pivot(check: Check) -> None:
    """PIVOT groups by the columns that are left."""
    report = check(
        "select p.* from (select * from (select k, late, num from fact) pivot (sum(num) for late in "
        f"(true as t, false as f))) p join {FEW} d on p.k = d.id"
    )
    assert_narrowed(report, "fact", "k")


def test_repartition_lets_filters_through(spark: SparkSession, star: Path) -> None:
    """Moving rows between tasks does not change which rows there are."""
    few = spark.table("dim").where("grp = 3")
    report = same_rows(
        spark, lambda: spark.table("fact").repartition(3, "k").join(few, sf.expr("k = id")).select("k", "num")
    )
    assert_narrowed(report, "fact", "k")


def test_hints(check: Check) -> None:
    """Join hints decide how Spark joins, and nothing else."""
    for hint in ("broadcast(d)", "merge(fact)", "shuffle_hash(fact)", "shuffle_replicate_nl(fact)"):
        report = check(f"select /*+ {hint} */ fact.k from fact join {FEW} d on fact.k = d.id")
        assert_narrowed(report, "fact", "k")


def test_python_functions_stop_the_filter(spark: SparkSession, star: Path) -> None:
    """A column that a Python function computes says nothing of the file's column; a plain one beside it does not pass either."""
    twice = sf.udf(lambda x: x * 2, IntegerType())
    few = spark.table("dim").where("grp = 3")
    report = same_rows(
        spark, lambda: spark.table("fact").select(twice("k").alias("x"), "k").join(few, sf.expr("x = id"))
    )
    assert_whole(report, "fact")


def test_an_empty_relation_on_one_side(check: Check) -> None:
    """Spark folds a join with a side that is surely empty; nothing fails."""
    report = check("select * from fact join (select * from dim where 1 = 0) d on fact.k = d.id", may_be_empty=True)
    assert report.failures == []


def test_a_query_without_a_join(check: Check) -> None:
    """A query without a join has nothing to filter, and its scan says so."""
    report = check("select k from fact where k = 7")
    assert report.filters == []
    assert_whole(report, "fact")


def test_a_join_of_three_tables_in_every_order(check: Check) -> None:
    """However the joins are nested, the scan ends up with the same filters."""
    for query in (
        f"select fact.k from fact join {FEW} d on fact.k = d.id join supplier s on fact.spread = s.s_id",
        f"select fact.k from fact join supplier s on fact.spread = s.s_id join {FEW} d on fact.k = d.id",
        f"select fact.k from {FEW} d join (fact join supplier s on fact.spread = s.s_id) on fact.k = d.id",
    ):
        report = check(query, may_be_empty=True)
        assert_unread(assert_narrowed(report, "fact", "k"), report)


def test_reasons_name_each_join(check: Check) -> None:
    """Each join of a query has its own filters or its own reason."""
    report = check(
        f"select fact.k from fact join {FEW} d on fact.k = d.id full join (select s_id from supplier) s "
        "on fact.spread = s.s_id"
    )
    assert len(report.joins) == 2
    assert all(bool(join.filters) != bool(join.reason) for join in report.joins)
    assert_reason(report, "full outer join")
