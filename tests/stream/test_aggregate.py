"""Totals of changelogs equal Spark's own aggregates over the rows that are there, after every batch."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from headgate.errors import BadInput
from headgate.stream import aggregate
from tests.stream.changelogs import Change, Changes, Row, Told, by_batch, random_changes

DDL = (
    "g int, x double, t tinyint, h smallint, i int, l bigint, f float, d double, m decimal(12,2), w decimal(38,6), "
    "s string, y binary, b boolean, a date, c timestamp, z timestamp_ntz"
)
SCHEMA = pa.schema(
    [
        ("g", pa.int32()),
        ("x", pa.float64()),
        ("t", pa.int8()),
        ("h", pa.int16()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("m", pa.decimal128(12, 2)),
        ("w", pa.decimal128(38, 6)),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("b", pa.bool_()),
        ("a", pa.date32()),
        ("c", pa.timestamp("us", "UTC")),
        ("z", pa.timestamp("us")),
    ]
)
TOTALS = {
    "rows": "count(*)",
    "present": "count(i, s)",
    **{f"sum_{name}": f"sum({name})" for name in "thilfdmw"},
    **{f"avg_{name}": f"avg({name})" for name in "tilfdmw"},
    **{f"min_{name}": f"min({name})" for name in "thilfdmwsybacz"},
    **{f"max_{name}": f"max({name})" for name in "thilfdmwsybacz"},
    "product": "sum(m * i)",
    "chosen": "sum(case when b then l else -l end)",
    "mixed": "avg(i + d)",
}
MOMENT = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


def a_row(draw: random.Random) -> Row:
    """A row whose sums of doubles are exact in any order, with NULLs and all that is odd."""
    eighths = [draw.randint(-8000, 8000) / 8 for _ in range(3)]
    odd = draw.random() < 0.05
    row: list[Any] = [
        draw.choice([1, 2, 3, None]),
        draw.choice([0.0, -0.0, math.nan, 1.5, None]),
        draw.randint(-128, 127),
        draw.randint(-32768, 32767),
        draw.randint(-(2**31), 2**31 - 1),
        draw.randint(-(2**40), 2**40),
        draw.choice([math.nan, math.inf, -math.inf]) if odd else eighths[0],
        draw.choice([math.nan, math.inf, -math.inf]) if odd else eighths[1],
        Decimal(draw.randint(-(10**11), 10**11)).scaleb(-2),
        Decimal(draw.randint(-(10**30), 10**30)).scaleb(-6),
        draw.choice(["", "a", "ab", "b\0c", "b", "ä", "\U0001f600"]) + draw.choice(["", "\0", "x"]),
        draw.randbytes(draw.randint(0, 3)),
        draw.random() < 0.5,
        dt.date(2024, 1, 1) + dt.timedelta(days=draw.randint(-40000, 400)),
        MOMENT + dt.timedelta(microseconds=draw.randint(-(10**15), 10**12)),
        MOMENT.replace(tzinfo=None) + dt.timedelta(microseconds=draw.randint(-(10**15), 10**12)),
    ]
    return tuple(value if place < 2 or draw.random() < 0.85 else None for place, value in enumerate(row))


def grouped(frame: DataFrame, by: list[str], totals: dict[str, str]) -> DataFrame:
    """Spark's own aggregate, after each batch."""
    return frame.groupBy("_batch", *by).agg(*(sf.expr(total).alias(name) for name, total in totals.items()))


@pytest.mark.parametrize("seed", [1])
def test_totals_by_key_equal_the_batch_aggregate_after_each_batch(
    stateful: SparkSession, tmp_path: Path, seed: int
) -> None:
    draw, changes = random.Random(seed), Changes(tmp_path / "in", DDL, SCHEMA)
    told, totals = Told(), aggregate(changes.stream(stateful), ["g", "x"], **TOTALS)
    for _ in range(2):  # the query is started again in between
        random_changes(draw, changes, 4, a_row)
        told.run(totals, tmp_path / "checkpoint")
    expected = grouped(changes.states(stateful), ["g", "x"], TOTALS)
    assert totals.columns == ["_op", *expected.columns[1:]]
    assert [field.dataType for field in totals.schema][1:] == [field.dataType for field in expected.schema][1:]
    assert told.after(8) == by_batch(expected, 8)
    assert {op for batch in told.batches.values() for op, *_ in batch} == {"+I", "-U", "+U", "-D"}
    for batch in told.batches.values():
        assert max(Counter(row[:3] for row in batch).values(), default=1) == 1, "one change of each group and batch"
        assert not {row[1:] for row in batch if row[0] == "-U"} & {row[1:] for row in batch if row[0] == "+U"}


def test_totals_of_everything_stay_when_all_rows_are_gone(stateful: SparkSession, tmp_path: Path) -> None:
    changes = Changes(tmp_path / "in", DDL, SCHEMA)
    random_changes(random.Random(5), changes, 4, a_row)
    told = Told()
    told.run(aggregate(changes.stream(stateful), [], **TOTALS), tmp_path / "checkpoint")
    found, expected = told.after(4), by_batch(grouped(changes.states(stateful), [], TOTALS), 4)
    nothing = [(0, 0, *[None] * (len(TOTALS) - 2))]
    assert [list(each) for each in found] == [list(each) or nothing for each in expected]
    assert not expected[1]


# Small streams: groups of their own for what each shows.

SMALL = "g string, d double, l bigint, m decimal(38,2)"
SMALL_SCHEMA = pa.schema([("g", pa.string()), ("d", pa.float64()), ("l", pa.int64()), ("m", pa.decimal128(38, 2))])


def small(folder: Path, *batches: list[Change]) -> Changes:
    """A stream of a few rows: group, double, and whole number where given."""
    changes = Changes(folder, SMALL, SMALL_SCHEMA)
    for batch in batches:
        changes.write([(op, (*row, *[None] * (4 - len(row)))) for op, row in batch])
    return changes


def test_sums_of_doubles_are_exact_and_rounded_once(stateful: SparkSession, tmp_path: Path) -> None:
    draw = random.Random(3)
    groups: dict[str, list[float]] = {
        "drift": [0.1, 0.2, 0.3, 1e16, -1e16, 1e-3],
        "wide": [1e300, 1e-300, -1e300, 5e-324, 2.5e-308],
        "least": [5e-324, 5e-324, -2.2e-308],
        "large": [1.7e308, 1.7e308, -1.7e308],
        "beyond": [1.7e308, 1.7e308],
        "halves": [1.0, 2.0**-53, 2.0**-80],
        **{f"random {i}": [draw.uniform(-1, 1) * 10.0 ** draw.randint(-30, 30) for _ in range(40)] for i in range(20)},
    }
    passing = [1e305, 3.3, -7e-310, math.nan, math.inf, -math.inf]
    came = [("+I", (name, value)) for name, values in groups.items() for value in [*values, *passing]]
    went = [("-D", (name, value)) for name in groups for value in passing]
    changes = small(tmp_path / "in", came, went)
    told = Told()
    told.run(
        aggregate(changes.stream(stateful), "g", total="sum(d)", mean="avg(d)", low="min(d)", high="max(d)"),
        tmp_path / "c",
    )
    found = {row[0]: row[1:] for row in told.after(2)[1]}
    assert {row[1:] for row in told.after(2)[0]} == {("NaN", "NaN", -math.inf, "NaN")}
    for name, values in groups.items():
        total = math.inf if name == "beyond" else 1.7e308 if name == "large" else math.fsum(values)
        assert found[name] == (total, total / len(values), min(values), max(values)), name


def test_extremes_of_large_groups_survive_what_is_taken_away(stateful: SparkSession, tmp_path: Path) -> None:
    """More values in a batch than are held back before they are stored, and groups that grow and shrink."""
    draw = random.Random(6)
    values = draw.sample(range(10**6), 6000)
    few = draw.sample(range(10**6), 70)
    ends = set(sorted(values)[:2000] + sorted(values)[-2000:])
    batches: list[list[Change]] = [
        [("+I", ("many", None, value)) for value in values] + [("+I", ("few", None, value)) for value in few[:60]],
        [("-D", ("many", None, value)) for value in ends] + [("+I", ("few", None, value)) for value in few[60:]],
        [("-D", ("many", None, value)) for value in values if value not in ends]
        + [("-D", ("few", None, value)) for value in sorted(few)[5:]],
        [("+I", ("many", None, value)) for value in values[:3]] + [("-D", ("few", None, min(few)))],
        [("-D", ("many", None, value)) for value in values[:3]]
        + [("-D", ("few", None, value)) for value in sorted(few)[1:5]],
    ]
    changes = small(tmp_path / "in", *batches)
    told, totals = Told(), {"low": "min(l)", "high": "max(l)", "n": "count(l)"}
    told.run(aggregate(changes.stream(stateful), ["g"], **totals), tmp_path / "c")
    assert told.after(5) == by_batch(grouped(changes.states(stateful), ["g"], totals), 5)
    assert told.kept[0] > 6000
    assert told.kept[4] == 0, "nothing is kept of groups that are gone"


def test_more_taken_away_than_was_there_is_not_told_and_not_forgotten(stateful: SparkSession, tmp_path: Path) -> None:
    first: list[Change] = [("-D", ("early", 2.0)), ("-D", ("early", 3.0)), ("+I", ("other", 1.0))]
    second: list[Change] = [("+I", ("early", 2.0)), ("-D", ("other", 1.0)), ("-D", ("other", 1.0))]
    third: list[Change] = [
        *[("+I", ("early", value)) for value in (3.0, 7.0)],
        *[("+I", ("other", 1.0))] * 2,
    ]
    changes = small(tmp_path / "in", first, second, third)
    told = Told()
    totals = aggregate(changes.stream(stateful), ["g"], n="count(*)", total="sum(d)", low="min(d)")
    told.run(totals, tmp_path / "c")
    assert told.batches[0] == [("+I", "other", 1, 1.0, 1.0)]
    assert told.batches[1] == [("-D", "other", 1, 1.0, 1.0)]
    assert sorted(told.batches[2]) == [("+I", "early", 1, 7.0, 7.0), ("+I", "other", 1, 1.0, 1.0)]


TOO_LARGE = [("+I", ("long", None, 2**63 - 1)), ("+I", ("long", None, 2**62))]
TOO_WIDE = [("+I", ("wide", None, None, Decimal(9 * 10**35)))] * 2


@pytest.mark.parametrize(
    ("batch", "total", "said"),
    [
        (TOO_LARGE, "sum(l)", "`sum(l)` is 13835058055282163711 now, which bigint cannot hold"),
        (TOO_WIDE, "sum(m)", r"`sum(m)` is 1800000000000000000000000000000000000.00 now, which decimal(38,2) cannot"),
    ],
)
def test_a_sum_too_large_fails_the_batch(
    stateful: SparkSession, tmp_path: Path, batch: list[Change], total: str, said: str
) -> None:
    changes = small(tmp_path / "in", batch)
    with pytest.raises(StreamingQueryException) as failure:
        Told().run(aggregate(changes.stream(stateful), ["g"], total=total), tmp_path / "c")
    assert said in str(failure.value)


def test_without_ansi_sums_overflow_as_sparks_do(stateful: SparkSession, tmp_path: Path) -> None:
    changes = small(tmp_path / "in", TOO_LARGE + TOO_WIDE)
    stateful.conf.set("spark.sql.ansi.enabled", "false")
    told, totals = Told(), {"l": "sum(l)", "m": "sum(m)", "mean": "avg(m)"}
    told.run(aggregate(changes.stream(stateful), ["g"], **totals), tmp_path / "c")
    expected = by_batch(grouped(changes.states(stateful), ["g"], totals), 1)
    assert told.after(1) == expected
    assert set(expected[0]) == {("long", -(2**62) - 1, None, None), ("wide", None, None, None)}


def test_a_checkpoint_of_other_totals_is_refused(stateful: SparkSession, tmp_path: Path) -> None:
    changes = small(tmp_path / "in", [("+I", ("a", 1.0, 2))])
    Told().run(aggregate(changes.stream(stateful), ["g"], total="sum(l)"), tmp_path / "c")
    small(tmp_path / "in", [], [("+I", ("a", 1.0, 2))])
    for by, total in ((["g"], "max(l)"), (["g", "d"], "sum(l)"), ([], "sum(l)")):
        with pytest.raises(
            StreamingQueryException, match=r"operator with totals sum\(l\) .* by g STRING, which is now"
        ):
            Told().run(aggregate(changes.stream(stateful), by, total=total), tmp_path / "c")


@pytest.mark.parametrize(
    ("by", "totals", "said"),
    [
        ("g", {}, "no totals to keep"),
        ("q", {"n": "count(*)"}, "no column 'q' to aggregate by; the columns are g, d, l, m"),
        (["g", "g"], {"n": "count(*)"}, "comes twice in g, g"),
        ("g", {"g": "count(*)"}, "cannot be called 'g'"),
        ("g", {"_op": "count(*)"}, "cannot be called '_op'"),
        ("g", {"n": "count(*)", "N": "count(*)"}, "cannot be called 'N'"),
        ("g", {"n": 3}, "n is int; a total is SQL in a string"),
        ("g", {"n": "count(_op)"}, "UNRESOLVED_COLUMN"),
        ("g", {"n": "sum(q)"}, "UNRESOLVED_COLUMN.*the columns are g, d, l, m"),
        ("g", {"n": "sum(l"}, "PARSE_SYNTAX_ERROR"),
        ("g", {"n": "l"}, "MISSING_AGGREGATION|is not one total"),
        ("g", {"n": "1"}, "`1` is not one total"),
        ("g", {"n": "sum(l) + 1"}, "is not one total: compute with totals in a `select`"),
        ("g", {"n": "stddev(l)"}, "is none of count, sum, min, max and avg"),
        ("g", {"n": "try_sum(l)"}, "is none of count, sum, min, max and avg"),
        ("g", {"n": "count(distinct l)"}, "counts each value once"),
        ("g", {"n": "sum(l) filter (where d > 1)"}, "has a FILTER"),
        ("g", {"n": "sum(l * rand())"}, "NONDETERMINISTIC"),
        ("g", {"n": "max(current_timestamp())"}, "looks at the clock"),
        ("g", {"n": "sum(case when now() > date'2024-01-01' then l end)"}, "looks at the clock"),
        ("g", {"n": "max(struct(l))"}, "have no order that can be kept"),
        ("g", {"n": "min(g collate utf8_lcase)"}, "have no order that can be kept"),
        ("g", {"n": "sum(make_dt_interval(1))"}, "only numbers can be added up"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    stateful: SparkSession, tmp_path: Path, by: Any, totals: dict[str, Any], said: str
) -> None:
    changes = small(tmp_path / "in", [])
    with pytest.raises(BadInput, match=said):
        aggregate(changes.stream(stateful), by, **totals)


def test_groups_by_what_has_no_one_form_are_refused(stateful: SparkSession, tmp_path: Path) -> None:
    stream = small(tmp_path / "in", []).stream(stateful).selectExpr("*", "map(g, l) k", "g collate utf8_lcase c")
    for name in ("k", "c"):
        with pytest.raises(BadInput, match=f"column '{name}' is .* cannot be aggregated by"):
            aggregate(stream, name, n="count(*)")
    with pytest.raises(BadInput, match="changes is a batch DataFrame"):
        aggregate(stateful.range(3), "id", n="count(*)")
