"""The file that HDF5 writes into: one that never fails under its hands."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["Hdf5Stream"]


class Hdf5Stream:
    """The file under HDF5, for which writing never fails."""

    # HDF5 ends the process where it cannot write what it holds when a file is closed. So the first error, as of a full
    # disk, is kept, and what is written from then on is dropped.
    # error: the first error

    def __init__(self, path: Path) -> None:
        self._file = path.open("x+b", buffering=0)
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise the first error."""
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Close the file; what went wrong is raised."""
        self.check()
        self._file.close()

    def abandon(self) -> None:
        """Close the file, as its content does not matter."""
        with suppress(OSError):
            self._file.close()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Give the place."""
        return self._file.tell()

    def read(self, size: int) -> bytes:
        """Read some bytes; by this method h5py knows a file."""
        data = bytearray(size)
        self.readinto(memoryview(data))
        return bytes(data)

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer, with zeros where what should be read was dropped."""
        done = 0
        while done < len(buffer) and (n := self._file.readinto(buffer[done:])):
            done += n
        buffer[done:] = bytes(len(buffer) - done)
        return len(buffer)

    def write(self, data: memoryview) -> int:
        """Write all of the data, or drop it."""
        done = 0
        try:
            while done < len(data) and self.error is None:
                done += self._file.write(data[done:])
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int) -> int:
        """Set the size of the file."""
        try:
            self._file.truncate(size)
        except OSError as error:
            self.error = self.error or error
        return size

    def flush(self) -> None:
        """Nothing: there is no buffer."""
