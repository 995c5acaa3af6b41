"""Name the table formats whose files can be narrowed: `FORMATS`, from Spark's name of a format to its layouts.

A format is registered here, and in `TableFormats.java`, which recognises its scans, lists their files and narrows them.
The layouts of recently read tables are cached with their footers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Protocol

from headgate.errors import InvalidFilter
from headgate.tables.footers import FooterCache, read_local_tails
from headgate.tables.layout import Listing, ReadTails, TableLayout
from headgate.tables.parquet import layout_from_listing


class KeptLayout(TableLayout, Protocol):
    """A layout that is kept from one query to the next, each of which reads files in its own way."""

    def reading(self, read_tails: ReadTails) -> KeptLayout:
        """Return the same layout, with what is known of it, reading the ends of files in another way."""
        ...


class MakeLayout(Protocol):
    """Makes the layout of listed files of one format."""

    def __call__(
        self, listing: Listing, footers: FooterCache, read_tails: ReadTails, *, case_sensitive: bool
    ) -> KeptLayout:
        """Return the layout."""
        ...


FORMATS: Mapping[str, MakeLayout] = {"Parquet": layout_from_listing}


class LayoutCache:
    """The layouts of recently read tables, with their footers. Thread-safe.

    The key is the listing, which names each file with its size and time, so a changed file makes another key.
    """

    def __init__(self, max_tables: int = 64) -> None:
        self.footers = FooterCache()
        self._max_tables, self._lock = max_tables, Lock()
        self._layouts: OrderedDict[tuple[str, bytes, bool], KeptLayout] = OrderedDict()

    def get(
        self,
        listing: Listing,
        read_tails: ReadTails = read_local_tails,
        *,
        format: str = "Parquet",
        case_sensitive: bool,
    ) -> TableLayout:
        """Return the layout of a listing."""
        if (make := FORMATS.get(format)) is None:
            raise InvalidFilter(f"files of format {format!r} cannot be narrowed; expected one of {', '.join(FORMATS)}")
        key = (format, listing.text, case_sensitive)
        with self._lock:
            if key not in self._layouts:
                self._layouts[key] = make(listing, self.footers, read_tails, case_sensitive=case_sensitive)
            self._layouts.move_to_end(key)
            while len(self._layouts) > self._max_tables:
                self._layouts.popitem(last=False)
            return self._layouts[key].reading(read_tails)
