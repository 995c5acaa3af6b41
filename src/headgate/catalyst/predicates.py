"""Write domains as the predicates that the Java plan writer turns into Catalyst expressions."""

from __future__ import annotations

import base64
import math
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from headgate.catalyst.wire import Literal, Predicate
from headgate.domain import Domain
from headgate.domain.bitmap import IdBitmap
from headgate.domain.intervals import Cut
from headgate.domain.types import BINARY, from_axis
from headgate.domain.values import Bitmap, Discrete, is_full

EXACT_RANGES = 10  # as many alternatives as Spark pushes into Parquet by itself
MAX_RANGES = 4
SOURCE_RANGES = 32
SOURCE_VALUES = 200
_INSET = 400
# from 1900 to 9999: calendars differ about what came before, and databases know nothing of what comes after
_DAYS = -25_567, 2_932_896
_KNOWN_DAYS = {
    "date": _DAYS,
    "timestamp": (_DAYS[0] * 86_400_000_000, _DAYS[1] * 86_400_000_000),
    "timestamp_ntz": (_DAYS[0] * 86_400_000_000, _DAYS[1] * 86_400_000_000),
}
_MOST_RUNS = 1_000_000
_BIT_TESTED = ("tinyint", "smallint", "int", "bigint")


def range_predicate(column: int, domain: Domain) -> Predicate | None:
    """Return at most a handful of ranges that cover the domain: what a Parquet reader can use, and cheap.

    Floats get none: Parquet would drop row groups by statistics that leave out NaN and tell -0.0 from 0.0.
    """
    if domain.type.is_float:
        return None
    if is_full(domain.values):
        return None if domain.null_allowed else Predicate(column=column, ranges=[(None, None)])
    runs = len(domain.values.intervals())
    cover = domain.simplify(EXACT_RANGES if runs <= EXACT_RANGES else MAX_RANGES)
    if isinstance(cover.values, Discrete) and runs == len(cover.values.places):
        return Predicate(column=column, values=_literals(cover), null=domain.null_allowed)
    return Predicate(column=column, ranges=_ranges(cover), null=domain.null_allowed)


def source_predicate(column: int, domain: Domain) -> Predicate | None:
    """Return what a table with statistics of its own is told: a few ranges, cut at the widest gaps, and a short list.

    Iceberg keeps every file above 200 listed values, Delta takes a list for one range: ranges serve both. None where a
    source may order values otherwise than Spark does.
    """
    if domain.type.is_float or domain.type is BINARY:
        return None
    if is_full(domain.values):
        return None if domain.null_allowed else Predicate(column=column, ranges=[(None, None)])
    ranges = [_plain_ends(domain, *ends) for ends in _ranges(domain.simplify(SOURCE_RANGES))]
    if (None, None) in ranges or any(_is_ordered_otherwise(domain, end) for pair in ranges for end in pair):
        return None
    return Predicate(column=column, values=_listed(domain), ranges=ranges, null=domain.null_allowed)


def _listed(domain: Domain) -> list[Literal] | None:
    """Return the values if a list of them says more than the ranges, and every source finds each in its order."""
    values = domain.values
    if not isinstance(values, Discrete) or not SOURCE_RANGES < len(values.places) <= SOURCE_VALUES:
        return None
    literals = _literals(domain)
    return None if any(_is_ordered_otherwise(domain, literal) for literal in literals) else literals


def _is_ordered_otherwise(domain: Domain, end: Literal) -> bool:
    """Days before 1900 and after 9999 are not for all sources, and of text only ASCII.

    Sources keep bounds as text. Beyond U+D800 it is sorted otherwise in UTF-16; and bytes of a value that are no UTF-8
    become another character in a bound, which is above ASCII as they are, and may not be where they are otherwise.
    """
    if isinstance(end, str) and domain.type.name == "string":
        return not end.isascii()
    known = _KNOWN_DAYS.get(domain.type.name)
    return known is not None and isinstance(end, int) and not known[0] <= end <= known[1]


def _plain_ends(domain: Domain, low: Literal, high: Literal) -> tuple[Literal, Literal]:
    """Return a range as it is, or one of text with ends that are ASCII and hold as much."""
    if domain.type.name != "string":
        return low, high
    if isinstance(low, str):
        low = _ascii_start(low) or None
    if isinstance(high, str) and not high.isascii():
        start = _ascii_start(high).rstrip("\x7f")
        high = start[:-1] + chr(ord(start[-1]) + 1) if start else None
    return low, high


def _ascii_start(text: str) -> str:
    return "".join(takewhile(str.isascii, text))


def reader_predicate(column: int, domain: Domain) -> Predicate | None:
    """Return the ranges for the reader of the files alone: something else tests the rows."""
    if isinstance(domain.values, Bitmap) and len(domain.values.ids) > _MOST_RUNS:
        domain = domain.span()  # looking for the widest gaps would list the ids
    found = range_predicate(column, domain)
    return None if found is None else replace(found, for_reader=True)


def row_predicate(column: int, domain: Domain) -> Predicate | None:
    """Return the exact test of each row where it is cheap: a set or a bitmap; else the ranges."""
    values = domain.values
    if domain.type.is_float:
        return None
    if isinstance(values, Discrete) and len(values.places) > _INSET and domain.type.fits_bitmap:
        values = Bitmap(domain.type, IdBitmap.of(values.places))
    if isinstance(values, Bitmap) and domain.type.name in _BIT_TESTED:
        packed = base64.b64encode(values.ids.to_bytes()).decode()
        ends = _ranges(domain.span())
        width = values.ids.width
        return Predicate(column=column, bitmap=packed, width=width, ranges=ends, null=domain.null_allowed)
    if isinstance(domain.values, Discrete):
        return Predicate(column=column, values=_literals(domain), null=domain.null_allowed)
    return range_predicate(column, domain)


def told_row_predicate(column: int, domain: Domain) -> Predicate | None:
    """Return the test of each row for a source that is told ranges: Spark hands it all conditions on its columns."""
    found = None if domain.type is BINARY else row_predicate(column, domain)
    if found is None:
        return None
    literals = [*(found.values or ()), *(end for pair in found.ranges or () for end in pair)]
    return None if any(_is_ordered_otherwise(domain, literal) for literal in literals) else found


def _literals(domain: Domain) -> list[Literal]:
    assert isinstance(domain.values, Discrete)
    return [_literal(domain, place) for place in domain.values.places.tolist()]


def _literal(domain: Domain, place: Any) -> Literal:
    column_type = domain.type
    if column_type.is_float:
        return _java_float(from_axis(column_type, place))
    if column_type.is_decimal:
        return format(from_axis(column_type, place), "f")
    if column_type is BINARY:
        return base64.b64encode(place).decode()
    if column_type.name == "boolean":
        return bool(place)
    literal: Literal = place
    return literal


def _java_float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _ranges(domain: Domain) -> list[tuple[Literal, Literal]]:
    intervals, column_type = domain.values.intervals(), domain.type
    ranges: list[tuple[Literal, Literal]] = []
    for low, high in zip(intervals.lows.tolist(), intervals.highs.tolist(), strict=True):
        bottom = _end(domain, low, column_type.low)
        # an exclusive text end is written as an inclusive one: a little wider, which is safe
        top = None if isinstance(high, Cut) and high.beyond else _end(domain, high, column_type.high)
        ranges.append((bottom, top))
    return ranges


def _end(domain: Domain, bound: Any, edge: Any) -> Literal:
    place = bound.value if isinstance(bound, Cut) else bound
    return None if place == edge else _literal(domain, place)
