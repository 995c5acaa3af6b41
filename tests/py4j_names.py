"""Remember what py4j was told of names: each is looked for in every jar of Spark, again and again.

A test that calls `spark._jvm.org.apache.spark.sql.functions` asks for `org`, `org.apache` and so on, and the JVM goes
through 300 jars for a class of each name: a sixth of all the time of the tests. PySpark's own functions do the same.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView


def remember_names() -> None:
    """Let views of the JVM and packages keep the classes and packages that were found in them."""
    for kind in (JVMView, JavaPackage):
        if not hasattr(kind, "asks_once"):
            kind.__getattr__, kind.asks_once = _remembered(kind.__getattr__), True


def _remembered(ask: Any) -> Any:
    def find(self: Any, name: str) -> Any:
        found = ask(self, name)
        # a capital letter is a class; one that is not there yet may come with a jar
        if isinstance(found, JavaClass) or (isinstance(found, JavaPackage) and name.islower()):
            vars(self)[name] = found
        return found

    return find
