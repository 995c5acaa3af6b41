"""A Spark home of its own for a local cluster."""

from __future__ import annotations

from pathlib import Path

import pyspark


def spark_home(folder: Path) -> Path:
    """Make a folder of links to PySpark's own.

    The executors of a local cluster work in the folder that Spark is in, under the application's id. That is the second
    in which it started: two clusters that start at once would share their jars.
    """
    folder.mkdir()
    for found in Path(pyspark.__file__).parent.iterdir():
        if found.name != "work":
            (folder / found.name).symlink_to(found)
    (folder / "work").mkdir()
    return folder
