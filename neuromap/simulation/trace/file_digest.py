"""The digest behind an HDF5 file: of all its bytes, so that damage is found before the HDF5 library reads any of them.

HDF5 says in its file where it ends and ignores what comes behind. Where another program changes the file, the library
cuts the digest off: then the checksum of what the trace holds has to do.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

_SIGN = b"\nneuromap blake2b-128:"
_BYTES = 16
_LENGTH = len(_SIGN) + 2 * _BYTES + 1
_PORTION = 2**20


def append_digest(path: Path) -> None:
    """Write the digest of a file behind its end."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as stream:
        stream.write(digest)


def fits_its_digest(path: Path) -> bool:
    """Whether the bytes of a file give the digest behind them; true as well where there is none."""
    size = path.stat().st_size - _LENGTH
    if size < 0:
        return True
    with path.open("rb") as stream:
        stream.seek(size)
        found = stream.read()
    return not found.startswith(_SIGN) or found == _digest(path, size)


def _digest(path: Path, size: int) -> bytes:
    """Make what stands behind so many bytes of a file."""
    made = blake2b(digest_size=_BYTES)
    with path.open("rb") as stream:
        while size > 0 and (part := stream.read(min(size, _PORTION))):
            made.update(part)
            size -= len(part)
    return _SIGN + made.hexdigest().encode() + b"\n"
