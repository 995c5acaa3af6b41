"""Carry a domain from the type in which two columns were compared to the type in which one of them is stored.

A join of ``int`` with ``bigint`` compares ``cast(int_column as bigint)``. The domain collected over bigint becomes a
domain over int: values that int cannot hold are dropped, since no stored value casts to them, and ranges are cut to
what int can hold. Only lossless casts have such a domain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headgate.domain.arrays import Array, axis_to_floats, floats_to_axis
from headgate.domain.bitmap import IdBitmap
from headgate.domain.domain import Domain
from headgate.domain.intervals import Intervals
from headgate.domain.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    Axis,
    ValueType,
    axis_to_float,
    float_to_axis,
)
from headgate.domain.values import (
    Bitmap,
    Discrete,
    ValueSet,
    all_values,
    from_ids,
    from_intervals,
    from_places,
    is_empty,
    is_full,
    no_values,
)

_WHOLE = (TINYINT, SMALLINT, INT, BIGINT)


def loses_nothing(stored: ValueType, compared: ValueType) -> bool:
    """Whether every stored value has its own value in the type that is compared, in the same order."""
    if stored == compared:
        return True
    if _is_exact_number(stored) and _is_exact_number(compared):
        shift = compared.scale - stored.scale
        return shift >= 0 and stored.high * 10**shift <= compared.high and stored.low * 10**shift >= compared.low
    if compared is DOUBLE:
        return stored in (FLOAT, TINYINT, SMALLINT, INT)
    return compared is FLOAT and stored in (TINYINT, SMALLINT)


def coerce(domain: Domain, stored: ValueType) -> Domain | None:
    """Return the stored values that cast into the domain, or None if the cast is lossy.

    A bloom hashes values of the compared type, so only its span carries over.
    """
    if domain.type == stored:
        return domain
    if not loses_nothing(stored, domain.type):
        return None
    return Domain(_coerce_values(domain.values, stored), domain.null_allowed)


def _coerce_values(values: ValueSet, stored: ValueType) -> ValueSet:
    if is_empty(values):
        return no_values(stored)
    if is_full(values):
        return all_values(stored)
    if isinstance(values, Discrete):
        return from_places(stored, _coerce_places(values.type, stored, values.places))
    if isinstance(values, Bitmap):
        places = _coerce_places(values.type, stored, values.ids.ids())
        return from_ids(stored, IdBitmap.of(places)) if stored.fits_bitmap else from_places(stored, places)
    return from_intervals(stored, _coerce_intervals(stored, values.intervals()))


def _is_exact_number(type: ValueType) -> bool:
    return type in _WHOLE or type.is_decimal


def _coerce_places(compared: ValueType, stored: ValueType, places: Array) -> Array:
    if compared.is_float:
        return _float_places(compared, stored, places)
    step = 10 ** (compared.scale - stored.scale)
    exact = places.astype(object) if compared.axis is Axis.WIDE or step > 2**62 else places
    if step > 1:
        exact = exact[np.asarray(exact % step == 0, dtype=bool)] // step
    inside: Array = exact[np.asarray((exact >= stored.low) & (exact <= stored.high), dtype=bool)]
    return inside.astype(np.int64 if stored.axis is Axis.ORDINAL else object)


def _float_places(compared: ValueType, stored: ValueType, places: Array) -> Array:
    floats = axis_to_floats(compared, places)
    if stored.is_float:
        with np.errstate(over="ignore"):
            narrow = floats.astype(np.float32)
        return floats_to_axis(stored, narrow[(narrow == floats) | np.isnan(floats)])
    whole = np.isfinite(floats) & (floats == np.floor(floats)) & (floats >= stored.low) & (floats <= stored.high)
    inside: Array = floats[whole]
    return inside.astype(np.int64)


def _coerce_intervals(stored: ValueType, ranges: Intervals) -> Intervals:
    pairs = zip(ranges.lows.tolist(), ranges.highs.tolist(), strict=True)
    ends = [_coerce_ends(ranges.type, stored, low, high) for low, high in pairs]
    dtype: Any = np.int64 if stored.axis is Axis.ORDINAL else object
    kept = [(low, high) for low, high in ends if low <= high]
    lows, highs = (np.array([pair[i] for pair in kept], dtype=dtype) for i in (0, 1))
    return Intervals.merge(stored, lows, highs)


def _coerce_ends(compared: ValueType, stored: ValueType, low: int, high: int) -> tuple[int, int]:
    """Round the ends inwards to values of the stored type; an empty interval comes back with low above high."""
    if compared.is_float and stored.is_float:
        return _nearest_float(low, +1), _nearest_float(high, -1)
    if compared.is_float:
        return _whole_ends(compared, stored, low, high)
    step = 10 ** (compared.scale - stored.scale)
    return max(-(-low // step), stored.low), min(high // step, stored.high)


def _nearest_float(place: int, direction: int) -> int:
    """Return the ordinal of a double as a float, or of the next float in a direction if it is not one."""
    value = axis_to_float(DOUBLE, place)
    with np.errstate(over="ignore"):
        narrow = float(np.float32(value))
    passed = narrow < value if direction > 0 else narrow > value
    return float_to_axis(FLOAT, narrow) + (direction if passed else 0)


def _whole_ends(compared: ValueType, stored: ValueType, low: int, high: int) -> tuple[int, int]:
    """Clamp float ends to the whole numbers that a small integer type holds, then round inwards."""
    least, most = float_to_axis(compared, float(stored.low)), float_to_axis(compared, float(stored.high))
    if low > most or high < least:
        return 1, 0
    bottom, top = axis_to_float(compared, max(low, least)), axis_to_float(compared, min(high, most))
    return math.ceil(bottom), math.floor(top)
