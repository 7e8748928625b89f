"""Limits on unpacking: decompression bombs are small files that unpack to more than memory holds.

Real pictures, labels and tables compress to a half or a tenth; only zeros alone reach a thousandth.
``docs/data.md`` names the bounds.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show_name


def read_npz(data: bytes, largest: int, error: type[InputError]) -> dict[str, NDArray[Any]]:
    """Read the arrays of an archive that unpacks to at most ``largest`` bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > largest:
                raise error(f"holds {unpacked} bytes; at most {largest} are read")
            return {
                name: _read_npy(name, archive.read(member), error)
                for member in archive.namelist()
                for name in [member.removesuffix(".npy")]
            }
    except InputError:
        raise
    except Exception:  # zipfile and its decompressors raise what they like on a damaged archive, OSError too
        raise error("not a readable .npz archive of plain arrays; write it with numpy.savez") from None


def _read_npy(name: str, data: bytes, error: type[InputError]) -> NDArray[Any]:
    """Read one array; its header may not claim more bytes than there are."""
    stream = io.BytesIO(data)
    versions: dict[Any, Any] = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = versions[npy.read_magic(stream)](stream)  # type: ignore[no-untyped-call]
    if dtype.hasobject:
        raise error(
            f"array {show_name(name)} holds Python objects, a pickle, which is never read; save numbers, or text by "
            ".astype(str)"
        )
    if math.prod(shape) * max(1, dtype.itemsize) > len(data):
        raise error(f"promises an array of shape {shape} in {len(data)} bytes")
    stream.seek(0)
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)  # type: ignore[no-untyped-call]
    return array


# Bytes that any file may unpack to, so that tests and small single-colour sets pass.
_ALWAYS = 2**26
# Beyond that, the greatest ratio of unpacked to packed size.
_TIMES = 100


def most_unpacked(packed: int, most: int) -> int:
    """Return how many bytes a file of ``packed`` bytes may unpack to, at most ``most``."""
    return min(most, max(_ALWAYS, _TIMES * packed))


class Unpacked(io.RawIOBase):
    """An unpacked stream, up to a bound; reading past it is refused."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most = stream, most

    def readable(self) -> bool:
        """Return whether it can be read: always."""
        return True

    def seekable(self) -> bool:
        """Return whether it can seek, as the inner stream does."""
        return self._stream.seekable()

    def tell(self) -> int:
        """Return the position."""
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, unpacking everything before it; the end is unknown until all is unpacked."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("a packed stream is measured from its beginning")
        self._require(offset)
        return self._stream.seek(offset)

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        left = max(0, self._most - self._stream.tell())
        found = self._stream.read(left + 1 if size < 0 else min(size, left + 1))
        self._require(self._stream.tell())
        return found

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read on."""
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        """Close the inner stream, too."""
        self._stream.close()
        super().close()

    def _require(self, end: int) -> None:
        if end > self._most:
            raise InputError(
                f"unpacks to more than {self._most} bytes, so it is not a set of images but meant to fill memory; give "
                "the set as its makers packed it, or a folder"
            )
