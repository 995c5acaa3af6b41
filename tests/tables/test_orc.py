"""What ORC files say is asked for once, kept within a bound, and never trusted when it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headgate.tables import DataFile, LayoutCache, ListedFiles, Listing, OrcFooter, OrcFooterCache, orc_layout
from headgate.tables.formats import LOCAL_READS

COLUMNS = [("k", "int")]


class Reader:
    """Says of column k of file i that it lies from 10 * i to 10 * i + 9, in two stripes; of file "bad" nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def __call__(
        self, files: Sequence[DataFile], columns: Sequence[tuple[str, str]], *, case_sensitive: bool
    ) -> list[OrcFooter | None]:
        names = tuple(name if case_sensitive else name.lower() for name, _ in columns)
        self.asked += [(file.path, names) for file in files]
        return [self._footer(file, names) for file in files]

    def _footer(self, file: DataFile, names: Sequence[str]) -> OrcFooter | None:
        if file.path.endswith("bad"):
            return None
        low = 10 * int(file.path.removeprefix("s3://"))
        return OrcFooter([3, 50], [50, 90], [5, 5], [([low, low + 5], [low + 4, low + 9], [0, 0]) for _ in names])


def _files(*names: str) -> list[DataFile]:
    return [DataFile(name, 100, 7, 0, "stamp") for name in names]


def _listing(files: Sequence[DataFile]) -> Listing:
    return Listing(repr(files).encode(), lambda _: ListedFiles(files, [], [[]]))


def test_a_column_is_asked_for_once() -> None:
    """A second column asks again, for itself; the partition of a file does not matter, its stamp does."""
    read, cache, files = Reader(), OrcFooterCache(), _files("1", "2")
    for _ in range(2):
        assert [footer.rows for footer in cache.get(files, COLUMNS, read, case_sensitive=False)] == [[5, 5], [5, 5]]
    assert read.asked == [("1", ("k",)), ("2", ("k",))]
    cache.get(files[:1], [("v", "int")], read, case_sensitive=False)
    cache.get(files[:1], [*COLUMNS, ("v", "int")], read, case_sensitive=False)
    cache.get(files[:1], [], read, case_sensitive=False)
    cache.get([DataFile("1", 100, 7, 5, "stamp")], COLUMNS, read, case_sensitive=False)
    assert read.asked[2:] == [("1", ("v",))]
    cache.get([DataFile("1", 100, 7, 0, "other")], COLUMNS, read, case_sensitive=False)
    cache.get(files[:1], COLUMNS, read, case_sensitive=True)
    cache.get(files[:1], [("k", "bigint")], read, case_sensitive=False)
    assert read.asked[3:] == [("1", ("k",))] * 3


def test_a_file_that_cannot_be_read_is_asked_for_once_too() -> None:
    read, cache = Reader(), OrcFooterCache()
    for columns in (COLUMNS, [("v", "int")]):
        assert cache.get(_files("bad"), columns, read, case_sensitive=False) == [None]
    assert len(read.asked) == 1


def test_the_cache_stays_within_its_bound() -> None:
    """The least recently used files go; what was asked for comes all the same."""
    read, cache = Reader(), OrcFooterCache(max_values=50)
    found = cache.get(_files(*"123456"), COLUMNS, read, case_sensitive=False)
    assert [footer.columns[0][0][0] for footer in found if footer] == [10, 20, 30, 40, 50, 60]
    assert len(cache) == 3
    cache.get(_files(*"456"), COLUMNS, read, case_sensitive=False)
    assert len(read.asked) == 6


def test_stripes_are_containers() -> None:
    """A file that cannot be read is one container of which nothing is known."""
    layout = orc_layout(_listing(_files("s3://1", "s3://bad", "s3://3")), OrcFooterCache(), Reader())
    found = layout.statistics([0, 1, 2], COLUMNS)
    assert (found.files, found.rows) == ([0, 0, 1, 2, 2], [5, 5, None, 5, 5])
    assert (found.starts, found.ends) == ([3, 50, 0, 3, 50], [50, 90, 100, 50, 90])
    assert found.columns["k"] == ([10, 15, None, 30, 35], [14, 19, None, 34, 39], [0, 0, None, 0, 0])


def test_a_local_file_that_changed_is_not_known(tmp_path: Path) -> None:
    """Nor is any file, where there is nothing that reads footers."""
    path = tmp_path / "1"
    path.write_bytes(b"x" * 100)
    files = [DataFile(str(path), 100, 7, 0)]

    def read(
        files: Sequence[DataFile], columns: Sequence[tuple[str, str]], *, case_sensitive: bool
    ) -> list[OrcFooter | None]:
        return [OrcFooter([0], [100], [5], [([1], [2], [0])])]

    assert orc_layout(_listing(files), OrcFooterCache(), read).statistics([0], COLUMNS).rows == [None]
    current = [DataFile(str(path), 100, path.stat().st_mtime_ns // 1_000_000, 0)]
    assert orc_layout(_listing(current), OrcFooterCache(), read).statistics([0], COLUMNS).rows == [5]
    known = LayoutCache().get(_listing(current), LOCAL_READS, format="ORC", case_sensitive=False)
    assert known.statistics([0], COLUMNS).rows == [None]
