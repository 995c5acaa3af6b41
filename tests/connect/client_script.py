"""A Connect client that tries Headgate against a server, and prints what it saw as JSON.

Usage: python client_script.py ADDRESS FOLDER SERVER, where SERVER is the server's process. It runs in a process of its
own, since a process has classic sessions or sessions of Spark Connect.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

import headgate
from headgate.errors import HeadgateError

QUERY = "select count(*) n, sum(v) s from fact f join dim d on f.k = d.k where d.n = 'n7' and d.k < 500"
LARGE = "select count(*) n, sum(f.v) s from fact f join (select * from middle where m % 50 = 3) d on f.k = d.k"


def session(address: str, folder: Path) -> Any:
    made = SparkSession.builder.remote(address).create()
    for name in ("fact", "dim", "middle"):
        path = str(folder / name)
        if not (folder / name / "_SUCCESS").exists():
            {"fact": _fact, "dim": _dim, "middle": _middle}[name](made).write.parquet(path)
        made.read.parquet(path).createOrReplaceTempView(name)
    return made


def _fact(spark: Any) -> Any:
    rows = spark.range(0, 200_000, 1, 4).selectExpr("cast(id / 100 as bigint) k", "cast(id % 97 as double) v")
    return rows.repartitionByRange(8, "k")


def _dim(spark: Any) -> Any:
    return spark.range(2000).selectExpr("id k", "concat('n', id % 50) n")


def _middle(spark: Any) -> Any:
    return spark.range(2000).selectExpr("id k", "cast(id / 4 as bigint) m")


def sentence_of(work: Callable[[], object]) -> str:
    """Return what a call says when it is refused."""
    try:
        work()
    except HeadgateError as error:
        return str(error)
    return "it was not refused"


def filtered(spark: Any, query: str, expected: Any) -> dict[str, Any]:
    """Run a query, compare its rows, and return what its report says of the fact table."""
    same = spark.sql(query).collect() == expected
    report = headgate.report(spark)
    (fact,) = [scan for scan in report.scans if scan.table.endswith("fact")]
    states = sorted({str(found.state) for found in report.filters if found.id in fact.filters})
    read = [fact.files_read, fact.files_total]
    return {"same": same, "files": read, "states": states, "failures": report.failures}


def python_beside() -> list[int]:
    """Return the processes of Headgate beside this server; another test may have one of its own."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):
            if folder.name.isdigit() and b"headgate_start" in (folder / "cmdline").read_bytes():
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                found += [int(folder.name)] if parent == sys.argv[3] else []
    return found


def until(happened: Callable[[], bool]) -> bool:
    """Wait for something that another process does, and for which there is no event."""
    deadline = time.monotonic() + 60
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.1)
    return happened()


class Forbidding(grpc.GenericRpcHandler):
    """A Connect server in front of another, which takes all calls but artifacts."""

    def __init__(self, behind: str) -> None:
        self._channel = grpc.insecure_channel(behind)

    def service(self, details: Any) -> Any:
        def answer(messages: Any, context: Any) -> Any:
            if details.method.endswith("/AddArtifacts"):
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "artifacts are not allowed here")
            call = self._channel.stream_stream(details.method)(messages, metadata=details.invocation_metadata)
            yield from call

        return grpc.stream_stream_rpc_method_handler(answer)


@contextlib.contextmanager
def forbidding_artifacts(address: str) -> Iterator[str]:
    """Where a server listens that forbids artifacts."""
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((Forbidding(address.removeprefix("sc://").partition("/")[0]),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def cloned(original: Any, expected: Any) -> list[Any]:
    """What a copy of an enabled session gives: its rows, and what it says of Headgate."""
    if not hasattr(original, "cloneSession"):
        return [True, "this Spark cannot do it"]
    twin = original.cloneSession()
    twin.release_session_on_close = True  # which PySpark 4.2 forgets, and then cannot stop it
    try:
        same = twin.sql(QUERY).collect() == expected
        return [same, headgate.report(twin).note, sentence_of(lambda: headgate.enable(twin))]
    finally:
        twin.stop()


def main() -> None:
    address, folder = sys.argv[1], Path(sys.argv[2])
    told: dict[str, Any] = {}
    a, b = session(address, folder), session(address, folder)
    small, large = a.sql(QUERY).collect(), a.sql(LARGE).collect()
    gate = headgate.enable(a, strategy="always", non_blocking=False)
    told["batch"] = filtered(a, QUERY, small)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        headgate.explain(a.sql(QUERY))
    told["explained"] = printed.getvalue()
    told["page"] = gate.page_url
    told["left in the settings"] = a.conf.get("spark.headgate.connect.answer", "nothing")
    told["shown"] = [repr(gate), repr(gate.reports[-1])]
    told["views"] = [table.name for table in a.catalog.listTables()]
    told["other session"] = "HeadgateScan" in _plan(b) or "Pruned" in _plan(b)
    headgate.enable(b, strategy="always", max_wait="0s", non_blocking=True)
    told["late"] = filtered(b, LARGE, large)
    told["unknown command"] = sentence_of(lambda: gate._ask("eval 1 + 1"))
    told["bad setting"] = sentence_of(lambda: headgate.enable(a, strategy="fast"))
    told["publish"] = sentence_of(lambda: headgate.publish(a.table("fact"), "k"))
    told["cloned"] = cloned(a, small)
    headgate.disable(a)
    told["disabled"] = [a.sql(QUERY).collect() == small, headgate.report(a).note]
    headgate.enable(a, strategy="always", non_blocking=False)
    told["enabled again"] = filtered(a, QUERY, small)

    before = python_beside()
    a.stop()
    headgate.disable(a)  # a session that has ended is left alone
    told["closed"] = until(lambda: len(python_beside()) == len(before) - 1)
    told["the other goes on"] = filtered(b, QUERY, small)["same"]
    for process in python_beside():
        os.kill(process, signal.SIGKILL)
    until(lambda: not python_beside())
    told["killed"] = b.sql(QUERY).collect() == small
    told["killed, asked"] = sentence_of(lambda: headgate.report(b))
    told["killed, enabled again"] = sentence_of(lambda: headgate.enable(b)) == "it was not refused"

    c = session(address, folder)
    c.conf.set("spark.headgate.connect.python", str(folder / "nowhere"))
    told["no python"] = sentence_of(lambda: headgate.enable(c))
    bare = folder / "bare_python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    c.conf.set("spark.headgate.connect.python", str(bare))
    told["no packages"] = sentence_of(lambda: headgate.enable(c))
    told["still answers"] = c.sql(QUERY).collect() == small
    with forbidding_artifacts(address) as guarded:
        d = session(guarded, folder)
        told["no artifacts"] = [sentence_of(lambda: headgate.enable(d)), d.sql(QUERY).collect() == small]
        d.stop()
    b.stop()
    c.stop()
    sys.stdout.write(json.dumps(told))


def _plan(spark: Any) -> str:
    return str(spark.sql(QUERY)._explain_string())


if __name__ == "__main__":
    main()
