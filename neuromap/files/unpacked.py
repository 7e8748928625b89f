"""How much may come out of a packed file: bombs are small files that unpack to what fills the memory.

Real pictures, labels and tables pack to a half or a tenth; the packers reach a thousandth on zeros alone.
``docs/data.md`` names the bounds.
"""

from __future__ import annotations

import io
from typing import IO

from neuromap.errors import InputError

_ALWAYS = 2**26
"""Bytes that any file may unpack to: tests and small sets of one colour stay whole."""
_TIMES = 100
"""How often a file's own size it may unpack to beyond that."""


def most_unpacked(packed: int, most: int) -> int:
    """Give the bytes that a file of so many bytes may unpack to, ``most`` whatever its size."""
    return min(most, max(_ALWAYS, _TIMES * packed))


class Unpacked(io.RawIOBase):
    """What comes out of a packed stream, up to a bound; behind it, the next byte is refused before it is unpacked."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most = stream, most

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read again: as the stream."""
        return self._stream.seekable()

    def tell(self) -> int:
        """Give the place."""
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, which unpacks all before it; the end is not known before all is unpacked."""
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
        """Close the stream too."""
        self._stream.close()
        super().close()

    def _require(self, end: int) -> None:
        if end > self._most:
            raise InputError(
                f"unpacks to more than {self._most} bytes, so it is not a set of images but meant to fill memory; give "
                "the set as its makers packed it, or a folder"
            )
