"""Compile Headgate's few Java classes with Spark's own compiler, and hand them to the driver and the executors.

No jar is shipped and no build step is needed: Spark carries the Janino compiler. The classes are compiled once for each
SparkContext into a jar in Spark's temporary folder; the jar goes to executors the way ``SparkContext.addJar`` sends it.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

from py4j.java_gateway import JavaObject

_lock = Lock()
_loaded: dict[str, JavaClasses] = {}


class JavaClasses:
    """The compiled classes, found by name."""

    def __init__(self, jvm: Any, loader: JavaObject) -> None:
        self._jvm, self._loader = jvm, loader

    def listed(self, items: Iterable[Any]) -> Any:
        """Return a Java list; a py4j array cannot hold a Python proxy, and a list can."""
        packed = self._jvm.java.util.ArrayList()
        for item in items:
            packed.add(item)
        return packed

    def new(self, name: str, *arguments: Any) -> JavaObject:
        """Make an instance of ``headgate.<name>``, such as ``plan.GateRule``, with its only constructor."""
        return (
            self._loader.loadClass(f"headgate.{name}")
            .getConstructors()[0]
            .newInstance(self.listed(arguments).toArray())
        )

    def call(self, name: str, method: str, *arguments: Any) -> Any:
        """Call a static method of ``headgate.<name>``, such as ``plan.Marks``."""
        found = next(m for m in self._loader.loadClass(f"headgate.{name}").getMethods() if m.getName() == method)
        return found.invoke(None, self.listed(arguments).toArray())


def compiled(context: Any) -> JavaClasses:
    """Return the classes for this SparkContext, compiling them the first time."""
    key = context.applicationId
    with _lock:
        if key not in _loaded:
            _loaded.clear()  # a stopped context never comes back
            _loaded[key] = _compile(context)
        return _loaded[key]


def java_sources() -> dict[str, str]:
    """Return the sources of the classes by room and name: ``plan/GateRule``."""
    folder = resources.files("headgate.catalyst") / "java"
    files = [(room.name, file) for room in folder.iterdir() if room.is_dir() for file in room.iterdir()]
    sources = {f"{room}/{Path(file.name).stem}": file for room, file in files if file.name.endswith(".java")}
    return {name: file.read_text() for name, file in sources.items() if not name.endswith("/package-info")}


def _compile(context: Any) -> JavaClasses:
    jvm, sources = context._jvm, java_sources()
    home = Path(tempfile.mkdtemp(prefix="headgate-", dir=context._temp_dir))
    resource = jvm.org.codehaus.commons.compiler.util.resource
    inputs = context._gateway.new_array(resource.Resource, len(sources))
    for i, (name, source) in enumerate(sources.items()):
        path = home / "src" / "headgate" / f"{name}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        inputs[i] = resource.FileResource(jvm.java.io.File(str(path)))
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(jvm.java.io.File(str(home / "classes")), False)
    compiler.compile(inputs)
    jar = home / "headgate.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for folder, _, names in os.walk(home / "classes"):
            for name in names:
                archive.write(Path(folder) / name, str(Path(folder, name).relative_to(home / "classes")))
    context._jsc.addJar(str(jar))
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    return JavaClasses(jvm, loader)
