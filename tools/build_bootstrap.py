"""Compile the two Java classes of Spark Connect into the jar that the package carries: python tools/build_bootstrap.py

A Connect client has no Java, so this jar cannot be compiled where it is used. Spark wants to see the type arguments of
its interface, which Janino leaves out: javac of a JDK from 17 on compiles it. The jar's `SOURCES` holds the hash of
the sources, and a test compares it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

FOLDER = Path(__file__).resolve().parent.parent / "src" / "headgate" / "connect"
JAR = FOLDER / "bootstrap.jar"
_MOMENT = (1980, 1, 1, 0, 0, 0)


def sources_hash() -> str:
    """Return the hash of the sources."""
    digest = hashlib.sha256()
    for source in sorted((FOLDER / "java").glob("*.java")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Compile, and write the jar."""
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    javac = Path(os.environ["JAVA_HOME"], "bin", "javac") if "JAVA_HOME" in os.environ else Path("javac")
    with tempfile.TemporaryDirectory() as folder:
        sources = map(str, sorted((FOLDER / "java").glob("*.java")))
        subprocess.run([javac, "--release", "17", "-nowarn", "-cp", str(jars), "-d", folder, *sources], check=True)
        with zipfile.ZipFile(JAR, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(folder).rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(file.relative_to(folder)), _MOMENT), file.read_bytes())
            archive.writestr(zipfile.ZipInfo("SOURCES", _MOMENT), sources_hash())


if __name__ == "__main__":
    main()
