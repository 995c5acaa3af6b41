"""Records go into a log of JSON lines and come out again, whatever happened to the file in between."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headgate.errors import BadInput
from headgate.history import EventLog, QueryRecord, StreamRecord, read_log


def record(id: str, state: str = "FINISHED") -> QueryRecord:
    return QueryRecord(id=id, state=state, started=1.5, text=f"select {id}")


def write(path: Path, *records: QueryRecord | StreamRecord) -> None:
    log = EventLog(path)
    for one in records:
        log.append(msgspec.json.encode(one))
    log.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written: list[QueryRecord | StreamRecord] = [record("a"), StreamRecord(id="s", story={"query": "s", "batches": []})]
    write(tmp_path / "log.jsonl", *written)
    assert read_log(tmp_path / "log.jsonl") == (written, 0)


def test_a_later_record_replaces_an_earlier_one(tmp_path: Path) -> None:
    """A query is written when it begins and when it ends; its place is that of its beginning."""
    write(tmp_path / "log.jsonl", record("a", "RUNNING"), record("b"), record("a"))
    assert read_log(tmp_path / "log.jsonl")[0] == [record("a"), record("b")]


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "log.jsonl", record(name))
    assert [found.id for found in read_log(tmp_path / "log.jsonl")[0]] == ["a", "b"]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    """A process that is killed while it writes leaves half a line."""
    write(tmp_path / "log.jsonl", record("a"), record("b"))
    held = (tmp_path / "log.jsonl").read_bytes()
    (tmp_path / "log.jsonl").write_bytes(held[:-20])
    records, unread = read_log(tmp_path / "log.jsonl")
    assert ([found.id for found in records], unread) == (["a"], 1)


def test_a_folder_has_a_log_for_each_application(tmp_path: Path) -> None:
    for application in ("app-1", "app-2"):
        log = EventLog.at(str(tmp_path / "logs"), application)
        log.append(msgspec.json.encode(record(application)))
        log.close()
    assert {found.id for found in read_log(tmp_path / "logs")[0]} == {"app-1", "app-2"}


def test_a_setting_may_name_the_file(tmp_path: Path) -> None:
    log = EventLog.at(f"file://{tmp_path}/own.jsonl", "app-1")
    log.close()
    assert log.path == tmp_path / "own.jsonl"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda home: home / "nowhere.jsonl", "there is no event log"),
        (lambda home: home, "has no event logs"),
        (lambda home: _text(home / "other.jsonl", "{}\nnot json\n"), "is not an event log of Headgate"),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(tmp_path: Path, make, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        read_log(make(tmp_path))


def test_a_place_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    blocked = _text(tmp_path / "file", "")
    with pytest.raises(BadInput, match=r"cannot be written.*spark\.headgate\.eventLog"):
        EventLog(blocked / "log.jsonl")


def _text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_log_goes_on_after_half_a_line(tmp_path: Path) -> None:
    """The next program begins a line of its own."""
    write(tmp_path / "log.jsonl", record("a"))
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"record":"query","id":"b')
    write(tmp_path / "log.jsonl", record("c"))
    records, unread = read_log(tmp_path / "log.jsonl")
    assert ([found.id for found in records], unread) == (["a", "c"], 1)


def test_lines_that_are_no_text_or_too_deep_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", record("a"))
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"record":"query","id":"\xff\xfe","state":"x","started":1,"text":"\xc3("}\n')
        file.write(b'{"record":"stream","id":"s","story":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n")
    records, unread = read_log(tmp_path / "log.jsonl")
    assert ([found.id for found in records], unread) == (["a"], 2)


@pytest.mark.parametrize("spelled", ["file:{}", "file://{}", "file://localhost{}", "{}"])
def test_a_file_may_be_spelled_as_spark_does(tmp_path: Path, spelled: str) -> None:
    log = EventLog.at(spelled.format(tmp_path / "log.jsonl"), "app")
    log.close()
    assert log.path == tmp_path / "log.jsonl"
