"""Write tuple domains as JSON and read them back, refusing anything that is not exactly a domain.

The form is the one that Presto uses, with the version and the column type added:

    {"version": 1, "columnDomains": {"customer_id": {"type": "bigint", "nullAllowed": false,
        "values": {"type": "discrete", "values": [1, 2, 5]}}}}

``columnDomains`` is ``null`` for NONE and ``{}`` for ALL. Value sets are ``none``, ``all``, ``discrete``, ``range``,
``bitmap`` and ``bloom``. Dates are days and timestamps microseconds since 1970, decimals are text, binary is base64.
Malformed input raises `InvalidFilter` with the path of the bad field; it is never read as a wider or narrower domain.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np

from headgate.domain.bitmap import IdBitmap
from headgate.domain.bloom import BloomBits
from headgate.domain.domain import Domain, union_all
from headgate.domain.intervals import Cut
from headgate.domain.tuples import TupleDomain
from headgate.domain.types import BINARY, Axis, ValueType, axis_to_float, from_axis, to_axis, value_type
from headgate.domain.values import Bitmap, Bloom, Discrete, ValueSet, from_ids, is_empty, is_full
from headgate.errors import InvalidFilter

T = TypeVar("T")
VERSION = 1
_FLOAT_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_json(domain: TupleDomain) -> bytes:
    """Return the JSON of a tuple domain whose columns are named by strings."""
    columns = domain.domains
    body = None if columns is None else {str(name): domain_to_dict(held) for name, held in columns.items()}
    return msgspec.json.encode({"version": VERSION, "columnDomains": body})


def decode_json(data: bytes | str, types: Mapping[str, ValueType] | None = None) -> TupleDomain:
    """Read the JSON of a tuple domain; ``types`` gives the column types where the JSON leaves them out."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFilter(f"not JSON: {error}", "$") from error
    return tuple_domain_from_dict(document, types)


def tuple_domain_from_dict(document: Any, types: Mapping[str, ValueType] | None = None) -> TupleDomain:
    """Read a tuple domain from decoded JSON."""
    fields = _fields(document, "$", required={"columnDomains"}, optional={"version"})
    if (version := fields.get("version", VERSION)) != VERSION or isinstance(version, bool):
        raise InvalidFilter(f"version {version!r} is not known; expected {VERSION}", "$.version")
    columns = fields["columnDomains"]
    if columns is None:
        return TupleDomain.none()
    if not isinstance(columns, dict):
        raise InvalidFilter(f"expected an object or null, got {_shown(columns)}", "$.columnDomains")
    known = types or {}
    return TupleDomain(
        {name: domain_from_dict(held, f"$.columnDomains.{name}", known.get(name)) for name, held in columns.items()}
    )


def domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Return one domain as plain data."""
    return {"type": domain.type.name, "values": _values_to_dict(domain.values), "nullAllowed": domain.null_allowed}


def domain_from_dict(document: Any, path: str, kind: ValueType | None = None) -> Domain:
    """Read one domain from plain data."""
    fields = _fields(document, path, required={"values", "nullAllowed"}, optional={"type"})
    if "type" in fields:
        named = _known_type(fields["type"], f"{path}.type")
        if kind is not None and kind != named:
            raise InvalidFilter(f"the column is {kind}, the domain says {named}", f"{path}.type")
        kind = named
    if kind is None:
        raise InvalidFilter("the type of the column is missing", f"{path}.type")
    if not isinstance(fields["nullAllowed"], bool):
        raise InvalidFilter(f"expected true or false, got {_shown(fields['nullAllowed'])}", f"{path}.nullAllowed")
    return _values_from_dict(fields["values"], kind, f"{path}.values").with_null(fields["nullAllowed"])


def _values_to_dict(values: ValueSet) -> dict[str, Any]:
    kind = values.kind
    if is_empty(values):
        return {"type": "none"}
    if is_full(values):
        return {"type": "all"}
    match values:
        case Discrete(places=places):
            return {"type": "discrete", "values": _places_to_json(kind, places.tolist())}
        case Bitmap(ids=ids):
            return {"type": "bitmap", "width": ids.width, "bits": base64.b64encode(ids.to_bytes()).decode()}
        case Bloom(bits=bits):
            body = base64.b64encode(bits.to_spark()).decode()
            return {"type": "bloom", "bits": body, "ranges": _ranges_to_json(values)}
    return {"type": "range", "ranges": _ranges_to_json(values)}


def _ranges_to_json(values: ValueSet) -> list[dict[str, Any]]:
    held, kind = values.intervals(), values.kind
    ranges = []
    for low, high in zip(held.lows.tolist(), held.highs.tolist(), strict=True):
        entry = {}
        if not (low.value == kind.low if isinstance(low, Cut) else low == kind.low):
            entry["low"] = _bound_to_json(kind, low)
        if not (high.beyond if isinstance(high, Cut) else high == kind.high):
            entry["high"] = _bound_to_json(kind, high)
        ranges.append(entry)
    return ranges


def _bound_to_json(kind: ValueType, bound: Any) -> dict[str, Any]:
    place, exact = (bound.value, bound.side == 0) if isinstance(bound, Cut) else (bound, True)
    return {"value": _places_to_json(kind, [place])[0], "bound": "EXACTLY" if exact else "BELOW"}


def _places_to_json(kind: ValueType, places: list[Any]) -> list[Any]:
    if kind.is_float:
        return [_float_to_json(axis_to_float(place)) for place in places]
    if kind.is_decimal:
        return [format(from_axis(kind, place), "f") for place in places]
    if kind is BINARY:
        return [base64.b64encode(place).decode() for place in places]
    return [bool(place) for place in places] if kind.name == "boolean" else places


def _float_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _values_from_dict(document: Any, kind: ValueType, path: str) -> Domain:
    readers: dict[str, Callable[[dict[str, Any], ValueType, str], Domain]] = {
        "none": _read_none,
        "all": _read_all,
        "discrete": _read_discrete,
        "range": _read_ranges,
        "bitmap": _read_bitmap,
        "bloom": _read_bloom,
    }
    if not isinstance(document, dict) or not isinstance(document.get("type"), str):
        raise InvalidFilter(f"expected an object with a type, got {_shown(document)}", path)
    if (reader := readers.get(document["type"])) is None:
        raise InvalidFilter(f"{document['type']!r} is not one of {', '.join(readers)}", f"{path}.type")
    return reader(document, kind, path)


def _read_none(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    _fields(document, path, required={"type"})
    return Domain.none(kind)


def _read_all(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    _fields(document, path, required={"type"})
    return Domain.not_null(kind)


def _read_discrete(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    listed = _listed(_fields(document, path, required={"type", "values"})["values"], f"{path}.values")
    if kind.axis is Axis.ORDINAL and not kind.is_float and not kind.is_decimal and set(map(type, listed)) == {int}:
        try:  # the common case, whole numbers, without a Python call for each
            if kind.name != "boolean" and kind.low <= min(listed) and max(listed) <= kind.high:
                return _domain_of_whole_numbers(kind, listed)
        except (OverflowError, ValueError):
            pass
    return Domain.of(kind, [_value(item, kind, f"{path}.values[{i}]") for i, item in enumerate(listed)])


def _domain_of_whole_numbers(kind: ValueType, listed: list[int]) -> Domain:
    return Domain.of_array(kind, np.array(listed, dtype=np.int64))


def _read_ranges(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    listed = _listed(_fields(document, path, required={"type", "ranges"})["ranges"], f"{path}.ranges")
    parts = [_read_range(item, kind, f"{path}.ranges[{i}]") for i, item in enumerate(listed)]
    return union_all(parts) if parts else Domain.none(kind)


def _read_range(document: Any, kind: ValueType, path: str) -> Domain:
    fields = _fields(document, path, required=set(), optional={"low", "high"})
    low, low_inclusive = _bound(fields.get("low"), kind, f"{path}.low", "ABOVE")
    high, high_inclusive = _bound(fields.get("high"), kind, f"{path}.high", "BELOW")
    held = Domain.range(kind, low, high, low_inclusive=low_inclusive, high_inclusive=high_inclusive)
    if held.is_none:
        raise InvalidFilter("the range holds nothing: its low end is above its high end", path)
    return held


def _bound(document: Any, kind: ValueType, path: str, open_word: str) -> tuple[Any, bool]:
    if document is None:
        return None, True
    fields = _fields(document, path, required={"value", "bound"})
    if fields["bound"] not in ("EXACTLY", open_word):
        raise InvalidFilter(f"{_shown(fields['bound'])} is not one of EXACTLY, {open_word}", f"{path}.bound")
    return _value(fields["value"], kind, f"{path}.value"), fields["bound"] == "EXACTLY"


def _read_bitmap(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    fields = _fields(document, path, required={"type", "width", "bits"})
    if not kind.fits_bitmap:
        raise InvalidFilter(f"a bitmap holds whole numbers, not {kind}", f"{path}.type")
    ids = _at(path + ".bits", lambda: IdBitmap.from_bytes(_raw(fields["bits"], f"{path}.bits"), fields["width"]))
    held = ids.ids()
    if len(held) and (held[0] < kind.low or held[-1] > kind.high):
        raise InvalidFilter(f"the bitmap holds ids outside {kind}", f"{path}.bits")
    return Domain(from_ids(kind, ids))


def _read_bloom(document: dict[str, Any], kind: ValueType, path: str) -> Domain:
    fields = _fields(document, path, required={"type", "bits", "ranges"})
    bits = _at(path + ".bits", lambda: BloomBits.from_spark(_raw(fields["bits"], f"{path}.bits")))
    listed = _listed(fields["ranges"], f"{path}.ranges")
    parts = [_read_range(item, kind, f"{path}.ranges[{i}]") for i, item in enumerate(listed)]
    if not parts:
        raise InvalidFilter("a bloom needs at least one range", f"{path}.ranges")
    return Domain.bloom(kind, bits, union_all(parts))


def _value(item: Any, kind: ValueType, path: str) -> Any:
    """Turn a JSON value into the Python value of the column; what the type cannot hold is refused."""
    if kind.is_float and isinstance(item, str) and item in _FLOAT_WORDS:
        return _FLOAT_WORDS[item]
    if kind.is_decimal:
        item = _decimal(item, path)
    elif kind is BINARY:
        item = _raw(item, path)
    _at(path, lambda: to_axis(kind, item))
    return item


def _decimal(item: Any, path: str) -> decimal.Decimal:
    try:
        if isinstance(item, str) and len(item) <= 64:
            return decimal.Decimal(item)
    except decimal.InvalidOperation:
        pass
    raise InvalidFilter(f"expected a decimal as text, got {_shown(item)}", path)


def _raw(item: Any, path: str) -> bytes:
    if isinstance(item, bytes):
        return item
    try:
        return base64.b64decode(item, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InvalidFilter(f"expected base64 text, got {_shown(item)}", path) from error


def _known_type(name: Any, path: str) -> ValueType:
    if not isinstance(name, str):
        raise InvalidFilter(f"expected the name of a type, got {_shown(name)}", path)
    return _at(path, lambda: value_type(name))


def _fields(document: Any, path: str, required: set[str], optional: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    if not isinstance(document, dict):
        raise InvalidFilter(f"expected an object, got {_shown(document)}", path)
    if missing := required - document.keys():
        raise InvalidFilter("missing", f"{path}.{min(missing)}")
    if extra := document.keys() - required - optional:
        raise InvalidFilter("not a field here", f"{path}.{min(map(str, extra))}")
    return document


def _listed(item: Any, path: str) -> list[Any]:
    if not isinstance(item, list):
        raise InvalidFilter(f"expected a list, got {_shown(item)}", path)
    return item


def _at(path: str, read: Callable[[], T]) -> T:
    """Put the path into an error that a deeper constructor raised."""
    try:
        return read()
    except InvalidFilter as error:
        raise InvalidFilter(str(error), path if not error.path else "") from error


def _shown(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 60 else text[:57] + "..."
