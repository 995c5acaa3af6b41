"""Files of whatever storage Spark can reach, through Hadoop: whole texts, names that appear at once, and listings."""

from __future__ import annotations

import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


class Folder:
    """A folder of a Hadoop file system. Names are relative to it, with `/` between their parts.

    A path that no file system can be asked for is an OSError.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark._jvm
        self._path_class = getattr(jvm, "org.apache.hadoop.fs.Path")
        self._bytes = getattr(jvm, "org.apache.hadoop.io.IOUtils").readFullyToByteArray
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            given = self._path_class(path)
            self._files = given.getFileSystem(self._conf)
            self._root = self._files.makeQualified(given)
        except Py4JJavaError as error:
            raise OSError(str(error.java_exception.getMessage() or error.java_exception.toString())) from None
        except PySparkException as error:
            raise OSError(str(error).strip().splitlines()[0]) from None
        self.path = str(self._root.toString())

    def at(self, name: str) -> str:
        """Return the whole path of a name."""
        return f"{self.path.rstrip('/')}/{name}"

    def file_in_the_way(self) -> str:
        """Return the file that stands where the folder or one above it should be; nothing where there is none."""
        at = self._root
        while at is not None and not self._files.exists(at):
            at = at.getParent()
        return "" if at is None or self._files.getFileStatus(at).isDirectory() else str(at.toString())

    def has(self, name: str) -> bool:
        """Whether there is a file or a folder of a name."""
        return bool(self._files.exists(self._path_class(self.at(name))))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files and folders in a folder, in order; none if it is absent."""
        return sorted(str(each.getPath().getName()) for each in self._statuses(folder))

    def files_below(self, folder: str) -> list[str]:
        """Return the files in a folder and in all folders in it, relative to the root."""
        found = []
        for each in self._statuses(folder):
            name = f"{folder}/{each.getPath().getName()}"
            found.extend(self.files_below(name) if each.isDirectory() else [name])
        return found

    def read(self, name: str) -> bytes | None:
        """Return what a file holds, or None where there is none."""
        try:
            stream = self._files.open(self._path_class(self.at(name)))
        except Py4JJavaError as error:
            if _is_absent(error):
                return None
            raise
        try:
            return bytes(self._bytes(stream))
        finally:
            stream.close()

    def write_new(self, name: str, content: bytes) -> bool:
        """Write a file that appears as a whole or not at all; return False where there is one of that name already."""
        target, folder = self._path_class(self.at(name)), name.rpartition("/")[0]
        draft = self._path_class(self.at(f"{folder}/{uuid.uuid4().hex}.tmp"))
        stream = self._files.create(draft, False)
        try:
            stream.write(content)
        finally:
            stream.close()
        if not self._files.exists(target) and self._files.rename(draft, target):
            return True
        self._files.delete(draft, False)
        return False

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it; one that is absent stays so."""
        self._files.delete(self._path_class(self.at(name)), True)

    def _statuses(self, folder: str) -> list[Any]:
        try:
            return list(self._files.listStatus(self._path_class(self.at(folder))))
        except Py4JJavaError as error:
            if _is_absent(error):
                return []
            raise


def _is_absent(error: Py4JJavaError) -> bool:
    return bool(error.java_exception.getClass().getName() == "java.io.FileNotFoundException")
