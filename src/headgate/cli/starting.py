"""Start Spark for one command, in silence, and turn what goes wrong into one sentence and exit code 2."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.logger import PySparkLogger
from rich.console import Console

import headgate
from headgate.catalyst.sentences import SPARK_ERRORS, sentence
from headgate.config import check_setting
from headgate.errors import BadInput, HeadgateError

_JAVA = 17
_MASTER = re.compile(r"local(-cluster)?(\[[^]]+\])?|yarn|(spark|k8s)://.+")
_NO_MASTER = "All masters are unresponsive"
_CORE = ("spark.driver.", "spark.executor.", "spark.jars")
_INSTALL = f"install Java {_JAVA} (on Debian or Ubuntu: sudo apt-get install openjdk-{_JAVA}-jre-headless)"

Debug = Annotated[bool, typer.Option(help="Show the full trace of an error, and what Spark says.")]
Master = Annotated[str, typer.Option(help="Where Spark runs, such as local[4] or spark://host:7077.")]
Conf = Annotated[list[str] | None, typer.Option(help="A setting of Spark as key=value; may be given several times.")]


@contextmanager
def one_sentence(*, debug: bool) -> Iterator[None]:
    """Say an error in one sentence on standard error and exit with code 2; with ``debug`` let it through."""
    try:
        yield
    except (HeadgateError, *SPARK_ERRORS) as error:
        if debug:
            raise
        print(f"headgate: {sentence(error)}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        raise typer.Exit(2) from None


def settings_of(items: Sequence[str] | None) -> dict[str, str]:
    """Read settings that were given as key=value."""
    found = {}
    for item in items or []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"--conf {item!r} must be key=value, as in --conf spark.sql.shuffle.partitions=8")
        found[key.strip()] = value
        check_setting(key.strip(), value)
    return found


@contextmanager
def working(what: str, *, debug: bool) -> Iterator[None]:
    """Show on a terminal that the command is at work, and on what."""
    console = Console(stderr=True)
    if debug or not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def spark_session(*, debug: bool, master: str = "", conf: dict[str, str] | None = None) -> AbstractContextManager[Any]:
    """A session for one command; where Spark runs already, one with views of its own, and Spark goes on running."""
    if master and not _MASTER.fullmatch(master):
        raise BadInput(
            f"--master {master!r} is no place where Spark runs; use local[4], spark://host:7077, yarn or k8s://…"
        )
    return _session(master, conf or {}, debug=debug)


@contextmanager
def _session(master: str, conf: dict[str, str], *, debug: bool) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    if (running := SparkSession.getActiveSession()) is not None:
        own = running.newSession()
        for key, value in conf.items():
            if own.conf.isModifiable(key) or not key.startswith(_CORE):  # what Spark started with stays
                own.conf.set(key, value)
        try:
            yield own
        finally:
            headgate.disable(own)
        return
    builder = (
        SparkSession.builder.appName("headgate")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if master:
        builder = builder.master(master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN" if debug else "OFF")
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def started(session: AbstractContextManager[Any], *, debug: bool) -> Iterator[Any]:
    """Start Spark, and keep what its Java process says to itself; with ``debug`` it may speak."""
    _check_java()
    if not debug:  # PySpark logs the whole Java trace of a bad query here
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        if debug:
            yield stack.enter_context(session)
            return
        said = stack.enter_context(tempfile.TemporaryFile())
        before = os.dup(2)
        try:
            os.dup2(said.fileno(), 2)  # the Java process inherits it, and keeps it when it is put back here
            spark = stack.enter_context(session)
        except HeadgateError:
            raise
        except Exception as error:
            said.seek(0)
            raise BadInput(f"Spark did not start: {_last_line(said.read(), error)}; --debug shows all") from error
        finally:
            os.dup2(before, 2)
            os.close(before)
        yield spark


def _last_line(said: bytes, error: Exception) -> str:
    """Return what says most: the first sentence of the error if Spark itself refused, else the last line of Java."""
    lines = said.decode(errors="replace").strip().splitlines() or [str(error)]
    if any(_NO_MASTER in line for line in lines):
        return "no Spark master answers at the address of --master; start it, or give the address of one that runs"
    told = sentence(error) if isinstance(error, SPARK_ERRORS) else lines[-1]
    return told.strip().rstrip(".;")


def _check_java() -> None:
    """Refuse to start without a Java that Spark runs on, which is found the way Spark finds it."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    where = f"JAVA_HOME is {home!r}" if home else f"the java on the PATH is {java!r}"
    if java is None:
        raise BadInput(f"Spark needs Java {_JAVA} or later, but none was found: {_INSTALL}, or set JAVA_HOME")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise BadInput(f"{where}, but {java!r} cannot be run; {_INSTALL} and set JAVA_HOME to it") from error
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is not None and int(found[1]) < _JAVA:
        raise BadInput(f"Spark needs Java {_JAVA} or later, but {where}, which is Java {found[1]}; {_INSTALL}")
