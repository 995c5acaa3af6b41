"""Filters that arrive over time: `DynamicFilter`, the merger of partial domains, and several filters as one set."""

from headgate.filters.column_filter import ColumnFilter
from headgate.filters.dynamic_filter import DynamicFilter, FilterView, Snapshot
from headgate.filters.filter_set import FilterSet, News
from headgate.filters.merger import FilterMerger, within_limits

__all__ = [
    "ColumnFilter",
    "DynamicFilter",
    "FilterMerger",
    "FilterSet",
    "FilterView",
    "News",
    "Snapshot",
    "within_limits",
]
