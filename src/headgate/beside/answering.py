"""Headgate beside a Connect server: a process that the server starts for one session, and that answers its commands.

It has a classic face over the client's session, enables Headgate in it, and ends when its standard input does: when
the session closes, or the server dies.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

from headgate.api import disable, enable, gate_of
from headgate.catalyst.compiler import compiled, keeps_classes
from headgate.catalyst.sentences import sentence
from headgate.errors import BadInput
from headgate.observe import explain_text


def main() -> None:
    """Connect with the server, answer until it ends, and put the session back."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    answering = Answering(gateway)
    gateway.entry_point.ready(answering)
    sys.stdin.buffer.read()
    answering.end()
    os._exit(0)  # threads of py4j would keep the process alive


class Answering:
    """Answers commands as ``ok <what it gave>`` or ``failed <sentence>``; any other word is refused."""

    def __init__(self, gateway: Any) -> None:
        self._server = gateway
        self._session: Any = None
        self._commands: dict[str, Callable[[str], str]] = {
            "ping": lambda _: "",
            "enable": self._enable,
            "report": lambda _: self._encoded(self._gate().report()),
            "reports": lambda _: self._encoded(list(self._gate().reports)),
            "explain": self._explain,
            "page": lambda _: str(self._gate().page_url),
            "disable": self._disable,
        }

    def apply(self, command: str) -> str:
        """Answer one command; called by the server."""
        verb, _, argument = command.partition(" ")
        try:
            known = self._commands.get(verb)
            if known is None:
                return f"failed {verb[:60]!r} is not a command; the commands are {', '.join(self._commands)}"
            return f"ok {known(argument)}".rstrip()
        except Exception as error:  # noqa: BLE001 - the client is told, in a sentence
            return f"failed {sentence(error)}"

    def end(self) -> None:
        """Put the session back, where it is still there."""
        with suppress(Exception):
            self._disable("")

    def _spark(self, **options: Any) -> Any:
        """Return the client's session with a classic face; options are those that it is enabled with."""
        if self._session is None:
            entry = self._server.entry_point
            java = entry.context()
            SparkContext._ensure_initialized(gateway=self._server)
            context = SparkContext(gateway=self._server, jsc=java, conf=SparkConf(_jconf=java.getConf()))
            session = SparkSession(context, entry.session())
            compiled(context, entry.loader(), keep=keeps_classes(session, options))
            self._session = session
        return self._session

    def _enable(self, argument: str) -> str:
        options = msgspec.json.decode(argument or "{}", type=dict[str, Any])
        enable(self._spark(**options), **options)
        return ""

    def _gate(self) -> Any:
        gate = gate_of(self._spark())
        if gate is None:
            raise BadInput("Headgate is not enabled in this session; call headgate.enable(spark)")
        return gate

    def _explain(self, argument: str) -> str:
        root, report = self._gate().explain(self._spark().table(msgspec.json.decode(argument, type=str)))
        return explain_text(root, report)

    def _disable(self, _: str) -> str:
        if self._session is not None:
            disable(self._session)
        return ""

    @staticmethod
    def _encoded(value: object) -> str:
        return msgspec.json.encode(value).decode()

    class Java:  # noqa: D106 - for py4j
        implements = ["scala.Function1"]  # noqa: RUF012 - py4j looks for a list
