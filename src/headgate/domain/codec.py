"""Write tuple domains as JSON and read them back, refusing anything that is not exactly a domain.

The form is the one that Presto uses, with the version and the column type added:

    {"version": 1, "columnDomains": {"customer_id": {"type": "bigint", "nullAllowed": false,
        "values": {"type": "discrete", "values": [1, 2, 5]}}}}

``columnDomains`` is ``null`` for NONE and ``{}`` for ALL. Value sets are ``none``, ``all``, ``discrete``, ``range``,
``bitmap`` and ``bloom``. Dates are days and timestamps microseconds since 1970, decimals are text, binary is base64.
Malformed input raises `InvalidFilter` with the path of the bad field; it is never read as a wider or narrower domain.
An unknown field, a field given twice and a null where a field may only be absent are malformed too.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import json
import math
import re
from collections.abc import Callable, Mapping, Set
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np

from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.domain import Domain
from headgate.domain.intervals import Cut, Intervals, make_interval
from headgate.domain.tuples import TupleDomain
from headgate.domain.types import (
    BINARY,
    BOOLEAN,
    Axis,
    ValueType,
    axis_to_float,
    from_axis,
    short_repr,
    to_axis,
    value_type,
)
from headgate.domain.values import (
    Bitmap,
    Bloom,
    Discrete,
    ValueSet,
    all_values,
    from_bloom,
    from_ids,
    from_intervals,
    from_places,
    is_empty,
    is_full,
    no_values,
)
from headgate.errors import InvalidFilter

T = TypeVar("T")
VERSION = 1
_FLOAT_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL = re.compile(r"-?[0-9]{1,39}(\.[0-9]{1,38})?")


def encode_json(domain: TupleDomain) -> bytes:
    """Return the JSON of a tuple domain whose columns are named by strings."""
    domains = domain.domains
    body = None if domains is None else {column_name(name): domain_to_dict(column) for name, column in domains.items()}
    return msgspec.json.encode({"version": VERSION, "columnDomains": body})


def decode_json(data: bytes | str, types: Mapping[str, ValueType] | None = None) -> TupleDomain:
    """Read the JSON of a tuple domain; ``types`` gives the column types where the JSON leaves them out."""
    try:
        text = data if isinstance(data, str) else bytes(data).decode()
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except InvalidFilter:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidFilter(f"not JSON: {error}", "$") from error
    return tuple_domain_from_dict(document, types)


def tuple_domain_from_dict(document: Any, types: Mapping[str, ValueType] | None = None) -> TupleDomain:
    """Read a tuple domain from decoded JSON."""
    fields = _fields(document, "$", required={"columnDomains"}, optional={"version"})
    if (version := fields.get("version", VERSION)) != VERSION or type(version) is not int:
        raise InvalidFilter(f"unknown version {short_repr(version)}; expected {VERSION}", "$.version")
    columns = fields["columnDomains"]
    if columns is None:
        return TupleDomain.none()
    if not isinstance(columns, dict):
        raise InvalidFilter(f"expected an object or null, got {short_repr(columns)}", "$.columnDomains")
    known = types or {}
    return TupleDomain(
        {
            column_name(name): domain_from_dict(column, f"$.columnDomains.{name}", known.get(name))
            for name, column in columns.items()
        }
    )


def domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Return one domain as plain data."""
    return {"type": domain.type.name, "values": _values_to_dict(domain.values), "nullAllowed": domain.null_allowed}


def domain_from_dict(document: Any, path: str, column_type: ValueType | None = None) -> Domain:
    """Read one domain from plain data."""
    fields = _fields(document, path, required={"values", "nullAllowed"}, optional={"type"})
    if "type" in fields:
        named = _known_type(fields["type"], f"{path}.type")
        if column_type is not None and column_type != named:
            raise InvalidFilter(f"the domain is of {named}, the column of {column_type}", f"{path}.type")
        column_type = named
    if column_type is None:
        raise InvalidFilter("the column type is missing; give it in the JSON or in types", f"{path}.type")
    if not isinstance(fields["nullAllowed"], bool):
        raise InvalidFilter(f"expected true or false, got {short_repr(fields['nullAllowed'])}", f"{path}.nullAllowed")
    return Domain(_values_from_dict(fields["values"], column_type, f"{path}.values"), fields["nullAllowed"])


# --- writing ----------------------------------------------------------------------------------------------------


def _values_to_dict(values: ValueSet) -> dict[str, Any]:
    column_type = values.type
    if is_empty(values):
        return {"type": "none"}
    if is_full(values):
        return {"type": "all"}
    match values:
        case Discrete(places=places):
            return {"type": "discrete", "values": _places_to_json(column_type, places.tolist())}
        case Bitmap(ids=ids):
            return {"type": "bitmap", "width": ids.width, "bits": base64.b64encode(ids.to_bytes()).decode()}
        case Bloom(bits=bits):
            body = base64.b64encode(bits.to_spark()).decode()
            return {"type": "bloom", "bits": body, "ranges": _ranges_to_json(values)}
    return {"type": "range", "ranges": _ranges_to_json(values)}


def _ranges_to_json(values: ValueSet) -> list[dict[str, Any]]:
    intervals, column_type = values.intervals(), values.type
    ranges = []
    for low, high in zip(intervals.lows.tolist(), intervals.highs.tolist(), strict=True):
        entry = {}
        if not (low.value == column_type.low if isinstance(low, Cut) else low == column_type.low):
            entry["low"] = _bound_to_json(column_type, low)
        if not (high.beyond if isinstance(high, Cut) else high == column_type.high):
            entry["high"] = _bound_to_json(column_type, high)
        ranges.append(entry)
    return ranges


def _bound_to_json(column_type: ValueType, bound: Any) -> dict[str, Any]:
    place, exact = (bound.value, bound.side == 0) if isinstance(bound, Cut) else (bound, True)
    return {"value": _places_to_json(column_type, [place])[0], "bound": "EXACTLY" if exact else "BELOW"}


def _places_to_json(column_type: ValueType, places: list[Any]) -> list[Any]:
    if column_type.is_float:
        return [_float_to_json(axis_to_float(column_type, place)) for place in places]
    if column_type.is_decimal:
        return [format(from_axis(column_type, place), "f") for place in places]
    if column_type is BINARY:
        return [base64.b64encode(place).decode() for place in places]
    return [bool(place) for place in places] if column_type is BOOLEAN else places


def _float_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# --- reading ----------------------------------------------------------------------------------------------------


def _values_from_dict(document: Any, column_type: ValueType, path: str) -> ValueSet:
    if not isinstance(document, dict) or not isinstance(document.get("type"), str):
        raise InvalidFilter(f"expected an object with a type, got {short_repr(document)}", path)
    if (reader := _READERS.get(document["type"])) is None:
        raise InvalidFilter(f"{short_repr(document['type'])} is not one of {', '.join(_READERS)}", f"{path}.type")
    return reader(document, column_type, path)


def _read_none(document: Any, column_type: ValueType, path: str) -> ValueSet:
    _fields(document, path, required={"type"})
    return no_values(column_type)


def _read_all(document: Any, column_type: ValueType, path: str) -> ValueSet:
    _fields(document, path, required={"type"})
    return all_values(column_type)


def _read_discrete(document: Any, column_type: ValueType, path: str) -> ValueSet:
    if "int64" in document:
        return _read_packed(document, column_type, path)
    listed = _listed(_fields(document, path, required={"type", "values"})["values"], f"{path}.values")
    is_plain = _is_whole(column_type) and set(map(type, listed)) == {int}
    if is_plain and column_type.low <= min(listed) and max(listed) <= column_type.high:
        return from_places(column_type, np.array(listed, dtype=np.int64))  # the common case, without a call per value
    places = np.empty(len(listed), dtype=np.int64 if column_type.axis is Axis.ORDINAL else object)
    for i, item in enumerate(listed):
        try:
            places[i] = _place(item, column_type)
        except InvalidFilter as error:
            raise InvalidFilter(str(error), f"{path}.values[{i}]") from error
    return from_places(column_type, places)


def _read_packed(document: Any, column_type: ValueType, path: str) -> ValueSet:
    """Read whole numbers of the binary form: eight bytes each, little-endian."""
    packed = _fields(document, path, required={"type", "int64"})["int64"]
    if not isinstance(packed, bytes) or len(packed) % 8 or not (_is_whole(column_type) or column_type is BOOLEAN):
        raise InvalidFilter("expected a multiple of 8 bytes, in a column of whole numbers", f"{path}.int64")
    places = np.frombuffer(packed, dtype="<i8").astype(np.int64)
    if len(places) and (places.min() < column_type.low or places.max() > column_type.high):
        raise InvalidFilter(
            f"some values are outside {column_type}, which holds {column_type.low} to {column_type.high}",
            f"{path}.int64",
        )
    return from_places(column_type, places)


def _is_whole(column_type: ValueType) -> bool:
    return column_type.fits_bitmap and not column_type.is_decimal and column_type is not BOOLEAN


def _read_ranges(document: Any, column_type: ValueType, path: str) -> ValueSet:
    fields = _fields(document, path, required={"type", "ranges"})
    return from_intervals(column_type, _read_intervals(fields["ranges"], column_type, f"{path}.ranges"))


def _read_intervals(document: Any, column_type: ValueType, path: str) -> Intervals:
    parts = [_read_interval(item, column_type, f"{path}[{i}]") for i, item in enumerate(_listed(document, path))]
    return Intervals.union_of(column_type, parts)


def _read_interval(document: Any, column_type: ValueType, path: str) -> Intervals:
    fields = _fields(document, path, required=frozenset(), optional={"low", "high"})
    low, low_inclusive = _bound(fields, "low", "ABOVE", column_type, path)
    high, high_inclusive = _bound(fields, "high", "BELOW", column_type, path)
    interval = make_interval(column_type, low, high, low_inclusive=low_inclusive, high_inclusive=high_inclusive)
    if not len(interval):
        raise InvalidFilter("the range is empty: its low end is above its high end", path)
    return interval


def _bound(fields: dict[str, Any], end: str, open_word: str, column_type: ValueType, path: str) -> tuple[Any, bool]:
    if end not in fields:
        return None, True
    bound = _fields(fields[end], f"{path}.{end}", required={"value", "bound"})
    if bound["bound"] not in ("EXACTLY", open_word):
        raise InvalidFilter(f"{short_repr(bound['bound'])} is not one of EXACTLY, {open_word}", f"{path}.{end}.bound")
    return _at(f"{path}.{end}.value", lambda: _place(bound["value"], column_type)), bound["bound"] == "EXACTLY"


def _read_bitmap(document: Any, column_type: ValueType, path: str) -> ValueSet:
    fields = _fields(document, path, required={"type", "width", "bits"})
    if not column_type.fits_bitmap:
        raise InvalidFilter(f"a bitmap holds whole numbers, not {column_type}; send a discrete set", f"{path}.type")
    if (width := fields["width"]) not in (32, 64) or type(width) is not int:
        raise InvalidFilter(f"expected 32 or 64, got {short_repr(width)}", f"{path}.width")
    ids = _at(f"{path}.bits", lambda: IdBitmap.from_bytes(_raw(fields["bits"]), width))
    if len(ids) and not (column_type.low <= ids.ends()[0] and ids.ends()[1] <= column_type.high):
        raise InvalidFilter(
            f"the bitmap contains ids outside {column_type}, which holds {column_type.low} to {column_type.high}",
            f"{path}.bits",
        )
    return from_ids(column_type, ids)


def _read_bloom(document: Any, column_type: ValueType, path: str) -> ValueSet:
    fields = _fields(document, path, required={"type", "bits", "ranges"})
    bits = _at(f"{path}.bits", lambda: BloomBits.from_spark(_raw(fields["bits"])))
    ranges = _read_intervals(fields["ranges"], column_type, f"{path}.ranges")
    if not len(ranges):
        raise InvalidFilter("a bloom needs at least one range", f"{path}.ranges")
    return from_bloom(column_type, bits, ranges)


_READERS: dict[str, Callable[[Any, ValueType, str], ValueSet]] = {
    "none": _read_none,
    "all": _read_all,
    "discrete": _read_discrete,
    "range": _read_ranges,
    "bitmap": _read_bitmap,
    "bloom": _read_bloom,
}


def _place(item: Any, column_type: ValueType) -> Any:
    """Turn a JSON value into its place on the axis of the column; refuse what the type cannot hold."""
    if column_type.is_float:
        if isinstance(item, str) and item in _FLOAT_WORDS:
            item = _FLOAT_WORDS[item]
        elif isinstance(item, float) and not math.isfinite(item):
            raise InvalidFilter(f"a number is too large for {column_type}; write infinity as text")
    elif column_type.is_decimal:
        if not isinstance(item, str) or not _DECIMAL.fullmatch(item):
            raise InvalidFilter(f'expected a decimal as text, such as "1.50", got {short_repr(item)}')
        item = decimal.Decimal(item)
    elif column_type is BINARY:
        item = _raw(item)
    elif not isinstance(item, str | int | float):
        raise InvalidFilter(f"{short_repr(item)} is not a {column_type}")
    return to_axis(column_type, item)


def _raw(item: Any) -> bytes:
    if isinstance(item, bytes):
        return item
    try:
        raw = base64.b64decode(item, validate=True)
        if base64.b64encode(raw).decode() == item:  # base64 can spell some bytes in several ways; accept one
            return raw
    except (binascii.Error, TypeError, ValueError):
        pass
    raise InvalidFilter(f"expected base64 text, got {short_repr(item)}")


def _known_type(name: Any, path: str) -> ValueType:
    if not isinstance(name, str):
        raise InvalidFilter(f"expected the name of a type, got {short_repr(name)}", path)
    return _at(path, lambda: value_type(name))


def column_name(column: Any) -> str:
    """Return the name of a column; only text can be encoded."""
    try:
        if isinstance(column, str) and column.encode() is not None:
            return column
    except UnicodeEncodeError:
        pass
    raise InvalidFilter(f"a column name must be valid text, got {short_repr(column)}", "$.columnDomains")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields; refuse two of one name, as nobody knows which was meant."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidFilter(f"the field {short_repr(twice)} is given twice", "$")
    return fields


def _no_constant(word: str) -> NoReturn:
    raise InvalidFilter(f"not JSON: {word} is not a JSON number; write it as text", "$")


def _fields(document: Any, path: str, required: Set[str], optional: Set[str] = frozenset()) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise InvalidFilter(f"expected an object, got {short_repr(document)}", path)
    if missing := required - document.keys():
        raise InvalidFilter("the field is missing", f"{path}.{min(missing)}")
    if extra := document.keys() - required - optional:
        raise InvalidFilter("the field is unknown", f"{path}.{min(map(str, extra))}")
    return document


def _listed(item: Any, path: str) -> list[Any]:
    if not isinstance(item, list):
        raise InvalidFilter(f"expected a list, got {short_repr(item)}", path)
    return item


def _at(path: str, read: Callable[[], T]) -> T:
    """Add the path to an error that ``read`` raises."""
    try:
        return read()
    except InvalidFilter as error:
        raise InvalidFilter(str(error), path) from error
