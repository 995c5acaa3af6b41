"""Footers are read in parallel, kept within a bound, and never trusted when they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.tables import DataFile, FooterCache, read_local_tails
from headgate.tables.footers import TAIL_BYTES, local_path, read_footers


def _file(path: Path, rows: int = 10, columns: int = 1) -> DataFile:
    pq.write_table(pa.table({f"c{i}": list(range(rows)) for i in range(columns)}), path, row_group_size=5)
    status = path.stat()
    return DataFile(f"file:{path}", status.st_size, status.st_mtime_ns // 1_000_000, 0)


def test_a_footer_is_read_once(tmp_path: Path) -> None:
    """A second look at the same files reads nothing."""
    files, cache, asked = [_file(tmp_path / f"{i}.parquet") for i in range(20)], FooterCache(), []

    def counting(wanted):
        asked.extend(wanted)
        return read_local_tails(wanted)

    first, second = cache.get(files, counting), cache.get(files, counting)

    assert len(asked) == 20
    assert (cache.misses, cache.hits) == (20, 20)
    assert [footer.metadata.num_rows for footer in first if footer] == [10] * 20
    assert second == first


def test_a_changed_file_is_another_file(tmp_path: Path) -> None:
    """Size and time are part of what a footer is kept under."""
    cache = FooterCache()
    before = _file(tmp_path / "a.parquet", rows=10)
    cache.get([before], read_local_tails)
    after = _file(tmp_path / "a.parquet", rows=1000)

    (footer,) = cache.get([after], read_local_tails)

    assert footer is not None
    assert footer.metadata.num_rows == 1000
    assert cache.get([DataFile(after.path, before.size, before.modified + 1, 0)], read_local_tails) == [None]


def test_the_cache_stays_within_its_bound(tmp_path: Path) -> None:
    """The least recently used footers go when the bound is passed."""
    files = [_file(tmp_path / f"{i}.parquet") for i in range(10)]
    one = FooterCache()
    one.get(files[:1], read_local_tails)
    cache = FooterCache(max_bytes=one.nbytes * 4)

    for file in files:
        cache.get([file], read_local_tails)

    assert len(cache) == 4
    assert cache.nbytes <= one.nbytes * 4
    cache.get(files[-4:], read_local_tails)
    assert cache.misses == 10


def test_a_footer_longer_than_the_first_guess_is_read_whole(tmp_path: Path) -> None:
    """A wide table's footer does not fit the first read and is fetched again."""
    wide = _file(tmp_path / "wide.parquet", rows=40, columns=400)
    metadata = pq.read_metadata(tmp_path / "wide.parquet")
    assert metadata.serialized_size > TAIL_BYTES

    (footer,) = read_footers([wide], read_local_tails)

    assert footer is not None
    assert footer.metadata.num_columns == 400


def test_what_is_not_parquet_has_no_footer(tmp_path: Path) -> None:
    """Damaged, foreign, empty and missing files give None, never an error."""
    good = _file(tmp_path / "good.parquet")
    raw = (tmp_path / "good.parquet").read_bytes()
    made = {
        "cut": raw[:-3],
        "zeros": bytes(200),
        "text": b"hello",
        "length": raw[:-8] + b"\xff\xff\xff\x7fPAR1",
        "empty": b"",
    }
    files = []
    for name, body in made.items():
        (tmp_path / name).write_bytes(body)
        files.append(DataFile(f"file:{tmp_path / name}", len(body), 1, 0))
    files.append(DataFile(f"file:{tmp_path / 'missing'}", 100, 1, 0))

    footers = read_footers([good, *files], read_local_tails)

    assert footers[0] is not None
    assert footers[1:] == [None] * len(files)


def test_paths_of_other_stores_are_not_local() -> None:
    """Only file paths are opened here; names with spaces and percent signs stay as they are."""
    assert local_path("file:/a b/c%20d.parquet") == "/a b/c%20d.parquet"
    assert local_path("file:///a/b") == "/a/b"
    assert local_path("/a/b") == "/a/b"
    assert local_path("s3a://bucket/key") is None
    assert local_path("hdfs://host/a") is None
