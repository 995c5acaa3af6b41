"""Tables in storage, as pruning sees them: files, partitions, row groups or stripes, and their statistics."""

from headgate.tables.footers import Footer, FooterCache, read_local_tails
from headgate.tables.formats import FORMATS, LayoutCache
from headgate.tables.layout import DataFile, FileReads, FileStatistics, ListedFiles, Listing, OrcFooter, TableLayout
from headgate.tables.orc import OrcFooterCache, OrcLayout, orc_layout
from headgate.tables.parquet import ParquetLayout, layout_from_listing

__all__ = [
    "FORMATS",
    "DataFile",
    "FileReads",
    "FileStatistics",
    "Footer",
    "FooterCache",
    "LayoutCache",
    "ListedFiles",
    "Listing",
    "OrcFooter",
    "OrcFooterCache",
    "OrcLayout",
    "ParquetLayout",
    "TableLayout",
    "layout_from_listing",
    "orc_layout",
    "read_local_tails",
]
