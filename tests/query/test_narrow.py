"""A scan under its filters: what is left of it, how rows are tested, and which filters are said to narrow it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.config import Settings
from headgate.domain import Domain
from headgate.plan import Consumer, QueryPlan
from headgate.query.narrow import Narrowed, column_domains, narrowed
from headgate.query.row_cost import RowFilterCost
from headgate.query.scans import Scans
from headgate.query.schedule import Arrived
from tests.query.chains import chain, scan_of, scans_of, write_fact


@pytest.fixture
def fact(tmp_path: Path) -> tuple[QueryPlan, int, Scans]:
    plan = chain()
    scan = scan_of(plan, "fact").id
    return plan, scan, scans_of(plan, {scan: write_fact(tmp_path / "fact")})


def arrived(plan: QueryPlan, domain: Domain, *, column: str = "k", name: str = "", has_rows: bool = True) -> Arrived:
    planned = next(f for f in plan.filters if f.is_alive and f.consumers[0].scan == scan_of(plan, "fact").id)
    scan = scan_of(plan, "fact")
    wanted = next(held.id for held in scan.output if held.name == column)
    named = replace(planned, id=name or planned.id)
    return Arrived(named, Consumer(scan.id, wanted, "int"), domain, has_rows)


def run(
    fact: tuple[QueryPlan, int, Scans], *filters: Arrived, exact: bool = False, settings: Settings | None = None
) -> Narrowed | None:
    plan, scan, scans = fact
    held = settings or Settings()
    return narrowed(scan, filters, scans, RowFilterCost(plan, scans, held), held, exact=exact)


def test_files_and_row_groups_that_cannot_match_are_left_out(fact: tuple[QueryPlan, int, Scans]) -> None:
    """k = 0 to 399 lie in order in four files of two row groups each."""
    made = run(fact, arrived(fact[0], Domain.of("int", [120])))
    assert made is not None
    assert made.edit is not None
    assert made.edit.keep == [1]
    assert list(made.edit.row_groups) == [1]
    assert (made.facts.verdict.files_total, len(made.facts.verdict.keep)) == (4, 1)
    assert made.facts.verdict.row_groups_read == 1


def test_filters_on_one_column_are_anded(fact: tuple[QueryPlan, int, Scans]) -> None:
    """Each leaves two files, and both together one."""
    low = arrived(fact[0], Domain.range("int", 0, 199), name="low")
    high = arrived(fact[0], Domain.range("int", 100, 299), name="high")
    made = run(fact, low, high)
    assert made is not None
    assert made.edit is not None
    assert made.edit.keep == [1]
    assert made.facts.filters == ("low", "high")
    domains = column_domains(fact[1], [low, high], fact[2])
    assert domains == {"k": Domain.range("int", 100, 199)}


def test_a_filter_that_removes_nothing_beside_another_is_idle(fact: tuple[QueryPlan, int, Scans]) -> None:
    """v is 1 in every row group, so its filter removes nothing, and the report says that the other one did."""
    settings = Settings(filter_rows=False)
    narrow, idle = arrived(fact[0], Domain.of("int", [5]), name="a"), Domain.of("int", [1])
    made = run(fact, narrow, arrived(fact[0], idle, column="v", name="b"), settings=settings)
    assert made is not None
    assert made.facts.filters == ("a",)
    assert made.facts.idle == {"b": "the other filters of the scan already skip everything that this one would"}


def test_nothing_to_gain_is_no_edit(fact: tuple[QueryPlan, int, Scans]) -> None:
    """All files match: the plan stays as it is, and the facts say why."""
    made = run(fact, arrived(fact[0], Domain.range("int", 0, 399)))
    assert made is not None
    assert made.edit is None
    assert set(made.facts.idle.values()) == {"the filter would skip nothing: 4 of 4 files may match"}


def test_no_filter_says_anything(fact: tuple[QueryPlan, int, Scans]) -> None:
    """Without a domain that narrows, not even the files are listed."""
    assert run(fact) is None
    assert run(fact, arrived(fact[0], Domain.all("int"))) is None


def test_a_build_side_tests_every_row(fact: tuple[QueryPlan, int, Scans]) -> None:
    """Only then its keys are those that can still matter."""
    values = [0, 399]
    exact = run(fact, arrived(fact[0], Domain.of("int", values)), exact=True)
    assert exact is not None
    assert exact.edit is not None
    assert [test.values for test in exact.edit.filters] == [values]


def test_rows_are_tested_before_a_shuffle(fact: tuple[QueryPlan, int, Scans]) -> None:
    """Where the build's rows are not kept, the join shuffles; otherwise the reader gets a range at most."""
    odd = Domain.of("int", range(1, 99, 2))
    shuffled = run(fact, arrived(fact[0], odd, has_rows=False))
    broadcast = run(fact, arrived(fact[0], odd))
    assert shuffled is not None
    assert broadcast is not None
    assert shuffled.edit is not None
    assert broadcast.edit is not None
    assert shuffled.edit.filters[0].values == list(range(1, 99, 2))
    assert broadcast.edit.filters[0].values is None
    assert broadcast.edit.filters[0].ranges is not None


def test_rows_are_not_tested_where_that_is_off(fact: tuple[QueryPlan, int, Scans]) -> None:
    """filterRows=false leaves files and row groups to be pruned, and nothing else."""
    made = run(fact, arrived(fact[0], Domain.of("int", [5]), has_rows=False), settings=Settings(filter_rows=False))
    assert made is not None
    assert made.edit is not None
    assert made.edit.filters == []
    assert made.edit.keep == [0]
