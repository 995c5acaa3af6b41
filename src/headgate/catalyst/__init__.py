"""The only room that touches Spark's JVM: the hook, the plan reader and writer, and the Java classes they need."""

from headgate.catalyst.bridge import SparkBridge
from headgate.catalyst.query import CatalystQuery
from headgate.catalyst.reader import read_plan

__all__ = ["CatalystQuery", "SparkBridge", "read_plan"]
