"""Building a domain from a column: every value is kept, in a form that fits. The numbers are scenarios of list A."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, DomainBuilder, Kind, Limits, MemoryBudget, union_all
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, maybe_null, order_key, per_type
from tests.domain.test_arrays import arrow_column
from tests.domain.test_limits import LIMITS

NAN = float("nan")


def built(name: str, *columns: Any, **limits: Any) -> Domain:
    """The domain of some columns, one after another."""
    builder = DomainBuilder(name, Limits(**limits))
    for column in columns:
        builder.add(column)
    return builder.build()


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data(), limits=LIMITS, room=st.sampled_from([None, 0, 20, 64, 300, 10**7]))
def test_nothing_added_is_ever_lost(name: str, data: st.DataObject, limits: Limits, room: int | None) -> None:
    """Through every form, limit and budget, each value added is in the domain, and the memory is given back."""
    columns = data.draw(st.lists(st.lists(maybe_null(name), max_size=6), max_size=4))
    budget = None if room is None else MemoryBudget(room)
    builder = DomainBuilder(name, limits, budget)
    for i, column in enumerate(columns):
        builder.add(arrow_column(name, column) if i % 2 else column)
        assert budget is None or 0 <= budget.used <= budget.limit
    domain = builder.build()
    assert not [x for column in columns for x in column if x not in domain]
    assert budget is None or budget.used == 0


@pytest.mark.parametrize("name", TYPES)
@per_type
@given(data=st.data())
def test_below_the_limits_the_domain_is_exact(name: str, data: st.DataObject) -> None:
    """With room enough, the domain is the set of the values, and NULL when there was one."""
    column = data.draw(st.lists(maybe_null(name), max_size=8))
    domain = built(name, column[:3], column[3:])
    assert domain == Domain.of(name, [x for x in column if x is not None], null_allowed=None in column)
    assert domain.count() in (None, len({order_key(name, x) for x in column if x is not None}))


def test_several_tasks_each_build_their_own() -> None:
    """A1: tasks build apart and share only the budget; the union of their domains is that of the whole column."""
    budget = MemoryBudget(10**6)
    builders = [DomainBuilder("bigint", budget=budget) for _ in range(3)]
    for i, builder in enumerate(builders):
        builder.add(np.arange(i * 10, i * 10 + 5))
    domains = [builder.build() for builder in builders]
    assert [domain.listed() for domain in domains] == [list(range(i, i + 5)) for i in (0, 10, 20)]
    assert union_all(domains).count() == 15
    assert budget.used == 0


def test_several_columns_are_built_side_by_side() -> None:
    """A2: one builder per column; each sees its own."""
    table = pa.table({"k": [1, 2, None], "s": ["a", "b", "c"]})
    builders = {"k": DomainBuilder("bigint"), "s": DomainBuilder("string")}
    for column, builder in builders.items():
        builder.add(table[column])
    assert builders["k"].build() == Domain.of("bigint", [1, 2], null_allowed=True)
    assert builders["s"].build() == Domain.of("string", ["a", "b", "c"])


def test_only_the_columns_asked_for_are_built() -> None:
    """A3: a table's first or last column alone can be built; the others are not looked at."""
    table = pa.table({"first": [1], "skipped": [[1, 2]], "last": ["z"]})
    assert built("bigint", table["first"]) == Domain.of("bigint", [1])
    assert built("string", table["last"]) == Domain.of("string", ["z"])


def test_nulls_are_noted_apart() -> None:
    """A4: NULLs are no values. Trino skips them; here the domain remembers that there was one, for ``<=>``."""
    assert built("bigint", pa.array([1, None, 2])).listed() == [1, 2]
    assert built("bigint", pa.array([1, None, 2])).null_allowed
    assert not built("bigint", pa.array([1, 2])).null_allowed
    builder = DomainBuilder("bigint")
    builder.add_nulls()
    assert builder.build() == Domain.only_null("bigint")


def test_nan_of_a_double_is_kept() -> None:
    """A5: Trino drops NaN, since its joins do not match it; Spark's do, so NaN stays beside 42.0."""
    domain = built("double", pa.array([42.0, NAN, NAN]))
    assert domain == Domain.of("double", [42.0, NAN])
    assert domain.count() == 2


def test_nan_of_a_float_is_kept() -> None:
    """A6: the same for the narrower type, from NumPy and from Arrow."""
    for column in (np.array([42.0, NAN], dtype=np.float32), pa.array([42.0, NAN], pa.float32())):
        assert built("float", column) == Domain.of("float", [42.0, NAN])


@pytest.mark.parametrize("name", ["float", "double"])
def test_too_many_floats_keep_their_range(name: str) -> None:
    """A7: Trino has no ranges of floats and gives up; here NaN has a place in the order, so floats have ranges.

    Beyond the set there is a bloom within the range, then the range, up to NaN when one was seen.
    """
    column = np.arange(100, dtype=np.float32)
    assert built(name, column, max_distinct=10).kind is Kind.BLOOM
    assert built(name, column, max_distinct=10, max_bytes=16) == Domain.range(name, 0.0, 99.0)
    assert built(name, column, np.array([NAN]), max_distinct=10, max_bytes=16) == Domain.range(name, 0.0)
    assert NAN in built(name, column, np.array([NAN]), max_distinct=10)


def test_types_without_an_order_have_no_builder() -> None:
    """A8: a type that cannot be ordered never gets as far as too many values: it has no domain, and is refused."""
    for name in ("map<int,int>", "interval", "variant"):
        with pytest.raises(InvalidFilter, match="no domain over type"):
            DomainBuilder(name)


def test_types_whose_order_means_little_are_sets_too() -> None:
    """A9: boolean and binary columns below the limit are sets, like all others."""
    assert built("binary", pa.array([b"\xff", b""])) == Domain.of("binary", [b"", b"\xff"])
    assert built("boolean", pa.array([True, True])) == Domain.single("boolean", True)


def test_a_builder_that_was_given_nothing_to_do() -> None:
    """Nothing added, nothing held (A10)."""
    budget = MemoryBudget(1000)
    DomainBuilder("bigint", budget=budget).close()
    assert budget.used == 0


def test_an_empty_build_side_is_none() -> None:
    """No rows, or only empty columns: NONE (A11)."""
    assert built("bigint").is_none
    assert built("bigint", pa.array([], pa.int64()), np.array([], dtype=np.int64), []).is_none
    assert built("string", pa.nulls(2, pa.string())) == Domain.only_null("string")


def test_too_many_values_become_a_range() -> None:
    """Over the limits, and with no room for bitmap or bloom, the smallest and the largest value stay (A12)."""
    column = np.arange(1, 1_001)
    assert built("bigint", column, max_distinct=10, max_bytes=16) == Domain.range("bigint", 1, 1_000)
    assert built("bigint", column, max_distinct=10).kind is Kind.BITMAP
    assert built("bigint", column, max_distinct=10) == Domain.range("bigint", 1, 1_000)
    texts = pa.array([f"{i:04}" for i in range(1_000)])
    assert built("string", texts, max_distinct=10, max_bytes=200, bloom_items=8) == Domain.range(
        "string", "0000", "0999"
    )


def test_many_rows_of_few_values_are_a_set() -> None:
    """The limit is on distinct values; a million rows of them are still a set (A13)."""
    column = np.arange(1_000_000) % 100
    assert built("bigint", column, max_distinct=100).kind is Kind.SET
    assert built("bigint", column, max_distinct=100).count() == 100


def test_the_limit_itself_is_still_a_set() -> None:
    """Exactly max_distinct values are a set, one more is not, in one column or in many (A13)."""
    for pieces in (1, 7):
        exactly = np.array_split(np.arange(0, 20_000, 2), pieces)
        assert built("bigint", *exactly).kind is Kind.SET
        assert built("bigint", *exactly).count() == 10_000
        assert built("bigint", *exactly, np.array([0, 2])).kind is Kind.SET
        assert built("bigint", *exactly, np.array([1])).kind is Kind.BITMAP


def test_one_column_a_set_another_a_range() -> None:
    """Columns degrade on their own: a few keys stay a set while many become a range (A14)."""
    few, many = np.arange(1_000) % 3, np.arange(1_000)
    limits = {"max_distinct": 5, "max_bytes": 40}
    assert built("bigint", few, **limits).listed() == [0, 1, 2]
    assert built("bigint", many, **limits | {"max_bytes": 16}) == Domain.range("bigint", 0, 999)


def test_one_column_a_set_another_everything() -> None:
    """With ranges switched off a column over its limits is ALL, and says nothing against the other (A15)."""
    limits: dict[str, Any] = {"max_distinct": 5, "max_bytes": 40, "ranges": False}
    assert built("bigint", np.arange(1_000) % 3, **limits).kind is Kind.SET
    assert built("double", np.arange(1_000.0), **limits).is_all


def test_ranges_with_nulls() -> None:
    """NULLs do not move the ends of a range, and are remembered (A16)."""
    column = pa.array([None, *range(5, 100), None])
    assert built("bigint", column, max_distinct=3, max_bytes=16) == Domain.range("bigint", 5, 99, null_allowed=True)


def test_too_many_bytes_become_a_range() -> None:
    """Few but long values are too much as well; their range is kept while it fits, and ALL when it does not (A17)."""
    texts = pa.array([chr(ord("a") + i) * 50 for i in range(20)])
    domain = built("string", texts, max_bytes=225)
    assert domain == Domain.range("string", "a" * 50, "t" * 50)
    assert built("string", texts, max_bytes=100).is_all
    assert built("bigint", np.arange(3), max_bytes=240).kind is Kind.SET


def test_many_large_columns() -> None:
    """Column after column of the same large values stays a set and never exceeds the budget (A18)."""
    budget = MemoryBudget(200_000)
    builder = DomainBuilder("string", Limits(max_distinct=200), budget)
    for _ in range(50):
        builder.add(pa.array([f"{i:>200}" for i in range(100)]))
        assert 0 < budget.used <= 200_000
    assert builder.build().count() == 100


def test_repeats_do_not_count() -> None:
    """A value seen again takes nothing from the limit, from the bytes or from the budget (A19)."""
    budget = MemoryBudget(10**6)
    builder = DomainBuilder("bigint", Limits(max_distinct=10), budget)
    builder.add(np.arange(10))
    used = budget.used
    for _ in range(20):
        builder.add(np.arange(10))
    assert budget.used == used
    assert builder.build() == Domain.range("bigint", 0, 9)


def test_there_is_no_limit_on_rows() -> None:
    """Trino stops looking at minima and maxima after so many rows; here a range costs little and goes on (A20).

    Within one column or over several, the range holds the first row and the last.
    """
    limits: dict[str, Any] = {"max_distinct": 10, "max_bytes": 16}
    assert built("bigint", np.arange(1_000_000), **limits) == Domain.range("bigint", 0, 999_999)
    pieces = [np.arange(i, i + 1_000) for i in range(0, 100_000, 1_000)]
    assert built("bigint", *pieces, **limits) == Domain.range("bigint", 0, 99_999)


def test_memory_goes_back_to_zero() -> None:
    """Build, close and leaving a with block each give everything back; so does a builder whose task failed (A21)."""
    budget = MemoryBudget(10**6)
    builder = DomainBuilder("bigint", budget=budget)
    builder.add(np.arange(1_000))
    assert budget.used == 8_000
    builder.build()
    assert budget.used == 0

    def failing_task() -> None:
        with DomainBuilder("bigint", budget=budget) as builder:
            builder.add(np.arange(1_000))
            builder.add(pa.array(["not a number"]))

    with pytest.raises(InvalidFilter):
        failing_task()
    assert budget.used == 0


def test_a_column_that_is_refused_leaves_everything() -> None:
    """Half a column is a domain that loses rows: after an error the builder knows nothing, and says ALL."""
    builder = DomainBuilder("tinyint")
    builder.add([1, 2])
    with pytest.raises(InvalidFilter):
        builder.add(pa.chunked_array([np.zeros(300_000, dtype=np.int16), np.full(5, 300, dtype=np.int16)]))
    builder.add([3])
    assert builder.build().is_all


def test_a_budget_that_is_gone_costs_precision_not_rows() -> None:
    """Without a byte to spare a builder keeps ALL, takes nothing, and another's holding stays untouched (A21)."""
    budget = MemoryBudget(8_000)
    first, second = (DomainBuilder("bigint", budget=budget) for _ in range(2))
    first.add(np.arange(0, 2_000, 2))
    second.add(np.arange(5))
    assert budget.used == 8_000
    assert second.build().is_all
    assert first.build().count() == 1_000
    assert budget.used == 0


def test_a_smaller_form_is_taken_when_the_budget_is_short() -> None:
    """A set that the budget cannot hold becomes a bitmap that it can."""
    builder = DomainBuilder("bigint", budget=MemoryBudget(100))
    builder.add(np.arange(1_000))
    assert builder.build().kind is Kind.BITMAP


def test_once_built_a_builder_is_done() -> None:
    """A builder builds once; more values, or a second domain, need a new one. Closing again is harmless."""
    builder = DomainBuilder("bigint")
    builder.build()
    builder.close()
    with pytest.raises(InvalidFilter, match="make a new DomainBuilder"):
        builder.add([1])
    with pytest.raises(InvalidFilter, match="make a new DomainBuilder"):
        builder.build()


def test_long_columns_are_taken_in_pieces() -> None:
    """A column longer than one piece, in NumPy or Arrow, chunked or not, gives the domain of all its values."""
    column = np.arange(600_000) % 70_001
    expected = Domain.of_array("bigint", np.arange(70_001))
    half = len(column) // 2
    chunked = pa.chunked_array([pa.array(column[:half]), pa.array(column[half:])])
    for shape in (column, pa.array(column), chunked, column.astype(np.int32), column.astype(">i8"), column[::1]):
        assert built("bigint", shape) == expected
    floats = np.where(np.arange(600_000) == 599_999, math.nan, -0.0)
    assert built("double", floats) == Domain.of("double", [0.0, NAN])


def test_the_form_of_a_large_set_of_ids() -> None:
    """A million dense ids are a bitmap of at most 140 KB; beyond max_bytes they are a bloom, and then a range."""
    ids = np.random.default_rng(1).permutation(1_000_000)
    bitmap = built("bigint", ids)
    assert bitmap.kind is Kind.BITMAP
    assert bitmap.count() == 1_000_000
    assert bitmap.nbytes <= 140_000
    sparse = ids[:20_000] * 1_000_003
    assert built("bigint", sparse, max_bytes=60_000).kind is Kind.BLOOM
    assert built("bigint", sparse, max_bytes=2_000) == Domain.range("bigint", int(sparse.min()), int(sparse.max()))


def test_the_budget_is_shared_by_threads() -> None:
    """Many threads that take and give back never exceed the limit together, and leave nothing behind."""
    budget, start, over = MemoryBudget(1_000), threading.Barrier(4), []

    def work() -> None:
        start.wait()
        for _ in range(2_000):
            if budget.resize(0, 400):
                over.append(budget.used > budget.limit)
                budget.resize(400, 0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert over
    assert not any(over)
    assert budget.used == 0
