"""What a Connect client sends to its server: the bootstrap jar and this package as an archive, each named by its hash.

Executors refuse a second file of one name with other content, so the name says what is in it.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_ENDS = (".py", ".java", ".html", ".css", ".js", ".typed")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the same package makes the same archive


@cache
def bootstrap_jar() -> Path:
    """Return the path of the jar that a session is given."""
    content = (resources.files("headgate.connect") / "bootstrap.jar").read_bytes()
    return _written("headgate-connect", content, ".jar")


@cache
def package_archive() -> Path:
    """Return the path of an archive of this package, as it is installed here."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        start = resources.files("headgate") / "beside" / "start.py"
        archive.writestr(zipfile.ZipInfo("headgate_start.py", _MOMENT), start.read_bytes())
        for name, file in sorted(_files(resources.files("headgate"), "headgate")):
            archive.writestr(zipfile.ZipInfo(name, _MOMENT), file.read_bytes())
    return _written("headgate-package", packed.getvalue(), ".zip")


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for found in folder.iterdir():
        if found.is_dir() and found.name != "__pycache__":
            yield from _files(found, f"{name}/{found.name}")
        elif found.name.endswith(_ENDS):
            yield f"{name}/{found.name}", found


def _written(stem: str, content: bytes, end: str) -> Path:
    digest = hashlib.sha256(content).hexdigest()[:12]
    folder = tempfile.mkdtemp(prefix="headgate-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, f"{stem}-{digest}{end}")
    path.write_bytes(content)
    return path
