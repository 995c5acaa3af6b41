"""What goes between Python and the JVM: replies of any size, ends of files, classes that are compiled once."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headgate
from headgate.catalyst import CatalystQuery, SparkBridge, compiler
from headgate.catalyst.compiler import _compiled_jar, compiled, java_sources, keeps_classes
from headgate.catalyst.query import handed_over
from headgate.collect import BuildKey, BuildRequest, RunningWave
from headgate.domain import Kind, Limits
from headgate.tables import read_local_tails


@pytest.mark.parametrize(
    ("body", "how"),
    [(b"", "packed"), (b"x" * 5000, "packed"), (b"x" * 200_000, "packed")],
    # pytest puts the name of a test into the environment, where Spark does not start with one as long as the value
    ids=["empty", "small", "large"],
)
def test_small_replies_are_packed_into_the_reply(
    bridge: SparkBridge, spark: SparkSession, body: bytes, how: str
) -> None:
    """What compresses into one socket buffer comes in the reply itself."""
    reply = str(compiled(spark.sparkContext).call("interop.Handover", "of", bytearray(body)))

    assert reply.startswith(f"{how}:")
    assert len(reply) < 6100
    assert handed_over(reply) == body


@pytest.mark.parametrize(
    "body", [os.urandom(6000), b"x" * 400_000, os.urandom(1_000_000)], ids=["noise", "long", "both"]
)
def test_large_replies_go_through_a_file_that_is_removed(bridge: SparkBridge, spark: SparkSession, body: bytes) -> None:
    """What does not fit is read from a file, which is gone afterwards."""
    reply = str(compiled(spark.sparkContext).call("interop.Handover", "of", bytearray(body)))
    path = Path(reply.removeprefix("file:"))

    assert path.stat().st_size == len(body)
    assert handed_over(reply) == body
    assert not path.exists()


def test_the_file_is_removed_when_it_cannot_be_read(tmp_path: Path) -> None:
    """A reply whose file is gone is an error, and nothing is left behind."""
    with pytest.raises(FileNotFoundError):
        handed_over(f"file:{tmp_path / 'gone.bin'}")


def test_a_listing_of_thousands_of_files(bridge: SparkBridge, spark: SparkSession, pair: Path, tmp_path: Path) -> None:
    """The files of a large table come back whole and in order of their numbers, and the file between is removed."""
    source = next((pair / "cat_dim").glob("*.parquet"))
    for number in range(3000):
        (tmp_path / f"part-{number:05d}.parquet").hardlink_to(source)
    query = bridge.query_of(spark.read.parquet(str(tmp_path)))
    root, _ = query.read()
    scan = next(node.id for node in root.walk() if not node.children)
    reply = query._context.listFiles(scan)

    assert reply.startswith("file:")
    listed = json.loads(handed_over(reply))["files"]
    assert not Path(reply.removeprefix("file:")).exists()
    assert {Path(path).name for _, path, _, _, _ in listed} == {file.name for file in tmp_path.iterdir()}
    assert {size for _, _, size, _, _ in listed} == {source.stat().st_size}
    assert [file.path for file in query.list_files(scan).files().files] == [path for _, path, _, _, _ in listed]


def test_a_large_set_of_keys(bridge: SparkBridge, spark: SparkSession) -> None:
    """A hundred thousand scattered keys come back from a build, every one."""
    query = bridge.query_of(spark.range(0, 100_000, 1, 2).selectExpr("id * id + 5000000000 as id"))
    query.read()
    request = BuildRequest(0, (BuildKey(0, 0, "bigint"),), 0)
    RunningWave(query, [request], Limits(max_distinct=100_000)).wait()

    assert request.found(0).kind is Kind.SET
    assert request.found(0).listed() == [i * i + 5_000_000_000 for i in range(100_000)]


def test_a_large_plan(bridge: SparkBridge, spark: SparkSession) -> None:
    """A plan of hundreds of columns is read whole."""
    columns = [f"id + {i} as a_rather_long_name_for_column_{i}" for i in range(800)]
    root, _ = bridge.query_of(spark.range(5).selectExpr(*columns)).read()

    assert [column.name for column in root.output] == [f"a_rather_long_name_for_column_{i}" for i in range(800)]


@pytest.fixture
def query(bridge: SparkBridge, spark: SparkSession, pair: Path) -> CatalystQuery:
    return bridge.query_of(spark.table("cat_fact"))


def test_tails_through_hadoop_are_those_of_local_files(query: CatalystQuery, pair: Path, tmp_path: Path) -> None:
    """Spark's file systems give the same bytes as reading the files here, for odd names and small files too."""
    odd = tmp_path / "a folder" / "k=ä%20+é"
    odd.mkdir(parents=True)
    (odd / "one byte").write_bytes(b"x")
    (odd / "noise").write_bytes(os.urandom(100_000))
    files = [*sorted((pair / "cat_fact").glob("*.parquet")), *sorted(odd.iterdir())]
    wanted = [
        (f"file:{file}", file.stat().st_size, min(file.stat().st_size, n)) for file in files for n in (1, 8, 70_000)
    ]

    found = query.reads(0).tails(wanted)
    assert None not in found
    assert found == read_local_tails(wanted)


def test_tails_that_cannot_be_read_are_none(query: CatalystQuery, tmp_path: Path) -> None:
    """A file that is gone or shorter than listed gives None in both readers, and the others are read all the same."""
    good = tmp_path / "good"
    good.write_bytes(b"0123456789")
    wanted = [(f"file:{tmp_path}/gone", 10, 5), (f"file:{good}", 20, 5), (f"file:{good}", 10, 5)]

    assert query.reads(0).tails(wanted) == read_local_tails(wanted) == [None, None, b"56789"]


def test_no_tails(query: CatalystQuery) -> None:
    """Nothing asked, nothing read."""
    assert query.reads(0).tails([]) == []


def test_classes_are_compiled_once_for_a_context(spark: SparkSession, pair: Path) -> None:
    """Threads and sessions of one context share the classes; one jar is sent to the executors."""
    context = spark.sparkContext
    first = compiled(context)
    with ThreadPoolExecutor(4) as pool:
        assert {id(found) for found in pool.map(lambda _: compiled(context), range(8))} == {id(first)}
    other = spark.newSession()
    headgate.enable(other)
    headgate.disable(other)
    jars = [str(jar) for jar in str(context._jsc.sc().listJars()).split(",") if "headgate" in jar]

    assert compiled(context) is first
    assert len(jars) == 1
    assert len([entry for entry in Path(context._temp_dir).iterdir() if entry.name.startswith("headgate-")]) == 1


def test_the_jvm_accepts_every_compiled_class(spark: SparkSession) -> None:
    """Each class passes the JVM's verifier, inner ones too: what is compiled is not loaded before it is used."""
    loader, jvm = compiled(spark.sparkContext)._loader, spark.sparkContext._jvm
    names = [name.removesuffix(".class") for name in _loaded_classes(spark)]

    assert {f"headgate/{name}" for name in java_sources()} <= set(names)
    for name in names:
        jvm.java.lang.Class.forName(name.replace("/", "."), True, loader)


def _loaded_classes(spark: SparkSession) -> dict[str, bytes]:
    (jar,) = Path(spark.sparkContext._temp_dir).glob("headgate-*/*.jar")
    with zipfile.ZipFile(jar) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".class")}


def test_classes_that_were_kept_are_those_that_the_sources_give(spark: SparkSession, tmp_path: Path) -> None:
    """The first program of a Spark version compiles; others take what it has kept."""
    loader = compiled(spark.sparkContext)._loader.getParent()  # one that does not know the classes yet
    jar = _compiled_jar(spark.sparkContext, java_sources(), tmp_path, loader)
    with zipfile.ZipFile(io.BytesIO(jar)) as archive:
        fresh = {name for name in archive.namelist() if name.endswith(".class")}

    # their bytes may differ: the compiler puts methods that it adds in no certain order
    assert fresh == set(_loaded_classes(spark))


def test_classes_are_kept_unless_a_setting_forbids_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    made: list[int] = []

    def compiled_now(*_: object) -> bytes:
        made.append(1)
        return packed.getvalue()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_compiled_jar", compiled_now)
    for keep in (False, True, True):
        assert compiler._jar(spark.sparkContext, {}, tmp_path, None, keep=keep) == packed.getvalue()
        assert (tmp_path / "cache").exists() == keep
    assert len(made) == 2
    assert keeps_classes(spark, {})
    assert not keeps_classes(spark, {"class_cache": "false"})


def test_the_sources_come_with_the_package() -> None:
    """Each Java file declares the class that it is named for."""
    sources = java_sources()

    assert {"plan/GateRule", "plan/PlanReader", "build/BuildTask", "interop/Json"} <= set(sources)
    for path, text in sources.items():
        assert re.search(rf"^(public )?(abstract )?(class|interface) {path.split('/')[1]}\b", text, re.MULTILINE)
