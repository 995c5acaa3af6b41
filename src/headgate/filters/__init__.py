"""Filters that arrive: the `DynamicFilter` handle and the merger of partial domains."""

from headgate.filters.dynamic_filter import DynamicFilter, FilterView, Snapshot
from headgate.filters.merger import FilterMerger, within_limits

__all__ = ["DynamicFilter", "FilterMerger", "FilterView", "Snapshot", "within_limits"]
