"""A benchmark that was stopped goes on with what it had; another run starts anew."""

from __future__ import annotations

from pathlib import Path

from headgate.suites.runner import QueryResult
from headgate.suites.unfinished import Unfinished


def stopped_run(folder: Path) -> None:
    run = Unfinished(folder, "bench a", resume=False)
    run.add(QueryResult("q01", off=2.0, on=1.0, anchors={"duckdb": 0.5}))
    run.add(QueryResult("q02", failed="no such table"))


def test_the_same_run_goes_on(tmp_path: Path) -> None:
    stopped_run(tmp_path / "results")
    again = Unfinished(tmp_path / "results", "bench a", resume=True)
    assert [(r.name, r.times_faster, r.failed) for r in again.results] == [
        ("q01", 2.0, ""),
        ("q02", 1.0, "no such table"),
    ]
    again.add(QueryResult("q03"))
    third = Unfinished(tmp_path / "results", "bench a", resume=True)
    assert [r.name for r in third.finish()] == ["q01", "q02", "q03"]
    assert Unfinished(tmp_path / "results", "bench a", resume=True).results == []


def test_another_run_starts_anew(tmp_path: Path) -> None:
    stopped_run(tmp_path)
    assert Unfinished(tmp_path, "bench b", resume=True).results == []
    stopped_run(tmp_path)
    assert Unfinished(tmp_path, "bench a", resume=False).results == []
