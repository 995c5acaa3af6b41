"""The manifests of a materialised table: which files are its rows, after which batch of which query."""

from __future__ import annotations

import re
import uuid

import msgspec
from pyspark.sql.types import StructType

from headgate.catalyst.files import Folder
from headgate.errors import BadInput

MANIFESTS = "_manifests"
DATA = "data"
VERSION = 1
_DIGITS = 20
_ATTEMPT = re.compile(r"\d+-[0-9a-f]{32}")
_LOOKS = 10  # at a folder in which files come and go


class BucketFile(msgspec.Struct, frozen=True):
    """One file of rows, and the bucket of their keys; the path is relative to the table's."""

    bucket: int
    path: str


class Manifest(msgspec.Struct, frozen=True):
    """One state of a table. ``schema`` is Spark's JSON."""

    version: int
    query: str
    batch: int
    key: list[str]
    buckets: int
    schema: str
    files: list[BucketFile]

    def in_buckets(self, buckets: set[int]) -> list[str]:
        """Return the files that hold the rows of some buckets."""
        return [file.path for file in self.files if file.bucket in buckets]

    def outside(self, buckets: set[int]) -> list[BucketFile]:
        """Return the files of all other buckets."""
        return [file for file in self.files if file.bucket not in buckets]

    def struct(self) -> StructType:
        """Return the schema of the rows."""
        return StructType.fromJson(msgspec.json.decode(self.schema))


def newest(folder: Folder) -> Manifest | None:
    """Return the manifest that is current; None where the table was never written."""
    for _ in range(_LOOKS):
        names = manifest_names(folder)
        if not names:
            return None
        content = folder.read(f"{MANIFESTS}/{names[-1]}")
        if content is not None:  # it may be gone when newer ones have come since the listing
            return _decoded(content, folder.at(f"{MANIFESTS}/{names[-1]}"))
    raise BadInput(f"{folder.path} changes faster than it can be read; keep more manifests with `keep`")


def check_free(folder: Folder, own: set[str]) -> None:
    """Refuse a folder without a manifest in which there is something else."""
    strange = [name for name in folder.names("") if name not in {MANIFESTS, DATA, *own}]
    strange += [f"{DATA}/{name}" for name in folder.names(DATA) if not _ATTEMPT.fullmatch(name)]
    if strange and newest(folder) is None:
        raise BadInput(
            f"{folder.path} is no materialised table, and it holds {strange[0]}: give a path that is empty or not there"
        )


def new_home(batch: int) -> str:
    """Return a folder for the files of one attempt at a batch."""
    return f"{DATA}/{batch}-{uuid.uuid4().hex}"


def manifest_names(folder: Folder) -> list[str]:
    """Return the names of all manifests, oldest first."""
    return [name for name in folder.names(MANIFESTS) if name.endswith(".json")]


def publish(folder: Folder, manifest: Manifest) -> None:
    """Make a manifest the current one. Nothing is ever written over: the highest number counts."""
    name = f"{MANIFESTS}/{manifest.batch:0{_DIGITS}}.json"
    if not folder.write_new(name, msgspec.json.encode(manifest)):
        raise BadInput(f"{folder.at(name)} is there already: another query writes to this table at the same time")


def sweep(folder: Folder, keep: int) -> None:
    """Delete old manifests, then all files of batches that none of the last ``keep`` names."""
    names = manifest_names(folder)
    drafts = [name for name in folder.names(MANIFESTS) if not name.endswith(".json")]
    for name in names[:-keep] + drafts:
        folder.delete(f"{MANIFESTS}/{name}")
    contents = [folder.read(f"{MANIFESTS}/{name}") for name in names[-keep:]]
    if any(content is None for content in contents):
        return  # someone else sweeps
    named = {file.path for content in contents if content for file in _decoded(content, folder.path).files}
    for batch in filter(_ATTEMPT.fullmatch, folder.names(DATA)):
        files = folder.files_below(f"{DATA}/{batch}")
        if not named.intersection(files):
            folder.delete(f"{DATA}/{batch}")
            continue
        for path in set(files) - named:
            folder.delete(path)


def _decoded(content: bytes, where: str) -> Manifest:
    try:
        found = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise BadInput(f"{where} is not a manifest of a materialised table: {error}") from None
    if found.version != VERSION:
        raise BadInput(f"{where} has version {found.version}; this version of Headgate reads version {VERSION}")
    return found
