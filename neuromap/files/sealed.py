"""Safetensors files of this package: equal content gives equal bytes, and a digest over all bytes reveals damage.

``docs/file-digests.md`` specifies the digest for programs that write such files themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

# Metadata key for the kind of a sealed file.
KIND_KEY = "neuromap"
# Metadata key for the digest.
DIGEST_KEY = "digest"

# NumPy dtype: its name in the container.
DTYPES: Mapping[str, str] = ReadOnlyMapping(
    {
        "bool": "BOOL",
        "uint8": "U8",
        "int8": "I8",
        "uint16": "U16",
        "int16": "I16",
        "uint32": "U32",
        "int32": "I32",
        "uint64": "U64",
        "int64": "I64",
        "float16": "F16",
        "float32": "F32",
        "float64": "F64",
    }
)

_ALGORITHM = "blake2b-128:"
_BYTES = 16
# Placeholder for the digest while it is computed.
_BLANK = _ALGORITHM + "0" * (2 * _BYTES)
# The limit of the safetensors library.
_LONGEST_HEADER = 10**8


class Seal(Enum):
    """State of a file according to its own marks."""

    WHOLE = "its bytes give its digest"
    DAMAGED = "its bytes do not give its digest, or half of its marks are gone"
    ABSENT = "it carries neither a kind nor a digest: another program wrote it, or an older version"


def canonical_bytes(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Write arrays and texts as a safetensors file."""
    # The safetensors library orders metadata randomly; here equal content gives equal bytes.
    return b"".join(_pieces(arrays, metadata))


def sealed_bytes(kind: str, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Write arrays and texts as a sealed file of a kind; see :func:`canonical_bytes`."""
    head, *pieces = _pieces(arrays, {**metadata, KIND_KEY: kind, DIGEST_KEY: _BLANK})
    hashed = blake2b(head, digest_size=_BYTES)
    for piece in pieces:
        hashed.update(piece)
    made = _ALGORITHM + hashed.hexdigest()
    return b"".join([bytes(head).replace(_member(_BLANK), _member(made)), *pieces])


def _pieces(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> list[bytes | memoryview]:
    """Make the header of a file and the pieces after it; arrays already in the written layout are not copied."""
    # metadata first, to be found by readers that see only the head of a file
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    pieces: list[bytes | memoryview] = []
    end = 0
    # widest items first: then every tensor starts at a multiple of its item size
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = np.asarray(arrays[name])
        start, end = end, end + array.nbytes
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
        if array.size:
            little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            pieces.append(little.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little") + text, *pieces]


def metadata_of(data: bytes | mmap) -> dict[str, str]:
    """Return the metadata of a file that the safetensors library has read."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header.get("__metadata__") or {}  # the format lets it be null


def seal_of(data: bytes | mmap, metadata: Mapping[str, str]) -> Seal:
    """Check the bytes of a file against their digest."""
    # The metadata has two marks, kind and digest. One of them alone is damage: a single flipped bit cannot make a
    # sealed file look like one that was never sealed.
    digest = metadata.get(DIGEST_KEY)
    if digest is None:
        return Seal.ABSENT if KIND_KEY not in metadata else Seal.DAMAGED
    head = min(8 + int.from_bytes(data[:8], "little"), _LONGEST_HEADER)
    header = data[:head]
    blank = header.replace(_member(digest), _member(_BLANK), 1)
    if KIND_KEY not in metadata or len(digest) != len(_BLANK) or blank == header:
        return Seal.DAMAGED
    hashed = blake2b(blank, digest_size=_BYTES)
    with memoryview(data) as whole:
        hashed.update(whole[head:])
    return Seal.WHOLE if digest == _ALGORITHM + hashed.hexdigest() else Seal.DAMAGED


def seal_of_file(path: Path, metadata: Mapping[str, str]) -> Seal:
    """Check a file as :func:`seal_of` does; one without a digest is not read."""
    if DIGEST_KEY not in metadata:
        return seal_of(b"", metadata)
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return seal_of(data, metadata)


def _member(digest: str) -> bytes:
    """Format the digest as in the header's text."""
    return f'"{DIGEST_KEY}":"{digest}"'.encode()
