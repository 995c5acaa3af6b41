"""Bloom filters never lose a member, and Spark reads them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain import BloomBits, Domain, Kind, value_type
from headgate.domain.arrays import places_of
from headgate.domain.bloom import MAX_HASH_FUNCTIONS
from headgate.domain.hashing import xxhash64
from headgate.domain.types import INT64_MAX, INT64_MIN
from headgate.errors import InvalidFilter
from tests.domain.strategies import TYPES, pool
from tests.domain.test_hashing import spark_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

hashes = st.lists(st.integers(INT64_MIN, INT64_MAX), max_size=40).map(lambda listed: np.array(listed, dtype=np.int64))
BIGINT = value_type("bigint")


def bloom_of(listed: list[Any], *, name: str = "bigint", items: int = 100) -> BloomBits:
    column_type = value_type(name)
    return BloomBits.sized_for(items, items * 8).add(xxhash64(column_type, places_of(column_type, listed)))


@given(hashes, hashes, st.integers(1, 8), st.integers(1, 9))
def test_a_member_is_never_lost(a: np.ndarray, b: np.ndarray, words: int, functions: int) -> None:
    """What was put in may be in: after adding, after union, and after intersecting with what also holds it."""
    empty = BloomBits(functions, np.zeros(words, dtype=np.uint64))
    left, right = empty.add(a), empty.add(b)
    assert left.might_contain(a).all()
    assert left.union(right).might_contain(np.concatenate((a, b))).all()
    assert left.intersect(empty.add(np.concatenate((a, b)))).might_contain(a).all()
    assert left.union(right).same_as(empty.add(np.concatenate((a, b))))
    assert empty.fill == 0
    assert not empty.might_contain(a).any()


@given(hashes, hashes, st.integers(1, 4), st.integers(1, 6), st.integers(1, 9))
def test_a_larger_filter_folds_onto_a_smaller(
    a: np.ndarray, b: np.ndarray, words: int, times: int, functions: int
) -> None:
    """A filter of a multiple of the size is folded onto the smaller one without losing a member of either."""
    small = BloomBits(functions, np.zeros(words, dtype=np.uint64)).add(a)
    large = BloomBits(functions, np.zeros(words * times, dtype=np.uint64)).add(b)
    assert small.folds_with(large)
    assert large.folds_with(small)
    both = small.union(large)
    assert both.might_contain(np.concatenate((a, b))).all()
    assert both.same_as(small.add(b))
    assert both.same_as(large.union(small))


def test_filters_of_other_shapes_do_not_fold() -> None:
    """Sizes without a common multiple, or other numbers of hash functions, cannot be combined bit by bit."""
    shape = lambda functions, words: BloomBits(functions, np.zeros(words, dtype=np.uint64))  # noqa: E731
    assert not shape(3, 2).folds_with(shape(3, 3))
    assert not shape(3, 2).folds_with(shape(4, 2))
    assert not shape(3, 2).same_shape(shape(3, 4))


def test_a_few_members_are_added_to_a_large_filter_as_many_are() -> None:
    """However many hashes are added at once, the same bits are set."""
    members = xxhash64(BIGINT, np.arange(2_000))
    empty = BloomBits(5, np.zeros(1_000, dtype=np.uint64))
    few_by_few = empty
    for start in range(0, 2_000, 10):
        few_by_few = few_by_few.add(members[start : start + 10])
    assert few_by_few.same_as(empty.add(members))
    assert empty.fill == 0


def test_most_strangers_are_turned_away() -> None:
    """At eight bits for each member, fewer than one stranger in twenty passes."""
    bits = bloom_of(list(range(10_000)), items=10_000)
    strangers = xxhash64(BIGINT, np.arange(1_000_000, 1_100_000))
    assert 0 < bits.might_contain(strangers).mean() < 0.05
    assert 0.3 < bits.fill < 0.55


@given(hashes, st.integers(1, 8), st.integers(1, MAX_HASH_FUNCTIONS))
def test_bytes_lead_back_to_the_filter(a: np.ndarray, words: int, functions: int) -> None:
    """Reading what was written gives the same filter, bit for bit."""
    bits = BloomBits(functions, np.zeros(words, dtype=np.uint64)).add(a)
    assert BloomBits.from_spark(bits.to_spark()).same_as(bits)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 11,
        bytes.fromhex("00000001 00000003 00000000"),
        bytes.fromhex("00000001 00000003 00000001"),
        bytes.fromhex("00000001 00000003 ffffffff"),
        bytes.fromhex("00000002 00000003 00000001") + b"\0" * 8,
        bytes.fromhex("00000001 00000000 00000001") + b"\0" * 8,
        bytes.fromhex("00000001 00000041 00000001") + b"\0" * 8,
        bytes.fromhex("00000001 00000003 00000001") + b"\0" * 9,
    ],
)
def test_bytes_that_are_no_filter_are_refused(data: bytes) -> None:
    """Short, long, empty, of another version, or with an absurd number of hash functions: an InvalidFilter."""
    with pytest.raises(InvalidFilter):
        BloomBits.from_spark(data)


def test_a_filter_needs_words() -> None:
    """A bloom without bits, or with words of another type, cannot exist."""
    with pytest.raises(InvalidFilter, match="at least one"):
        BloomBits(1, np.empty(0, dtype=np.uint64))
    with pytest.raises(InvalidFilter, match="64-bit"):
        BloomBits(1, np.zeros(1, dtype=np.int64))


def test_sets_join_a_bloom_without_opening_it() -> None:
    """A union of a bloom with a set or a bitmap stays a bloom that holds the members of both."""
    bloom = Domain.bloom("bigint", bloom_of(list(range(100))), Domain.range("bigint", 0, 99))
    for members in (Domain.of("bigint", [1000, 2000]), Domain.bitmap("bigint", [1000, 2000])):
        for union in (bloom | members, members | bloom):
            assert union.kind is Kind.BLOOM
            assert all(x in union for x in (*range(100), 1000, 2000))
            assert 5000 not in union
            assert 500 not in union
            assert sum(x in union for x in range(1000, 2001)) < 200
    assert (bloom | Domain.range("bigint", 200, 300)).kind is Kind.RANGES


def test_intersecting_blooms_of_two_shapes_keeps_the_sharper() -> None:
    """Two shapes cannot be combined bit by bit; the one that says no more often stays."""
    sharp, blunt = bloom_of([1, 2, 3], items=1000), bloom_of(list(range(70)), items=10)
    both = Domain.bloom("bigint", blunt) & Domain.bloom("bigint", sharp)
    assert both == Domain.bloom("bigint", sharp)


def test_simplifying_a_bloom_keeps_its_bits() -> None:
    """A bloom within many ranges is simplified to one within fewer, not opened to those ranges."""
    within = Domain.of("bigint", range(0, 1000, 100))
    bloom = Domain.bloom("bigint", bloom_of(list(range(0, 1000, 100))), within)
    assert bloom.simplify(2).kind is Kind.BLOOM
    assert 150 not in bloom.simplify(1)


@pytest.mark.parametrize("name", TYPES)
def test_spark_reads_the_bytes_and_finds_every_member(name: str, spark: SparkSession) -> None:
    """Spark's own sketch library reads the filter and finds each value by Spark's own hash of it."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's documentation gives it

    listed = pool(name)
    bits = bloom_of(listed, name=name)
    frame, column = spark_column(spark, name, listed)
    theirs = spark._jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(bytearray(bits.to_spark()))
    assert theirs.bitSize() == len(bits.words) * 64
    assert all(theirs.mightContainLong(row.hash) for row in frame.select(F.xxhash64(column).alias("hash")).collect())


def test_spark_and_headgate_set_the_same_bits(spark: SparkSession) -> None:
    """Version 1 of Spark's filter, filled by Spark with the same hashes, is the same filter byte for byte."""
    sketch = spark._jvm.org.apache.spark.util.sketch
    members = xxhash64(BIGINT, np.arange(-50, 50))
    # Spark 4.0 knows no other version, and does not ask
    of_version = () if spark.version.startswith("4.0") else (sketch.BloomFilter.Version.V1,)
    theirs = sketch.BloomFilter.create(*of_version, 100, 1024, *((0,) if of_version else ()))
    for member in members.tolist():
        theirs.putLong(member)
    out = spark._jvm.java.io.ByteArrayOutputStream()
    theirs.writeTo(out)
    raw = bytes(out.toByteArray())
    ours = BloomBits.from_spark(raw)
    assert BloomBits(ours.hash_functions, np.zeros(16, dtype=np.uint64)).add(members).to_spark() == raw


def test_a_query_filters_by_a_bloom_built_here(spark: SparkSession) -> None:
    """BloomFilterMightContain over a real scan keeps every member, and drops what the bloom here would drop."""
    from pyspark.sql.classic.dataframe import DataFrame

    bits = bloom_of(list(range(0, 1000, 10)))
    jvm = spark._jvm
    catalyst = jvm.org.apache.spark.sql.catalyst
    plan = spark.range(1000)._jdf.queryExecution().analyzed()
    children = jvm.java.util.ArrayList()
    children.add(plan.output().apply(0))
    hashed = catalyst.expressions.XxHash64(jvm.org.apache.spark.api.python.PythonUtils.toSeq(children), 42)
    binary = jvm.org.apache.spark.sql.types.DataTypes.BinaryType
    literal = catalyst.expressions.Literal.create(bytearray(bits.to_spark()), binary)
    filtered = catalyst.plans.logical.Filter(catalyst.expressions.BloomFilterMightContain(literal, hashed), plan)
    frame = DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, filtered), spark)
    kept = sorted(row.id for row in frame.collect())
    domain = Domain.bloom("bigint", bits)
    assert kept == [x for x in range(1000) if x in domain]
    assert set(range(0, 1000, 10)) <= set(kept)
    assert len(kept) < 200
