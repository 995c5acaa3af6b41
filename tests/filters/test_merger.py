"""Partial domains become one filter when all are in, and not before. The numbers are scenarios of list B."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import Domain, Kind, Limits, TupleDomain, column_wise_union
from headgate.errors import InvalidFilter
from headgate.filters import DynamicFilter, FilterMerger, Snapshot, within_limits
from tests.domain.strategies import maybe_null, models
from tests.filters.threads import Gate, ParkedDomain, Started


def ids(*values: int) -> TupleDomain:
    return TupleDomain({"k": Domain.of("bigint", values)})


def new_filter(*columns: str) -> DynamicFilter:
    return DynamicFilter("df1", columns or ["k"])


class Watched:
    """A filter and every state that it ever showed."""

    def __init__(self, *columns: str) -> None:
        self.filter, self.states = new_filter(*columns), list[Snapshot]()
        self.filter.subscribe(self.states.append)


def test_a_single_partition() -> None:
    """B22: the only partition's domain is the filter."""
    target = new_filter()
    assert FilterMerger(target, expected=1).report(0, ids(1, 2)) is True
    assert target.snapshot() == Snapshot(1, ids(1, 2), is_complete=True)


def test_everything_ends_the_collection() -> None:
    """B23: one partition that says ALL completes the filter as ALL at once; later reports are ignored."""
    target = new_filter()
    merger = FilterMerger(target, expected=3)
    merger.report(1, ids(1))
    assert not target.is_complete
    merger.report(0, TupleDomain.all())
    assert target.is_complete
    assert target.current().is_all
    assert merger.report(2, ids(2)) is False
    assert target.current().is_all
    unknown = new_filter()
    FilterMerger(unknown).report(0, TupleDomain.all())
    assert unknown.is_complete


def test_the_union_over_partitions() -> None:
    """B24: a probe row may match a key of any partition, so the filter is the union of all."""
    target = new_filter()
    merger = FilterMerger(target, expected=3)
    for partition, values in enumerate([(1, 2), (2, 3), (9,)]):
        merger.report(partition, ids(*values))
    assert target.current() == ids(1, 2, 3, 9)


def test_an_empty_build_side_is_none() -> None:
    """B25: zero partitions, or only empty ones, are NONE: nothing on the probe side can match."""
    target = new_filter()
    FilterMerger(target, expected=0)
    assert target.snapshot() == Snapshot(1, TupleDomain.none(), is_complete=True)
    late = new_filter()
    FilterMerger(late).expect(0)
    assert late.current().is_none
    empty = new_filter()
    merger = FilterMerger(empty, expected=50)
    for partition in range(50):
        assert not empty.is_complete
        merger.report(partition, TupleDomain.none())
    assert empty.is_complete
    assert empty.current().is_none


def test_several_columns_over_several_partitions() -> None:
    """B26: columns are united each on its own; a column that one partition does not constrain is not constrained."""
    target = new_filter("a", "b")
    merger = FilterMerger(target, expected=2)
    merger.report(0, TupleDomain({"a": Domain.of("int", [1]), "b": Domain.of("string", ["x"])}))
    merger.report(1, TupleDomain({"a": Domain.of("int", [2]), "b": Domain.of("string", ["y"])}))
    assert target.current() == TupleDomain({"a": Domain.of("int", [1, 2]), "b": Domain.of("string", ["x", "y"])})
    open_b = new_filter("a", "b")
    merger = FilterMerger(open_b, expected=2)
    merger.report(0, TupleDomain({"a": Domain.of("int", [1]), "b": Domain.of("string", ["x"])}))
    merger.report(1, TupleDomain({"a": Domain.of("int", [2])}))
    assert open_b.current() == TupleDomain({"a": Domain.of("int", [1, 2])})


def test_columns_that_nobody_asked_for_are_dropped() -> None:
    """B27: a report may say more than the filter is for; the rest is left out, whatever its type."""
    target = new_filter("a")
    merger = FilterMerger(target, expected=2)
    merger.report(0, TupleDomain({"a": Domain.of("int", [1]), "unused": Domain.of("int", [7])}))
    merger.report(1, TupleDomain({"a": Domain.of("int", [2]), "unused": Domain.of("string", ["z"])}))
    assert target.current() == TupleDomain({"a": Domain.of("int", [1, 2])})


def test_a_union_over_the_size_limit_is_compacted() -> None:
    """Many values become a bitmap, then a bloom in their range, then the range; no value is lost (B28)."""
    keys = np.arange(300) * 97
    parts = [TupleDomain({"k": Domain.of_array("bigint", keys[i::5])}) for i in range(5)]
    kinds = []
    for limits in (
        Limits(),
        Limits(max_distinct=10),
        Limits(max_distinct=10, max_bytes=600),
        Limits(max_distinct=10, max_bytes=16),
    ):
        target = new_filter()
        merger = FilterMerger(target, expected=5, limits=limits)
        for partition, part in enumerate(parts):
            merger.report(partition, part)
        domain = target.current().find("k")
        assert domain is not None
        assert domain.values.contains(keys).all()
        kinds.append(domain.kind)
    assert kinds == [Kind.SET, Kind.BITMAP, Kind.BLOOM, Kind.RANGES]


def test_texts_over_the_limit_become_a_bloom() -> None:
    """B28: text has no bitmaps; beyond the set it is a bloom within its range, which turns strangers away."""
    target = new_filter()
    merger = FilterMerger(target, expected=3, limits=Limits(max_distinct=50))
    words = [[f"{p}-{i}" for i in range(40)] for p in range(3)]
    for partition, listed in enumerate(words):
        merger.report(partition, TupleDomain({"k": Domain.of("string", listed)}))
    domain = target.current().find("k")
    assert domain is not None
    assert domain.kind is Kind.BLOOM
    assert all(word in domain for listed in words for word in listed)
    assert "stranger" not in domain
    assert sum(f"1-{i}" in domain for i in range(100, 1100)) < 100


def test_what_is_still_too_big_is_everything() -> None:
    """Where even the range is too large, or ranges are switched off, the filter is ALL, and complete (B29)."""
    for limits in (Limits(max_bytes=60), Limits(max_distinct=1, max_bytes=120, ranges=False)):
        target = new_filter()
        merger = FilterMerger(target, expected=2, limits=limits)
        merger.report(0, TupleDomain({"k": Domain.single("string", "a" * 100)}))
        merger.report(1, TupleDomain({"k": Domain.single("string", "b" * 100)}))
        assert target.is_complete
        assert target.current().is_all
        assert merger.nbytes == 0


def test_a_partial_union_is_never_visible() -> None:
    """Until the last partition has reported every consumer sees ALL: a filter made of some partitions loses rows."""
    watched = Watched()
    merger = FilterMerger(watched.filter, expected=4)
    for partition in (2, 0, 3):
        merger.report(partition, ids(partition))
        assert watched.filter.snapshot() == Snapshot(0, TupleDomain.all(), is_complete=False)
    merger.report(1, ids(1))
    assert watched.states == [
        Snapshot(0, TupleDomain.all(), is_complete=False),
        Snapshot(1, ids(0, 1, 2, 3), is_complete=True),
    ]


def test_how_many_are_expected_may_be_told_late() -> None:
    """Reports may come before the number of partitions is known; nothing shows until it is."""
    target = new_filter()
    merger = FilterMerger(target)
    merger.report(0, ids(1))
    merger.report(1, ids(2))
    assert not target.is_complete
    merger.expect(2)
    assert target.current() == ids(1, 2)
    merger.expect(2)
    early = new_filter()
    merger = FilterMerger(early)
    merger.expect(2)
    merger.report(0, ids(1))
    assert not early.is_complete
    merger.report(1, ids(2))
    assert early.is_complete


def test_repeats_of_a_partition_are_ignored() -> None:
    """A retry or a speculative twin of a partition neither counts nor changes what the first said."""
    target = new_filter()
    merger = FilterMerger(target, expected=2)
    assert merger.report(0, ids(1)) is True
    assert merger.report(0, ids(1, 99)) is False
    assert merger.report(0, TupleDomain.all()) is False
    assert merger.reported == 1
    assert not target.is_complete
    assert merger.report(1, ids(2)) is True
    assert target.current() == ids(1, 2)
    assert merger.report(1, ids(3)) is False
    assert merger.reported == 2


def test_a_broadcast_is_complete_on_its_first_report() -> None:
    """Every task of a broadcast build holds the whole build side: the first is enough, whatever its number."""
    for expected in (None, 4):
        target = new_filter()
        merger = FilterMerger(target, expected=expected, broadcast=True)
        assert merger.report(17, ids(1, 2)) is True
        assert target.snapshot() == Snapshot(1, ids(1, 2), is_complete=True)
        assert merger.report(3, ids(3)) is False
        merger.expect(4)
        assert target.current() == ids(1, 2)


def test_only_the_partitions_there_are_count() -> None:
    """A number outside the partitions is refused and does not complete the filter in the place of a missing one."""
    target = new_filter()
    merger = FilterMerger(target, expected=2)
    for wrong in (2, 17, -1):
        with pytest.raises(InvalidFilter, match="not one of"):
            merger.report(wrong, ids(9))
    merger.report(0, ids(1))
    assert not target.is_complete
    late = new_filter()
    merger = FilterMerger(late)
    merger.report(0, ids(1))
    merger.report(5, ids(2))
    with pytest.raises(InvalidFilter, match="2 partitions are too few"):
        merger.expect(2)
    assert not late.is_complete
    with pytest.raises(InvalidFilter, match="not one of"):
        FilterMerger(new_filter()).report(-1, ids(1))


def test_expectations_cannot_change() -> None:
    """Another number of partitions than the one told is a mistake of the teller, and so is a negative one."""
    merger = FilterMerger(new_filter(), expected=2)
    with pytest.raises(InvalidFilter, match="expects 2 partitions, not 3"):
        merger.expect(3)
    with pytest.raises(InvalidFilter, match="0 or more"):
        FilterMerger(new_filter(), expected=-1)


def test_a_report_that_cannot_be_merged_is_refused_when_it_comes() -> None:
    """A partition of another type is refused and not counted, so its retry can still report."""
    target = new_filter()
    merger = FilterMerger(target, expected=2)
    merger.report(0, ids(1))
    with pytest.raises(InvalidFilter, match="column 'k' is string in partition 1 and bigint in others"):
        merger.report(1, TupleDomain({"k": Domain.of("string", ["a"])}))
    assert merger.reported == 1
    assert not target.is_complete
    merger.report(1, ids(2))
    assert target.current() == ids(1, 2)


def test_a_failing_merge_opens_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should merging itself fail, the filter completes as ALL: nobody waits for ever, and no row is lost."""

    def fail(*_: Any) -> TupleDomain:
        raise MemoryError

    target = new_filter()
    merger = FilterMerger(target, expected=1)
    monkeypatch.setattr("headgate.filters.merger.column_wise_union", fail)
    with pytest.raises(MemoryError):
        merger.report(0, ids(1))
    assert target.is_complete
    assert target.current().is_all


def test_memory_is_given_back() -> None:
    """Reports are held until the last is in, and not after."""
    merger = FilterMerger(new_filter(), expected=2)
    assert merger.nbytes == 0
    merger.report(0, ids(*range(0, 100, 2)))
    assert merger.nbytes == 400
    merger.report(1, ids(1))
    assert merger.nbytes == 0


def test_many_reports_do_not_fill_the_memory() -> None:
    """Reports over max_bytes are merged on the way, unseen: what is held stays bounded, and no value is lost."""
    watched, limits = Watched(), Limits(max_distinct=100, max_bytes=4_000)
    merger = FilterMerger(watched.filter, expected=200, limits=limits)
    for partition in range(200):
        merger.report(partition, TupleDomain({"k": Domain.of_array("bigint", np.arange(50) * 200 + partition)}))
        assert merger.nbytes <= 2 * limits.max_bytes
        assert len(watched.states) == (1 if partition < 199 else 2)
    domain = watched.filter.current().find("k")
    assert domain is not None
    assert domain == Domain.range("bigint", 0, 9_999)
    assert watched.filter.is_complete


@given(st.lists(st.lists(maybe_null("double"), max_size=5), max_size=5), st.randoms(), st.booleans())
def test_no_key_of_any_partition_is_lost(parts: list[list[Any]], random: Any, tight: bool) -> None:
    """In whatever order partitions report, under whatever limits, the filter holds every key of each."""
    target = new_filter()
    limits = Limits(max_distinct=2, max_bytes=40, bloom_items=4) if tight else Limits()
    merger = FilterMerger(target, limits=limits)
    order = list(enumerate(parts))
    random.shuffle(order)
    for partition, keys in order:
        merger.report(partition, TupleDomain({"k": Domain.of_array("double", keys)}))
    merger.expect(len(parts))
    assert target.is_complete
    domain = target.current().find("k")
    for key in (key for keys in parts for key in keys):
        assert domain is None or key in domain
    if not any(parts):
        assert target.current().is_none


@given(st.lists(models("bigint"), min_size=1, max_size=5))
def test_merging_covers_the_union(parts: list[Any]) -> None:
    """For partial domains of every kind, the filter lets through at least what their union does."""
    target = new_filter()
    merger = FilterMerger(target, expected=len(parts))
    for partition, model in enumerate(parts):
        merger.report(partition, TupleDomain({"k": model.domain}))
    assert target.is_complete
    exact = [model for model in parts if model.domain.is_exact]
    union = column_wise_union([TupleDomain({"k": model.domain}) for model in exact])
    if not union.is_none and all(model.domain.is_exact for model in parts):
        assert target.current().covers(union)


def test_the_last_report_may_come_from_any_thread() -> None:
    """Interleaving: partition 0 is parked on its way, 1 and the number arrive; complete only when 0 goes on."""
    watched, gate = Watched(), Gate()
    merger = FilterMerger(watched.filter)
    slow = Started(lambda: merger.report(0, ParkedDomain(ids(1), gate)))
    gate.wait_parked()
    assert merger.report(1, ids(2)) is True
    merger.expect(2)
    assert not watched.filter.is_complete
    gate.open()
    assert slow.result() is True
    assert [state.domain for state in watched.states] == [TupleDomain.all(), ids(1, 2)]


def test_a_twin_that_overtakes_counts_once() -> None:
    """Interleaving: a task parked on its way, its speculative twin reports; the first is then the repeat."""
    target, gate = new_filter(), Gate()
    merger = FilterMerger(target, expected=2)
    slow = Started(lambda: merger.report(0, ParkedDomain(ids(1, 99), gate)))
    gate.wait_parked()
    assert merger.report(0, ids(1)) is True
    gate.open()
    assert slow.result() is False
    assert not target.is_complete
    merger.report(1, ids(2))
    assert target.current() == ids(1, 2)


def test_reports_do_not_wait_for_listeners() -> None:
    """Interleaving: with the last reporter parked in a consumer's listener, late repeats return at once."""
    target, gate = new_filter(), Gate()
    target.subscribe(lambda state: gate.park() if state.is_complete else None)
    merger = FilterMerger(target, expected=1)
    slow = Started(lambda: merger.report(0, ids(1)))
    gate.wait_parked()
    assert merger.report(0, ids(1)) is False
    assert merger.nbytes == 0
    assert target.wait(0) is True
    gate.open()
    assert slow.result() is True


def test_many_threads_report_at_once() -> None:
    """Eight threads, each partition reported by two of them: complete once, with every key."""
    watched, gate = Watched(), Gate()
    merger = FilterMerger(watched.filter, expected=64)

    def work(thread: int) -> int:
        gate.park()
        mine = [p for p in range(64) if p % 4 == thread % 4]
        return sum(merger.report(p, ids(p)) for p in mine)

    threads = [Started(lambda i=i: work(i)) for i in range(8)]
    gate.open()
    assert sum(thread.result() for thread in threads) == 64
    assert [state.domain for state in watched.states] == [TupleDomain.all(), ids(*range(64))]


def test_limits_hold_for_every_column_on_its_own() -> None:
    """within_limits compacts what is too large and leaves the rest; NONE stays NONE."""
    domain = TupleDomain({"k": Domain.of("bigint", range(0, 40, 2)), "s": Domain.of("string", ["a"])})
    target = within_limits(domain, Limits(max_distinct=10))
    assert {column: d.kind for column, d in (target.domains or {}).items()} == {"k": Kind.BITMAP, "s": Kind.SINGLE}
    assert within_limits(TupleDomain.none(), Limits()).is_none
    assert within_limits(TupleDomain.all(), Limits()).is_all


def test_finishing_in_one_go_stands_for_all_partitions() -> None:
    """A domain for the whole build side completes the filter; reports before it are dropped, those after are late."""
    target = new_filter()
    merger = FilterMerger(target, expected=3)
    merger.report(0, ids(*range(100)))
    assert merger.nbytes > 0
    both = TupleDomain({"k": Domain.of("bigint", [7]), "other": Domain.of("bigint", [1])})
    assert merger.finish(both) is True
    assert target.snapshot() == Snapshot(1, ids(7), is_complete=True)
    assert merger.nbytes == 0
    assert merger.finish(ids(8)) is False
    assert merger.report(1, ids(9)) is False
    assert target.current() == ids(7)


def test_finishing_respects_the_limits() -> None:
    target = new_filter()
    FilterMerger(target, limits=Limits(max_distinct=2, max_bytes=16)).finish(ids(1, 5, 900_000))
    assert target.current() == TupleDomain({"k": Domain.range("bigint", 1, 900_000)})


def test_the_owner_of_the_memory_may_widen_what_is_published() -> None:
    """The union is shown to the one who shares out the memory, and what it gives back is the filter."""
    shown: list[TupleDomain] = []
    target = new_filter()

    def widened(merged: TupleDomain) -> TupleDomain:
        shown.append(merged)
        return merged.simplify(1)

    merger = FilterMerger(target, expected=2, fit=widened)
    merger.report(0, ids(1))
    assert merger.expected == 2
    merger.report(1, ids(9))
    assert shown == [ids(1, 9)]
    assert target.current() == TupleDomain({"k": Domain.range("bigint", 1, 9)})


def test_a_refused_report_says_nothing_of_types() -> None:
    """A report that is refused for one column leaves no trace of the types of its others."""
    target = new_filter("a", "b")
    merger = FilterMerger(target, expected=2)
    merger.report(0, TupleDomain({"b": Domain.of("bigint", [1])}))
    wrong = TupleDomain({"a": Domain.of("string", ["x"]), "b": Domain.of("string", ["x"])})
    with pytest.raises(InvalidFilter, match="'b' is string in partition"):
        merger.report(1, wrong)
    right = TupleDomain({"a": Domain.of("bigint", [1]), "b": Domain.of("bigint", [2])})
    assert merger.report(1, right) is True
    assert target.current() == TupleDomain({"b": Domain.of("bigint", [1, 2])})
