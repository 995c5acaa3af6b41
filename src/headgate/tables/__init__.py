"""Tables in storage, as pruning sees them: files, partitions, row groups and their statistics."""

from headgate.tables.footers import Footer, FooterCache, read_local_tails
from headgate.tables.formats import FORMATS, LayoutCache
from headgate.tables.layout import DataFile, FileStatistics, ListedFiles, Listing, TableLayout
from headgate.tables.parquet import ParquetLayout, layout_from_listing

__all__ = [
    "FORMATS",
    "DataFile",
    "FileStatistics",
    "Footer",
    "FooterCache",
    "LayoutCache",
    "ListedFiles",
    "Listing",
    "ParquetLayout",
    "TableLayout",
    "layout_from_listing",
    "read_local_tails",
]
