"""What build tasks report is read back as domains: each packed form, merged over tasks, within the limits."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from pyroaring import BitMap

from headgate.catalyst.packed import PackedBuild, unpack_builds
from headgate.catalyst.wire import BuildOrders, PlanEdits, encoded
from headgate.collect import BuildKey, BuildRequest, BuildResult, RunningWave
from headgate.domain import Domain, Kind, Limits

SET, BITMAP, RANGE, TEXTS, TEXT_RANGE, ANYTHING = range(6)


class Answers:
    """Stands for a query whose builds answer with bytes that are known beforehand."""

    def __init__(self, packed: bytes) -> None:
        self.packed, self.asked = packed, ""

    def start_builds(self, orders: BuildOrders) -> Answers:
        self.asked = encoded(orders)
        return self

    def wait(self, seconds: float | None) -> list[PackedBuild]:
        return unpack_builds(self.packed)


def partial(form: int, body: bytes = b"", *, null: bool = False) -> bytes:
    """One task's report of one key, as KeyCollector.java writes it."""
    return bytes([form, null]) + body


def longs(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def doubles(*values: float) -> bytes:
    return struct.pack(f">{len(values)}d", *values)


def texts(*values: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(value)) + value for value in values)


def wide(*values: int) -> bytes:
    return texts(*(value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True) for value in values))


def build(*parts: list[bytes], keys: int = 1, error: str = "", rows: int = 0, has_rows: bool = False) -> bytes:
    """One build's answer, as Builds.java writes it."""
    told = error.encode()
    out = struct.pack(">iq?qqi", 3, rows, has_rows, 40, 7, len(told)) + told
    out += struct.pack(">ii", keys, len(parts))
    return out + b"".join(struct.pack(">i", len(key)) + key for part in parts for key in part)


def collected(types: tuple[str, ...], *parts: list[bytes], limits: Limits | None = None) -> list[Domain]:
    """Return the domain of each key of one build."""
    request = BuildRequest(5, tuple(BuildKey(i, i, kind) for i, kind in enumerate(types)), 0)
    answers = Answers(struct.pack(">i", 1) + build(*parts, keys=len(types)))
    RunningWave(answers, [request], limits or Limits()).wait()  # type: ignore[arg-type]
    return [request.found(number) for number in range(len(types))]


def one(kind: str, *parts: bytes, limits: Limits | None = None) -> Domain:
    """Return the domain of the only key of one build."""
    (found,) = collected((kind,), *([part] for part in parts), limits=limits)
    return found


@pytest.mark.parametrize(
    ("kind", "packed", "values"),
    [
        ("int", longs(3, -7, 3), [-7, 3]),
        ("bigint", longs(2**63 - 1, -(2**63)), [-(2**63), 2**63 - 1]),
        ("tinyint", longs(-128, 127), [-128, 127]),
        ("boolean", longs(1, 1), [True]),
        ("decimal(7,2)", longs(125, -50), [Decimal("-0.50"), Decimal("1.25")]),
        ("double", doubles(0.5, -2.25), [-2.25, 0.5]),
        ("float", doubles(0.5, 1.0), [0.5, 1.0]),
    ],
)
def test_form_0_is_a_set_of_numbers(kind: str, packed: bytes, values: list[Any]) -> None:
    """Whole numbers come as they are, decimals unscaled, floats as the bits of a double; order does not matter."""
    found = one(kind, partial(SET, packed))

    assert found == Domain.of(kind, values)
    assert found.listed() == values
    assert None not in found


def test_form_0_with_nan_and_infinity() -> None:
    """NaN and the infinities are values like others, and -0.0 is 0.0."""
    found = one("double", partial(SET, doubles(float("nan"), float("inf"), float("-inf"), -0.0)))

    assert all(value in found for value in (float("nan"), float("inf"), float("-inf"), 0.0, -0.0))
    assert 1.0 not in found


def test_form_0_without_values_matches_nothing() -> None:
    """A task that has seen no row reports an empty set; one that has seen NULL only reports that."""
    assert one("int", partial(SET)).kind is Kind.NONE
    assert one("int", partial(SET, null=True)).kind is Kind.ONLY_NULL


def test_form_1_is_a_roaring_bitmap() -> None:
    """Ids from 0 to 2^32 - 1 in the portable format, NULL beside them."""
    ids = [0, 5, 2**31, 2**32 - 1]
    found = one("bigint", partial(BITMAP, BitMap(ids).serialize(), null=True))

    assert found.kind is Kind.BITMAP
    assert found.listed() == ids
    assert None in found


@pytest.mark.parametrize(
    ("kind", "packed", "low", "high"),
    [
        ("int", longs(-3, 9), -3, 9),
        ("bigint", longs(-(2**63), 2**63 - 1), -(2**63), 2**63 - 1),
        ("decimal(7,2)", longs(-50, 125), Decimal("-0.50"), Decimal("1.25")),
        ("double", doubles(-1.5, 2.5), -1.5, 2.5),
        ("double", doubles(-1.5, float("nan")), -1.5, float("nan")),
    ],
)
def test_form_2_is_a_range_of_numbers(kind: str, packed: bytes, low: Any, high: Any) -> None:
    """Both ends are included."""
    found = one(kind, partial(RANGE, packed))

    assert found == Domain.range(kind, low, high)
    assert low in found
    assert high in found
    assert None not in found


def test_form_3_is_a_set_of_texts() -> None:
    """Strings are UTF-8, the empty one too; binary is taken as it is."""
    assert one("string", partial(TEXTS, texts(b"b", b"", "ä€".encode()))).listed() == ["", "b", "ä€"]
    assert one("binary", partial(TEXTS, texts(b"\xff\x00", b""), null=True)) == Domain.of(
        "binary", [b"", b"\xff\x00"], null_allowed=True
    )


def test_form_3_holds_wide_decimals() -> None:
    """Decimals of more than 18 digits come as two's complement of their unscaled value, negative ones too."""
    found = one("decimal(38,3)", partial(TEXTS, wide(10**37 + 1, -(10**30), -1, 0, 128, -129)))
    values = [Decimal(f"{n}E-3") for n in (10**37 + 1, -(10**30), -1, 0, 128, -129)]

    assert all(value in found for value in values)
    assert Decimal("0.001") not in found


def test_form_4_is_a_range_of_texts() -> None:
    """Smallest to largest in the order of their bytes."""
    found = one("string", partial(TEXT_RANGE, texts(b"b", b"d"), null=True))

    assert found == Domain.range("string", "b", "d", null_allowed=True)
    assert ["a" in found, "b" in found, "czz" in found, "d" in found, "da" in found] == [False, True, True, True, False]


def test_form_5_is_anything() -> None:
    """Of a column of which nothing could be kept any value may match, and NULL."""
    assert one("decimal(38,3)", partial(ANYTHING)).is_all


@pytest.mark.parametrize("form", [TEXTS, TEXT_RANGE])
def test_strings_that_are_not_utf8_match_anything(form: int) -> None:
    """Bytes that are no string cannot be told from others, so nothing is filtered by them."""
    assert one("string", partial(form, texts(b"\xff", b"\xff\xff"))).is_all


def test_partials_are_united() -> None:
    """A value that any task has seen is in the domain, whatever form the others reported in."""
    found = one(
        "int",
        partial(SET, longs(1, 2)),
        partial(SET),
        partial(BITMAP, BitMap([10, 11]).serialize()),
        partial(RANGE, longs(100, 200), null=True),
    )

    assert [value for value in (0, 1, 2, 3, 10, 11, 12, 99, 100, 150, 200, 201) if value in found] == [
        1,
        2,
        10,
        11,
        100,
        150,
        200,
    ]
    assert None in found


def test_one_task_that_kept_nothing_makes_the_whole_domain_anything() -> None:
    """The union with everything is everything."""
    assert one("decimal(38,3)", partial(TEXTS, wide(1)), partial(ANYTHING)).is_all


def test_zero_partitions_match_nothing() -> None:
    """A build side without a single task has no rows: no key matches."""
    assert [found.kind for found in collected(("int", "string"))] == [Kind.NONE, Kind.NONE]


def test_a_key_that_is_all_null_does_not_empty_another() -> None:
    """Keys are merged each on its own: one without values says nothing about the others."""
    empty, full = collected(
        ("int", "string"),
        [partial(SET, null=True), partial(TEXTS, texts(b"a"))],
        [partial(SET), partial(TEXTS, texts(b"b"))],
    )

    assert empty.kind is Kind.ONLY_NULL
    assert full == Domain.of("string", ["a", "b"])


def test_too_many_values_over_all_tasks_become_a_bitmap() -> None:
    """Each task is within the limit and their union is not."""
    parts = [partial(SET, longs(*range(number, 90, 3))) for number in range(3)]

    assert one("int", *parts, limits=Limits(max_distinct=90)).kind is Kind.SET
    found = one("int", *parts, limits=Limits(max_distinct=89))
    assert found.kind is Kind.BITMAP
    assert found.listed() == list(range(90))


def test_a_bitmap_that_is_too_large_becomes_a_range() -> None:
    """With hardly any bytes left only smallest and largest are kept."""
    scattered = BitMap(range(0, 10_000_000, 997))
    found = one("int", partial(BITMAP, scattered.serialize()), limits=Limits(max_distinct=10, max_bytes=20))

    assert found.kind is Kind.RANGES
    assert found == Domain.range("int", scattered.min(), scattered.max())


def test_without_ranges_what_is_too_large_is_anything() -> None:
    """Where range filters are off there is nothing cheaper than a bitmap."""
    held = BitMap(range(0, 10_000_000, 997)).serialize()

    assert one("int", partial(BITMAP, held), limits=Limits(10, 20, ranges=False)).is_all


def test_several_builds_are_told_apart() -> None:
    """Each build has its number, its size, its time and its keys; of a failed one the keys may be anything."""
    first = BuildRequest(5, (BuildKey(71, 0, "int"), BuildKey(72, 3, "string")), 1000, PlanEdits(builds={9: 1}))
    second = BuildRequest(8, (BuildKey(73, 1, "int"),), 0)
    third = BuildRequest(9, (BuildKey(74, 0, "int"),), 0)
    answers = Answers(
        struct.pack(">i", 3)
        + build([partial(SET, longs(1)), partial(TEXTS, texts(b"x"))], keys=2, rows=12, has_rows=True)
        + build(error="java.lang.Bad: ä")
        + build([partial(SET, longs(2))])
    )
    results = RunningWave(answers, [first, second, third], Limits(11, 2200)).wait()  # type: ignore[arg-type]

    assert results == [
        BuildResult(3, 12, True, 40, 7, ""),
        BuildResult(3, 0, False, 40, 7, "java.lang.Bad: ä"),
        BuildResult(3, 0, False, 40, 7, ""),
    ]
    assert (first.found(71), first.found(72)) == (Domain.of("int", [1]), Domain.of("string", ["x"]))
    assert second.found(73).is_all
    assert third.found(74) == Domain.of("int", [2])
    assert json.loads(answers.asked) == {
        "limits": {"maxDistinct": 11, "maxBytes": 2200},
        "builds": [
            {"node": 5, "keys": [0, 3], "rowBytes": 1000, "edits": {"builds": {"9": 1}}},
            {"node": 8, "keys": [1], "rowBytes": 0, "edits": {}},
            {"node": 9, "keys": [0], "rowBytes": 0, "edits": {}},
        ],
    }
