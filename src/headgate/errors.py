"""Name everything that can go wrong in Headgate.

    HeadgateError
    ├── InvalidFilter      (ValueError)    a domain, filter or message that cannot be what it claims to be
    ├── InvalidSetting     (ValueError)    a spark.headgate.* value that is not allowed
    ├── UnsupportedSession (RuntimeError)  a Spark session that Headgate cannot be enabled on
    ├── NotRegistered      (LookupError)   a query, attempt or filter that the coordinator does not know
    ├── CannotListen       (RuntimeError)  an address that the coordinator cannot serve on
    └── BadInput           (ValueError)    a path, table or query that a user gave and that cannot be used

A failure while filtering is not a failure of the query: inside a query these are counted and logged, never raised.
"""

from __future__ import annotations


class HeadgateError(Exception):
    """The base of every error that Headgate raises."""


class InvalidFilter(HeadgateError, ValueError):
    """A domain, filter or message is malformed; ``path`` names the bad field where there is one."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class InvalidSetting(HeadgateError, ValueError):
    """A setting has a value that is not allowed."""


class UnsupportedSession(HeadgateError, RuntimeError):
    """The Spark session has no JVM that Headgate can reach."""


class NotRegistered(HeadgateError, LookupError):
    """The coordinator knows no query, attempt or filter of that name; it may have ended."""


class CannotListen(HeadgateError, RuntimeError):
    """The coordinator cannot serve on the address of the driver."""


class BadInput(HeadgateError, ValueError):
    """A path, table or query given by the user cannot be used."""
