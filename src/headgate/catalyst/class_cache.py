"""Keep compiled classes in the user's cache folder, so that only the first program of a Spark version compiles them.

What is kept is run in the driver and on executors. So the folder must belong to the user, and nobody else may write to
it; otherwise, and whatever else goes wrong, nothing is kept and the classes are compiled as ever.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

_MOST = 8  # jars: a few versions of Spark, a few of Headgate


def cache_folder() -> Path:
    """Return where the classes of this user are kept: in $XDG_CACHE_HOME, or else in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate" / "classes"


def cache_key(sources: str, java: str, spark_jars: Path) -> str:
    """Return a name for what the sources compile to with this Java and these jars of Spark.

    A jar that changes has another size or another time, also where a vendor keeps Spark's version number.
    """
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in spark_jars.glob("*.jar"))
    if not jars:
        raise FileNotFoundError(f"no jars of Spark in {spark_jars}")
    return hashlib.sha256(repr((sources, java, jars)).encode()).hexdigest()


def kept_jar(folder: Path, key: str) -> bytes | None:
    """Return the jar of a key; None where there is none that can be trusted and read."""
    try:
        if not _is_private(folder):
            return None
        jar = (folder / f"{key}.jar").read_bytes()
        with zipfile.ZipFile(io.BytesIO(jar)) as archive:
            return None if archive.testzip() else jar
    except (OSError, zipfile.BadZipFile):
        return None


def keep_jar(folder: Path, key: str, jar: bytes) -> None:
    """Keep a jar for next time, whole or not at all; the oldest ones go."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(jar)
        Path(name).replace(folder / f"{key}.jar")
        for old in sorted(folder.glob("*.jar"), key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink()


def _is_private(folder: Path) -> bool:
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
