"""Name the table formats whose files can be narrowed: `FORMATS`, from Spark's name of a format to its layouts.

A format is registered here, and in `TableFormats.java`, which recognises its scans, lists their files and narrows them.
The layouts of recently read tables are cached with their footers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from headgate.errors import InvalidFilter
from headgate.tables.footers import FooterCache, read_local_tails
from headgate.tables.layout import FileReads, Listing, TableLayout
from headgate.tables.orc import OrcFooterCache, orc_layout, read_no_orc
from headgate.tables.parquet import layout_from_listing

LOCAL_READS = FileReads(read_local_tails, read_no_orc)


class KeptLayout(TableLayout, Protocol):
    """A layout that is kept from one query to the next, each of which reads files in its own way."""

    def reading(self, reads: FileReads) -> KeptLayout:
        """Return the same layout, with what is known of it, reading files in another way."""
        ...


@dataclass(frozen=True, slots=True)
class FooterCaches:
    """The footers that all tables share, by format."""

    parquet: FooterCache = field(default_factory=FooterCache)
    orc: OrcFooterCache = field(default_factory=OrcFooterCache)


class MakeLayout(Protocol):
    """Makes the layout of listed files of one format."""

    def __call__(self, listing: Listing, caches: FooterCaches, reads: FileReads, *, case_sensitive: bool) -> KeptLayout:
        """Return the layout."""
        ...


def _parquet(listing: Listing, caches: FooterCaches, reads: FileReads, *, case_sensitive: bool) -> KeptLayout:
    return layout_from_listing(listing, caches.parquet, reads.tails, case_sensitive=case_sensitive)


def _orc(listing: Listing, caches: FooterCaches, reads: FileReads, *, case_sensitive: bool) -> KeptLayout:
    return orc_layout(listing, caches.orc, reads.orc, case_sensitive=case_sensitive)


FORMATS: Mapping[str, MakeLayout] = {"Parquet": _parquet, "ORC": _orc}


class LayoutCache:
    """The layouts of recently read tables, with their footers. Thread-safe.

    The key is the listing, which names each file with its size and time, so a changed file makes another key.
    """

    def __init__(self, max_tables: int = 64) -> None:
        self._caches = FooterCaches()
        self._max_tables, self._lock = max_tables, Lock()
        self._layouts: OrderedDict[tuple[str, bytes, bool], KeptLayout] = OrderedDict()

    def get(
        self, listing: Listing, reads: FileReads = LOCAL_READS, *, format: str = "Parquet", case_sensitive: bool
    ) -> TableLayout:
        """Return the layout of a listing."""
        if (make := FORMATS.get(format)) is None:
            raise InvalidFilter(f"files of format {format!r} cannot be narrowed; expected one of {', '.join(FORMATS)}")
        key = (format, listing.text, case_sensitive)
        with self._lock:
            if key not in self._layouts:
                self._layouts[key] = make(listing, self._caches, reads, case_sensitive=case_sensitive)
            self._layouts.move_to_end(key)
            while len(self._layouts) > self._max_tables:
                self._layouts.popitem(last=False)
            return self._layouts[key].reading(reads)
