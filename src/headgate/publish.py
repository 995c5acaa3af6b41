"""Publish values of your own to a DataFrame's column: `Publisher`, made by `headgate.publish`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from pyspark.sql import DataFrame

from headgate.domain import Domain, value_type
from headgate.errors import InvalidFilter
from headgate.filters.publications import Publication, announce
from headgate.observe import QueryReport
from headgate.session import Gate

_numbers = count(1)


class Publisher:
    """Which values of one column still matter; ``frame`` is the DataFrame that reads only what may hold them.

    What is published is a promise: no query of ``frame`` needs a row whose column has another value. Such rows may be
    left out, and need not be; rows with the published values never are. Publishing again narrows further, also while
    queries run. Without a single call ``frame`` has all rows, and so has a query that is planned after Headgate is
    disabled.
    """

    def __init__(self, gate: Gate, df: DataFrame, column: str, *, rows: bool = True) -> None:
        position, type_name = _find(df, column)
        self.column, self._gate = column, gate
        self._filter = Publication(f"{column}-{next(_numbers)}", value_type(type_name), tests_rows=rows)
        announce(self._filter)
        self.frame: DataFrame = gate.published(df, position, self._filter.id)

    @property
    def domain(self) -> Domain:
        """The values that matter, as they were published by now."""
        return self._filter.domain()

    def narrow(self, values: Domain | Iterable[Any] | None = None, *, low: Any = None, high: Any = None) -> None:
        """Publish that only these values matter, or those from ``low`` to ``high``; more may be said later."""
        self._filter.narrow_to(self._domain(values, low, high))

    def complete(self, values: Domain | Iterable[Any] | None = None, *, low: Any = None, high: Any = None) -> None:
        """Publish for the last time; without values, what was published before is the last word."""
        if values is None and low is None and high is None:
            self._filter.complete()
        else:
            self._filter.complete_with(self._domain(values, low, high))

    def start_over(self) -> None:
        """Forget what was published: queries of ``frame`` that are planned from now on have all rows again.

        A query that is planned already keeps what it knows.
        """
        before = self._filter
        self._filter = Publication(before.id, before.type, tests_rows=before.tests_rows)
        announce(self._filter)

    def report(self) -> QueryReport | None:
        """Return the report of the last query of ``frame``, or None if there is none: it may have been long ago."""
        return self._gate.queries.report_on(self._filter.id)

    def _domain(self, values: Domain | Iterable[Any] | None, low: Any, high: Any) -> Domain:
        if isinstance(values, Domain):
            if values.type != self._filter.type:
                raise InvalidFilter(f"column {self.column!r} is {self._filter.type}, but the domain is {values.type}")
            return values
        if (values is None) == (low is None and high is None):
            raise InvalidFilter("give either values, or a range with low, high or both")
        if values is None:
            return Domain.range(self._filter.type, low, high)
        if isinstance(values, str | bytes):
            raise InvalidFilter(f"values={values!r} is one value; give a list of values, such as [{values!r}]")
        listed = list(values)
        known = [value for value in listed if value is not None]
        return Domain.of(self._filter.type, known, null_allowed=len(known) < len(listed))

    def __repr__(self) -> str:
        return f"Publisher({self.column!r}, {self._filter.domain()!r})"


def _find(df: DataFrame, column: str) -> tuple[int, str]:
    """Return where a column stands, and its type; refuse what is no column, or more than one."""
    dtypes = df.dtypes
    found = [i for i, (name, _) in enumerate(dtypes) if name == column]
    if not found:
        found = [i for i, (name, _) in enumerate(dtypes) if name.lower() == column.lower()]
    if len(found) != 1:
        names = ", ".join(name for name, _ in dtypes)
        what = "no column" if not found else f"{len(found)} columns"
        raise InvalidFilter(f"the DataFrame has {what} {column!r}; its columns are {names}")
    return found[0], dtypes[found[0]][1]
