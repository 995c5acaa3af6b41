"""Compile Headgate's few Java classes with Spark's own compiler, and hand them to the driver and the executors.

No jar is shipped and no build step is needed: Spark carries the Janino compiler. The classes are compiled once for each
SparkContext into a jar in Spark's temporary folder; the jar goes to executors the way ``SparkContext.addJar`` sends it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

from py4j.java_gateway import JavaObject

from headgate.errors import UnsupportedSession

_RESOURCE = "org.codehaus.commons.compiler.util.resource"
_STAMP = "headgate/SOURCES"
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


def compiled(context: Any, loader: JavaObject | None = None) -> JavaClasses:
    """Return the classes for this SparkContext, compiling them the first time.

    They go into this thread's class loader unless another is given: in a Connect server, threads have that of a
    session, and results of tasks are resolved in the server's. What another session has put there is used again.
    """
    key = context.applicationId
    with _lock:
        if key not in _loaded:
            _loaded.clear()  # a stopped context never comes back
            found = None if loader is None else _found(context, loader)
            _loaded[key] = found or _compile(context, loader)
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


def _compile(context: Any, loader: JavaObject | None = None) -> JavaClasses:
    jvm, sources = context._jvm, java_sources()
    home = Path(tempfile.mkdtemp(prefix="headgate-", dir=context._temp_dir))
    file, resource = getattr(jvm, "java.io.File"), getattr(jvm, f"{_RESOURCE}.FileResource")
    inputs = context._gateway.new_array(getattr(jvm, f"{_RESOURCE}.Resource"), len(sources))
    for i, (name, source) in enumerate(sources.items()):
        path = home / "src" / "headgate" / f"{name}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        inputs[i] = resource(file(str(path)))
    loader = loader or jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(file(str(home / "classes")), False)
    compiler.compile(inputs)
    jar = home / f"{home.name}.jar"  # executors refuse a second file of one name
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(_STAMP, _hash(sources))
        for folder, _, names in os.walk(home / "classes"):
            for name in names:
                archive.write(Path(folder) / name, str(Path(folder, name).relative_to(home / "classes")))
    context._jsc.addJar(str(jar))
    loader.addURL(file(str(jar)).toURI().toURL())
    return JavaClasses(jvm, loader)
