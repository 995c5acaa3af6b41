"""Local files that Spark writes without starting a process for each.

Without its native library Hadoop runs `chmod` for each file and folder it makes, and `readlink` four times for each
file that a stream's checkpoint renames: a small stream starts four hundred processes, which take longer than it does.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

# Files get the permissions that the process gives them anyway.
WITHOUT_CHMOD = """
package local_files;

public class WithoutChmod extends org.apache.hadoop.fs.RawLocalFileSystem {
  public void setPermission(org.apache.hadoop.fs.Path path, org.apache.hadoop.fs.permission.FsPermission permission) {}
}
"""
MANAGERS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager",  # before Spark 4.1
)


def use_plain_local_files(spark: SparkSession) -> None:
    """Have all that Spark writes to local files written without `chmod`, `readlink` and files of checksums."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(WITHOUT_CHMOD)
    raw = compiler.getClassLoader().loadClass("local_files.WithoutChmod").getConstructors()[0].newInstance(None)
    local = jvm.org.apache.hadoop.fs.LocalFileSystem(raw)
    local.setWriteChecksum(False)
    root, conf = jvm.java.net.URI.create("file:///"), spark.sparkContext._jsc.hadoopConfiguration()
    local.initialize(root, conf)
    _put_into_cache(spark, root, conf, local)
    conf.set("spark.sql.streaming.checkpointFileManagerClass", _first_known(jvm, MANAGERS))


def _put_into_cache(spark: SparkSession, root: Any, conf: Any, local: Any) -> None:
    """Give everyone who asks Hadoop for local files this file system; Hadoop has a method for tests to do so."""
    jvm: Any = spark._jvm
    owner = jvm.java.lang.Class.forName("org.apache.hadoop.fs.FileSystem")
    method = next(found for found in owner.getDeclaredMethods() if found.getName() == "addFileSystemForTesting")
    method.setAccessible(True)
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 3)
    arguments[0], arguments[1], arguments[2] = root, conf, local
    method.invoke(None, arguments)


def _first_known(jvm: Any, names: tuple[str, ...]) -> str:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return next(name for name in names if loader.getResource(f"{name.replace('.', '/')}.class") is not None)
