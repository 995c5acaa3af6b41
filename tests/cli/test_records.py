"""Event logs as one HTML file, and as a page that follows a log while it grows."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from headgate.cli.records import FollowedLog
from headgate.history import EventLog, QueryRecord
from tests.cli.commands import Command, refusal


def write(path: Path, *numbers: int) -> None:
    log = EventLog(path)
    for number in numbers:
        record = QueryRecord(id=f"app/{number}", state="FINISHED", started=1.0, text=f"select {number}")
        log.append(msgspec.json.encode(record))
    log.close()


def test_a_report_is_one_file(called: Command, tmp_path: Path) -> None:
    """Without anything that is fetched from elsewhere."""
    write(tmp_path / "log.jsonl", 1, 2)
    out = tmp_path / "report.html"
    assert called("report", str(tmp_path / "log.jsonl"), "--out", str(out)).out == f"wrote {out} with 2 records\n"
    page = out.read_text(encoding="utf-8")
    assert "select 2" in page
    for fetched in ("src=", "@import", 'rel="stylesheet"', "http://", "https://"):
        assert fetched not in page.replace("http://www.w3.org/2000/svg", "")


def test_what_was_cut_off_is_counted(called: Command, tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", 1)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"record":"query","id"')
    told = called("report", str(tmp_path / "log.jsonl"), "--out", str(tmp_path / "r.html")).out
    assert "1 lines could not be read" in told


def test_bad_logs_are_one_sentence(called: Command, tmp_path: Path) -> None:
    assert "there is no event log" in refusal(called("report", str(tmp_path / "nowhere.jsonl")))
    (tmp_path / "text.jsonl").write_text("hello\n")
    assert "is not an event log of Headgate" in refusal(called("ui", str(tmp_path / "text.jsonl"), "--no-browser"))


def test_a_port_that_is_taken_is_one_sentence(called: Command, tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refusal(called("ui", str(tmp_path / "log.jsonl"), "--no-browser", "--port", str(port)))
    assert f"port {port} cannot be used: Address already in use; give another one, or 0 for any, with --port" in told


def test_a_log_is_followed(tmp_path: Path) -> None:
    """What is written later comes later; what was told is not told again."""
    write(tmp_path / "log.jsonl", 1)
    log = FollowedLog(tmp_path / "log.jsonl")
    version, first = log.since(0)
    write(tmp_path / "log.jsonl", 2)
    later, second = log.since(version)
    assert (len(first), [msgspec.json.decode(line)["id"] for line in second]) == (1, ["app/2"])
    assert log.since(later)[1] == []


def test_a_report_does_not_replace_its_log(called: Command, tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", 1)
    before = (tmp_path / "log.jsonl").read_bytes()
    assert "is the log itself" in refusal(
        called("report", str(tmp_path / "log.jsonl"), "--out", str(tmp_path / "." / "log.jsonl"))
    )
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_a_log_that_is_gone_is_still_told(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", 1)
    followed = FollowedLog(tmp_path / "log.jsonl")
    (tmp_path / "log.jsonl").unlink()
    assert len(followed.since(0)[1]) == 1


def test_browsers_may_ask_at_once(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", 0)
    followed = FollowedLog(tmp_path / "log.jsonl")

    def ask(_: int) -> int:
        return len(followed.since(0)[1])

    with ThreadPoolExecutor(4) as pool:
        for number in range(1, 40):
            write(tmp_path / "log.jsonl", number)
            assert max(pool.map(ask, range(8))) == number + 1
