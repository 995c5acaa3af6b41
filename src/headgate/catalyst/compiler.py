"""Compile Headgate's few Java classes with Spark's own compiler, and hand them to the driver and the executors.

No jar is shipped and no build step is needed: Spark carries the Janino compiler. The classes are compiled into a jar,
which is kept for the next program with the same Spark; it goes to executors the way ``SparkContext.addJar`` sends it.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError

from headgate.catalyst.class_cache import cache_folder, cache_key, keep_jar, kept_jar
from headgate.config import key_of, read_settings
from headgate.errors import UnsupportedSession

_RESOURCE = "org.codehaus.commons.compiler.util.resource"
_STAMP = "headgate/SOURCES"
CLASS_CACHE = key_of("class_cache")
_lock = Lock()
_loaded: dict[str, JavaClasses] = {}


class JavaClasses:
    """The compiled classes, found by name."""

    def __init__(self, jvm: Any, loader: JavaObject) -> None:
        # by its whole name at once: py4j asks for a class called `java` first, which takes a search through every jar
        self._new_list, self._loader = getattr(jvm, "java.util.ArrayList"), loader
        self._constructors: dict[str, JavaObject] = {}
        self._methods: dict[tuple[str, str], JavaObject] = {}

    def listed(self, items: Iterable[Any]) -> Any:
        """Return a Java list; a py4j array cannot hold a Python proxy, and a list can."""
        packed = self._new_list()
        for item in items:
            packed.add(item)
        return packed

    def new(self, name: str, *arguments: Any) -> JavaObject:
        """Make an instance of ``headgate.<name>``, such as ``plan.GateRule``, with its only constructor."""
        if name not in self._constructors:
            self._constructors[name] = self._loader.loadClass(f"headgate.{name}").getConstructors()[0]
        return self._constructors[name].newInstance(self.listed(arguments).toArray())

    def call(self, name: str, method: str, *arguments: Any) -> Any:
        """Call a static method of ``headgate.<name>``, such as ``plan.Marks``."""
        if (name, method) not in self._methods:
            methods = self._loader.loadClass(f"headgate.{name}").getMethods()
            self._methods[name, method] = next(found for found in methods if found.getName() == method)
        return self._methods[name, method].invoke(None, self.listed(arguments).toArray())


def texts(items: JavaObject) -> list[str]:
    """Return the items of a Java list as texts.

    By number, since py4j's iterators end with an exception, which PySpark examines at length.
    """
    return [str(items.get(i)) for i in range(items.size())]


def compiled(context: Any, loader: JavaObject | None = None, *, keep: bool = True) -> JavaClasses:
    """Return the classes for this SparkContext, compiling them the first time.

    ``keep`` uses what an earlier program has compiled, and keeps what is compiled now for the next. The classes go into
    this thread's class loader unless another is given: in a Connect server, threads have that of a session, and results
    of tasks are resolved in the server's. What another session has put there is used again.
    """
    key = context.applicationId
    with _lock:
        if key not in _loaded:
            _loaded.clear()  # a stopped context never comes back
            found = None if loader is None else _found(context, loader)
            _loaded[key] = found or _load(context, loader, keep=keep)
        return _loaded[key]


def _found(context: Any, loader: JavaObject) -> JavaClasses | None:
    """Return the classes that another session brought; refuse those of another version."""
    stamp = loader.getResource(_STAMP)
    if stamp is None:
        return None
    jar = Path(str(stamp.getPath()).removeprefix("file:").partition("!")[0])
    with zipfile.ZipFile(jar) as archive:
        if archive.read(_STAMP).decode() != _hash(java_sources()):
            raise UnsupportedSession(
                "another version of Headgate is at work in this Spark application already; use that version, or "
                "restart the application"
            )
    context._jsc.addJar(str(jar))  # executors keep the jars of each session apart
    return JavaClasses(context._jvm, loader)


def classes_of(frame: Any) -> JavaClasses:
    """Return the compiled classes of the session that a DataFrame belongs to."""
    return compiled(frame.sparkSession.sparkContext)


def java_sources() -> dict[str, str]:
    """Return the sources of the classes by room and name: ``plan/GateRule``."""
    folder = resources.files("headgate.catalyst") / "java"
    files = [(room.name, file) for room in folder.iterdir() if room.is_dir() for file in room.iterdir()]
    sources = {f"{room}/{Path(file.name).stem}": file for room, file in files if file.name.endswith(".java")}
    return {name: file.read_text() for name, file in sources.items() if not name.endswith("/package-info")}


def _hash(sources: dict[str, str]) -> str:
    joined = "\0".join(f"{name}\0{text}" for name, text in sorted(sources.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


def keeps_classes(spark: Any, asked: Mapping[str, Any]) -> bool:
    """Whether compiled classes may be kept: as the options that a session is enabled with say, or else its settings."""
    found = {key_of(name): str(value) for name, value in asked.items()}
    return read_settings({CLASS_CACHE: spark.conf.get(CLASS_CACHE, "true"), **found}).class_cache


def _load(context: Any, loader: JavaObject | None, *, keep: bool) -> JavaClasses:
    jvm, sources = context._jvm, java_sources()
    home = Path(tempfile.mkdtemp(prefix="headgate-", dir=context._temp_dir))
    loader = loader or jvm.java.lang.Thread.currentThread().getContextClassLoader()
    jar = home / f"{home.name}.jar"  # executors refuse a second file of one name
    jar.write_bytes(_jar(context, sources, home, loader, keep=keep))
    context._jsc.addJar(str(jar))
    loader.addURL(getattr(jvm, "java.io.File")(str(jar)).toURI().toURL())
    return JavaClasses(jvm, loader)


def _jar(context: Any, sources: dict[str, str], home: Path, loader: JavaObject, *, keep: bool) -> bytes:
    """Return the jar of the classes, as an earlier program has kept it, or compiled now."""
    key = _cache_key(context._jvm, sources) if keep else None
    kept = None if key is None else kept_jar(cache_folder(), key)
    if kept is not None:
        return kept
    jar = _compiled_jar(context, sources, home, loader)
    if key is not None:
        keep_jar(cache_folder(), key, jar)
    return jar


def _cache_key(jvm: Any, sources: dict[str, str]) -> str | None:
    """Return what the jar is kept under; None where the jars of Spark do not lie in a folder."""
    try:
        place = jvm.java.lang.Class.forName("org.apache.spark.SparkContext").getProtectionDomain().getCodeSource()
        java = str(jvm.java.lang.System.getProperty("java.version"))
        return cache_key(_hash(sources), java, Path(str(place.getLocation().getPath())).parent)
    except (Py4JError, OSError):
        return None


def _compiled_jar(context: Any, sources: dict[str, str], home: Path, loader: JavaObject) -> bytes:
    jvm = context._jvm
    file, resource = getattr(jvm, "java.io.File"), getattr(jvm, f"{_RESOURCE}.FileResource")
    inputs = context._gateway.new_array(getattr(jvm, f"{_RESOURCE}.Resource"), len(sources))
    for i, (name, source) in enumerate(sources.items()):
        path = home / "src" / "headgate" / f"{name}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        inputs[i] = resource(file(str(path)))
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(file(str(home / "classes")), False)
    compiler.compile(inputs)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(_STAMP, _hash(sources))
        for folder, _, names in os.walk(home / "classes"):
            for name in names:
                archive.write(Path(folder) / name, str(Path(folder, name).relative_to(home / "classes")))
    return packed.getvalue()
