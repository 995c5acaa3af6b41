"""Compiled classes that are kept for the next program: whole, of one Spark, and out of others' reach."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from headgate.catalyst.class_cache import cache_folder, cache_key, keep_jar, kept_jar


def jar(text: str = "a class") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("headgate/A.class", text)
    return packed.getvalue()


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "classes"
    assert kept_jar(folder, "key") is None
    made = jar()
    keep_jar(folder, "key", made)
    assert kept_jar(folder, "key") == made
    assert kept_jar(folder, "other") is None
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.iterdir()] == ["key.jar"]


@pytest.mark.parametrize(
    "damage",
    [b"", b"no jar", jar()[:-10], jar().replace(b"a class", b"another")],
    ids=["empty", "no jar", "cut off", "changed"],
)
def test_a_damaged_jar_is_compiled_again(tmp_path: Path, damage: bytes) -> None:
    keep_jar(tmp_path, "key", jar())
    (tmp_path / "key.jar").write_bytes(damage)
    assert kept_jar(tmp_path, "key") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    keep_jar(tmp_path, "key", jar())
    tmp_path.chmod(mode)
    assert kept_jar(tmp_path, "key") is None
    keep_jar(tmp_path, "other", jar())
    assert not (tmp_path / "other.jar").exists()


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keep_jar(tmp_path / "file" / "classes", "key", jar())
    assert kept_jar(tmp_path / "file" / "classes", "key") is None


def test_the_oldest_go(tmp_path: Path) -> None:
    for number in range(10):
        keep_jar(tmp_path, str(number), jar())
        os.utime(tmp_path / f"{number}.jar", (number, number))
    keep_jar(tmp_path, "new", jar())
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["3", "4", "5", "6", "7", "8", "9", "new"]


def test_each_spark_java_and_source_has_a_key_of_its_own(tmp_path: Path) -> None:
    spark = tmp_path / "spark-core.jar"
    spark.write_text("one")
    os.utime(spark, (1, 1))
    keys = [
        cache_key("sources", "17", tmp_path),
        cache_key("others", "17", tmp_path),
        cache_key("sources", "21", tmp_path),
    ]
    os.utime(spark, (2, 2))
    keys.append(cache_key("sources", "17", tmp_path))
    spark.write_text("other")
    os.utime(spark, (1, 1))
    keys.append(cache_key("sources", "17", tmp_path))
    assert len(set(keys)) == 5
    with pytest.raises(FileNotFoundError, match="no jars of Spark"):
        cache_key("sources", "17", tmp_path / "elsewhere")


def test_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder() == Path("/cache/headgate/classes")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/headgate/classes")
