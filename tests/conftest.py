"""Share one Spark session and the hypothesis profiles among all tests.

Spark starts when the first test asks for the `spark` fixture, and not before: a run of tests that need no Spark needs
no Java either. Tests must not stop the session; it ends with the run.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Queries of tests are over before the JVM's second compiler has paid for itself: without it a run takes a third less.
# Nor should it collect all garbage whenever it has loaded more classes. tools/share_classes.py writes the archive; with
# other jars a JVM would complain of it on standard output. The variable reaches programs that tests start.
_FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=512m"
_CLASSES = Path(sys.prefix) / "spark-classes.jsa"
if _CLASSES.exists():
    _FAST_START += f" -XX:SharedArchiveFile={_CLASSES} -Xlog:disable"
os.environ.setdefault("JDK_JAVA_OPTIONS", _FAST_START)

# Spark is made for large data: without these it takes and clears 64 megabytes for each hash table of ten rows, four for
# each broadcast of one, and writes out each plan in full for a page that nobody opens. It keeps the compiled code of a
# hundred parts of queries, and tests have thousands, of which many are alike.
SMALL_DATA: dict[str, bool | float | int | str | None] = {
    "spark.driver.extraJavaOptions": "-Xms1g -Xmn600m",
    "spark.buffer.pageSize": "1m",
    "spark.broadcast.blockSize": "64k",
    "spark.broadcast.compress": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.codegen.cache.maxEntries": "2000",
}

# Tests make many objects that live for a moment, beside the many of Spark, NumPy and Arrow that stay: to look through
# all of them every 700 objects takes longer than it spares.
gc.set_threshold(50_000, 20, 20)

_TAKES_SOME = os.environ.get("HEADGATE_CASES") == "some"
_MANY, _VERY_MANY = 4, 8  # cases of a test

# No deadline: a first call may compile or import. Not derandomized: each run looks at new examples; the printed blob
# repeats a failure.
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=False, print_blob=True)
settings.register_profile("fast", settings.get_profile("ci"), max_examples=25)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what PySpark before 4.2 does in each `collect`: it closes the file of its socket, never the socket."""
    if version("pyspark").startswith(("4.0.", "4.1.")):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning:socket")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test after its parameter where the value is long: its own may differ between processes, or be too long."""
    return argname if isinstance(val, (str, bytes)) and len(val) > 60 else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what asks for the session, so that `-m "not spark"` leaves it out; what starts Spark itself says so."""
    if os.environ.get("HEADGATE_SUITES") != "all":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("thorough")])
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        _sample(config, items)
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


def _sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases: of a test that is marked `sampled(n)` all but every n-th, and in a run of everything more.

    With HEADGATE_CASES=some, a test that asks for Spark runs every second of its cases if there are many, every third
    if there are very many; and so do the tests of a file that is marked `turns(n)`. Which ones, the seed of the run
    says, so that the next run takes others.
    """
    seed, alike = config.getoption("randomly_seed", 0), defaultdict[str, list[pytest.Item]](list)
    for item in items:
        turns = _TAKES_SOME and item.get_closest_marker("turns")
        alike[item.nodeid.split("::" if turns else "[")[0]].append(item)
    kept = set[pytest.Item]()
    for cases in alike.values():
        step = _step(cases)
        kept.update(cases[seed % min(step, len(cases)) :: step])
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _step(cases: list[pytest.Item]) -> int:
    if mark := cases[0].get_closest_marker("sampled") or (_TAKES_SOME and cases[0].get_closest_marker("turns")):
        return int(mark.args[0])
    if not _TAKES_SOME or "spark" not in getattr(cases[0], "fixturenames", ()):
        return 1
    return 3 if len(cases) >= _VERY_MANY else 2 if len(cases) >= _MANY else 1


@pytest.fixture(scope="session", autouse=True)
def _as_wide_as_usual() -> None:
    """Reports are as wide as the terminal; what runs the tests may say that there is a narrow one."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark session of the whole run: two local cores, UTC, quiet. Never stop it inside a test."""
    from pyspark.sql import SparkSession

    from tests.local_files import use_plain_local_files
    from tests.py4j_names import remember_names

    remember_names()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config(map=SMALL_DATA)
        .appName("headgate-tests")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        # queries wait for their filters, however slow the machine is; tests of late filters say otherwise
        .config("spark.headgate.nonBlocking", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    use_plain_local_files(session)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _left_disabled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take Headgate out of the session after each test, whatever happened in it."""
    yield
    if "spark" in request.fixturenames:
        import headgate

        headgate.disable(request.getfixturevalue("spark"))
