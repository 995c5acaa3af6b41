"""Carry a domain from the type in which a column is stored to the wider type in which it is compared.

The opposite of `headgate.domain.coerce`: every stored value has its own value in the wider type, so a set stays a set.
"""

from __future__ import annotations

import numpy as np

from headgate.domain.arrays import Array, axis_to_floats, floats_to_axis
from headgate.domain.bitmap import IdBitmap
from headgate.domain.coerce import loses_nothing
from headgate.domain.domain import Domain
from headgate.domain.intervals import Intervals
from headgate.domain.types import Axis, ValueType
from headgate.domain.values import (
    Bitmap,
    Discrete,
    all_values,
    from_ids,
    from_intervals,
    from_places,
    is_empty,
    is_full,
    no_values,
)


def widen(domain: Domain, compared: ValueType) -> Domain | None:
    """Return the domain over the compared type, or None if the cast is lossy."""
    stored = domain.type
    if stored == compared:
        return domain
    if not loses_nothing(stored, compared):
        return None
    values = domain.values
    if is_empty(values):
        return Domain(no_values(compared), domain.null_allowed)
    if is_full(values):
        return Domain(all_values(compared), domain.null_allowed)
    if isinstance(values, Discrete | Bitmap):
        places = values.places if isinstance(values, Discrete) else values.ids.ids()
        wide = _widened(stored, compared, places)
        if isinstance(values, Bitmap) and compared.fits_bitmap:
            return Domain(from_ids(compared, IdBitmap.of(wide)), domain.null_allowed)
        return Domain(from_places(compared, wide), domain.null_allowed)
    narrow = values.intervals()
    ranges = Intervals.merge(
        compared, _widened(stored, compared, narrow.lows), _widened(stored, compared, narrow.highs)
    )
    return Domain(from_intervals(compared, ranges), domain.null_allowed)


def _widened(stored: ValueType, compared: ValueType, places: Array) -> Array:
    if compared.is_float:
        numbers = axis_to_floats(stored, places) if stored.is_float else places.astype(np.float64)
        return floats_to_axis(compared, numbers)
    factor = 10 ** (compared.scale - stored.scale)
    wide: Array = (places.astype(object) * factor).astype(np.int64 if compared.axis is Axis.ORDINAL else object)
    return wide
