"""Carry a domain from the type in which two columns were compared to the type in which one of them is stored.

A join of ``int`` with ``bigint`` compares ``cast(int_column as bigint)``. The domain collected over bigint becomes a
domain over int: values that int cannot hold are dropped, since no stored value casts to them, and ranges are cut to
what int can hold. Only casts that lose nothing have such a domain; for all others there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.domain.arrays import Array, axis_to_floats
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
from headgate.domain.values import Bitmap, Bloom, Discrete, all_values, from_intervals, from_places, is_empty, is_full, no_values

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
    """Return the stored values that cast into the domain, or None where the cast loses something."""
    if domain.type == stored:
        return domain
    if not loses_nothing(stored, domain.type):
        return None
    values = domain.values
    if is_empty(values):
        return Domain(no_values(stored), domain.null_allowed)
    if is_full(values):
        return Domain(all_values(stored), domain.null_allowed)
    if isinstance(values, Discrete | Bitmap):
        places = values.places if isinstance(values, Discrete) else values.ids.ids()
        kept = from_places(stored, _coerce_places(domain.type, stored, places))
        if isinstance(values, Bitmap) and isinstance(kept, Discrete) and stored.fits_bitmap:
            return Domain.bitmap(stored, kept.places, null_allowed=domain.null_allowed)
        return Domain(kept, domain.null_allowed)
    assert not isinstance(values, Bloom) or len(values.held)  # a bloom hashes the compared type: only its span carries over
    return Domain(from_intervals(stored, _coerce_intervals(stored, values.intervals())), domain.null_allowed)


def _is_exact_number(kind: ValueType) -> bool:
    return kind in _WHOLE or kind.is_decimal


def _coerce_places(compared: ValueType, stored: ValueType, places: Array) -> Array:
    if compared.is_float:
        floats = axis_to_floats(places)
        if stored.is_float:
            with np.errstate(over="ignore"):
                same = floats.astype(np.float32).astype(np.float64) == floats
            return places[same | np.isnan(floats)]
        whole = np.isfinite(floats) & (floats == np.floor(floats)) & (floats >= stored.low) & (floats <= stored.high)
        return floats[whole].astype(np.int64)
    step = 10 ** (compared.scale - stored.scale)
    exact = places.astype(object) if compared.axis is Axis.WIDE or step > 2**62 else places
    if step > 1:
        exact = exact[exact % step == 0] // step
    inside = exact[(exact >= stored.low) & (exact <= stored.high)]
    return inside.astype(np.int64 if stored.axis is Axis.ORDINAL else object)


def _coerce_intervals(stored: ValueType, held: Intervals) -> Intervals:
    compared = held.kind
    ends = [_coerce_ends(compared, stored, low, high) for low, high in zip(held.lows.tolist(), held.highs.tolist(), strict=True)]
    dtype: Any = np.int64 if stored.axis is Axis.ORDINAL else object
    kept = [(low, high) for low, high in ends if low <= high]
    lows, highs = (np.array([pair[i] for pair in kept], dtype=dtype) for i in (0, 1))
    return Intervals.merge(stored, lows, highs)


def _coerce_ends(compared: ValueType, stored: ValueType, low: int, high: int) -> tuple[int, int]:
    if compared.is_float and stored.is_float:
        return low, high
    if compared.is_float:
        return _float_ends(stored, low, high)
    step = 10 ** (compared.scale - stored.scale)
    return max(-(-low // step), stored.low), min(high // step, stored.high)


def _float_ends(stored: ValueType, low: int, high: int) -> tuple[int, int]:
    """Clamp float ends to the whole numbers that a small integer type holds, then round inwards."""
    least, most = float_to_axis(float(stored.low)), float_to_axis(float(stored.high))
    if low > most or high < least:
        return 1, 0
    bottom, top = axis_to_float(max(low, least)), axis_to_float(min(high, most))
    return int(np.ceil(bottom)), int(np.floor(top))
