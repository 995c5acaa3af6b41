"""The only room that touches Spark's JVM: the hook, the plan reader and writer, and the Java classes they need."""

from headgate.catalyst.bridge import Query, SparkBridge
from headgate.catalyst.reader import read_plan

__all__ = ["Query", "SparkBridge", "read_plan"]
