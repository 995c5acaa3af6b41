"""Write tuple domains in a compact binary form and read them back; base64 would make bitmaps and blooms a third larger.

``HGD`` + version byte + CRC-32 of the body + a MessagePack body of the same shape as the JSON, with raw bytes where the
JSON has base64, and int64 values little-endian. The checksum keeps a flipped bit from being read as another domain.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import msgspec

from headgate.domain.codec import column_name, domain_to_dict, tuple_domain_from_dict
from headgate.domain.domain import Domain
from headgate.domain.tuples import TupleDomain
from headgate.domain.values import Bitmap, Bloom, Discrete
from headgate.errors import InvalidFilter

VERSION = 1
_HEADER = struct.Struct("<3sBI")
_MAGIC = b"HGD"


def encode_binary(domain: TupleDomain) -> bytes:
    """Return the binary form of a tuple domain whose columns are named by strings."""
    body = None if domain.domains is None else {column_name(c): _pack(column) for c, column in domain.domains.items()}
    packed = msgspec.msgpack.encode({"columnDomains": body})
    return _HEADER.pack(_MAGIC, VERSION, zlib.crc32(packed)) + packed


def decode_binary(data: bytes) -> TupleDomain:
    """Read the binary form of a tuple domain."""
    if len(data) < _HEADER.size:
        raise InvalidFilter(
            f"got {len(data)} bytes, fewer than the {_HEADER.size} of the header; the message is cut off", "$"
        )
    magic, version, checksum = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise InvalidFilter(f"the bytes begin with {magic!r}; expected {_MAGIC!r}, as encode_binary writes it", "$")
    if version != VERSION:
        raise InvalidFilter(f"unknown version {version}; expected {VERSION}", "$.version")
    body = data[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise InvalidFilter("the checksum does not match: the bytes are damaged; send the message again", "$")
    try:
        document = msgspec.msgpack.decode(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidFilter(f"not MessagePack: {error}", "$") from error
    return tuple_domain_from_dict(document)


def _pack(domain: Domain) -> dict[str, Any]:
    match domain.values:
        case Discrete(places=places) if domain.type.fits_bitmap and not domain.type.is_decimal:
            values: dict[str, Any] = {"type": "discrete", "int64": places.astype("<i8").tobytes()}
        case Bitmap(ids=ids):
            values = {"type": "bitmap", "width": ids.width, "bits": ids.to_bytes()}
        case Bloom(bits=bits):
            values = domain_to_dict(domain)["values"] | {"bits": bits.to_spark()}
        case _:
            return domain_to_dict(domain)
    return {"type": domain.type.name, "values": values, "nullAllowed": domain.null_allowed}
