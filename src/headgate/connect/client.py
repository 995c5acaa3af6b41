"""Ask Headgate beside a Connect server, one fixed command at a time: `ConnectGate`.

A command travels in a setting of the session. Registering a Java function makes the server construct the bootstrap
class inside this session; it takes the command, and leaves the answer in another setting. Nothing that is sent is
evaluated as code.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any
from uuid import uuid4

import msgspec

from headgate.config import checked
from headgate.connect.package import bootstrap_jar, package_archive
from headgate.errors import HeadgateError, UnsupportedSession
from headgate.observe import QueryReport, QueryReports

_COMMAND, _ANSWER = "spark.headgate.connect.command", "spark.headgate.connect.answer"
_FUNCTION, _CLASS = "headgate_connect", "headgateconnect.Bootstrap"


def is_connect(spark: Any) -> bool:
    """Whether a session, or a DataFrame, is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


class ConnectGate:
    """Headgate in one session of a Connect server: made by `headgate.enable`, closed by `headgate.disable`."""

    def __init__(self, spark: Any, options: Mapping[str, Any]) -> None:
        texts = {name: checked(name, value) for name, value in options.items()}
        self._spark, self._lock = spark, Lock()
        self.is_closed = False
        _upload(spark)
        self._ask(f"start {spark.session_id} {package_archive().name}")
        self._ask("enable", texts)

    def configure(self, **options: Any) -> None:
        """Change settings of the session."""
        self._ask("enable", {name: checked(name, value) for name, value in options.items()})

    def report(self) -> QueryReport:
        """Return the report of the last query of the session."""
        return msgspec.json.decode(self._ask("report"), type=QueryReport)

    @property
    def reports(self) -> QueryReports:
        """The reports of the last queries, oldest first."""
        return QueryReports(msgspec.json.decode(self._ask("reports"), type=list[QueryReport]))

    @property
    def page_url(self) -> str:
        """Where a browser that reaches the server finds the page; the address holds a secret token."""
        return self._ask("page")

    def explain(self, frame: Any) -> str:
        """Return the plan of a DataFrame with its dynamic filters, as text."""
        view = f"headgate_{uuid4().hex}"
        frame.createTempView(view)
        try:
            return self._ask("explain", view)
        finally:
            self._spark.catalog.dropTempView(view)

    def close(self) -> None:
        """Take Headgate out of the session; its process beside the server ends with the session."""
        if not self.is_closed:
            self.is_closed = True
            with suppress(Exception):  # the session, the process or the server may be gone, and Headgate with it
                self._ask("disable")

    def __repr__(self) -> str:
        """Return one line for a shell."""
        return f"<ConnectGate of {self._spark.session_id}: {'closed' if self.is_closed else 'open'}>"

    def _ask(self, command: str, argument: object = None) -> str:
        """Send a command and return what it gave; what goes wrong on the server is told in its sentence."""
        text = command if argument is None else f"{command} {msgspec.json.encode(argument).decode()}"
        with self._lock:  # one setting carries the answer
            self._spark.conf.set(_COMMAND, b64encode(text.encode()).decode())
            try:
                self._spark.udf.registerJavaFunction(_FUNCTION, _CLASS, "string")
            except Exception as error:
                raise UnsupportedSession(_refused(error)) from error
            answer = b64decode(str(self._spark.conf.get(_ANSWER))).decode()
            self._spark.conf.unset(_ANSWER)  # Spark logs the settings of a session, and this may hold a token
        state, _, body = answer.partition(" ")
        if state != "ok":
            raise HeadgateError(f"Headgate beside the Connect server failed: {body}")
        return body


def _upload(spark: Any) -> None:
    try:
        spark.addArtifacts(str(package_archive()), pyfile=True)
        spark.addArtifacts(str(bootstrap_jar()))
    except Exception as error:
        raise UnsupportedSession(_refused(error)) from error


def _refused(error: Exception) -> str:
    said = str(error).strip()
    # gRPC reports a call that was refused on many lines; one of them has what the server said
    details = re.search(r'details = "(.+)"', said)
    first = (details[1] if details else said.splitlines()[0] if said else type(error).__name__)[:300]
    return (
        f"this Spark Connect server does not let a session bring a jar with a Java function: {first}; ask whoever runs "
        "it, or use a classic session (SparkSession.builder.master(...))"
    )
